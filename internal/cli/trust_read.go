package cli

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"math"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// trusted is a root that is trusted, or a certificate that is shown.
type trusted struct {
	What      trustKind     `json:"what"`
	Of        string        `json:"of"`               // MeshBinding/istio, Gateway/edge/shop
	Gateway   string        `json:"gateway,omitzero"` // that shows a leaf
	Subject   string        `json:"subject,omitzero"`
	SHA256    string        `json:"sha256"`
	NotBefore time.Time     `json:"notBefore,omitzero"`
	NotAfter  time.Time     `json:"notAfter"`
	DaysLeft  int           `json:"daysLeft"` // less than 0 when it has ended
	Left      time.Duration `json:"-"`
	State     trustState    `json:"state"`
	Until     *time.Time    `json:"until,omitzero"` // when a root that is Removing goes
	Source    string        `json:"source,omitzero"`
}

type trustKind string

const (
	isRoot trustKind = "Root"
	isLeaf trustKind = "Leaf"
)

type trustState string

// The states. Published is what nobody asked a cloud about.
const (
	trustedNow     trustState = "Trusted"
	trustAdding    trustState = "Adding"
	trustRemoving  trustState = "Removing"
	trustPublished trustState = "Published"
	leafLive       trustState = "Live"
)

func (s trustState) paint() term.Paint {
	switch s {
	case trustedNow, leafLive:
		return term.Green
	case trustAdding, trustRemoving:
		return term.Yellow
	default:
		return ""
	}
}

// What is left decides how a certificate's end is painted.
const (
	alarming = 7 * 24 * time.Hour
	worrying = 30 * 24 * time.Hour
)

// paint judges leaves by their own life: one of a day is renewed each day. That of a
// leaf whose beginning is not known says nothing.
func (t trusted) paint() term.Paint {
	switch {
	case t.Left < 0:
		return term.Alarm
	case t.What == isLeaf && t.NotBefore.IsZero():
		return ""
	case t.What == isLeaf && t.Left < t.NotAfter.Sub(t.NotBefore)/4:
		return term.Red
	case t.What == isLeaf:
		return term.Green
	case t.Left < alarming:
		return term.Red
	case t.Left < worrying:
		return term.Yellow
	default:
		return term.Green
	}
}

// lives says what is in use now, as far as somebody knows.
type lives struct {
	// state is that of a root that its source publishes, or that nobody can read.
	state func(of reconcile.Gateway, trust string, r lbmodel.Root) trustState
	// held are the roots that are there, be they published still or not.
	held func(of reconcile.Gateway, trust string) []lbmodel.Root
	// leaves are those that were issued, by Identity.Name.
	leaves func(reconcile.Gateway) map[string]lbmodel.Leaf
	// leaf is the state of one that a Secret holds.
	leaf func(of reconcile.Gateway, l lbmodel.Leaf) trustState
}

// fromCloud asks what the cloud holds.
func fromCloud(e *engine) lives {
	return lives{
		state: func(g reconcile.Gateway, trust string, r lbmodel.Root) trustState {
			switch {
			case g.Key == translate.Key{}:
				return trustPublished
			case e.trusts(g, trust, r.SHA256):
				return trustedNow
			default:
				return trustAdding
			}
		},
		held:   func(g reconcile.Gateway, trust string) []lbmodel.Root { return e.loop.Roots(g)[trust] },
		leaves: e.loop.Leaves,
		leaf: func(g reconcile.Gateway, l lbmodel.Leaf) trustState {
			for _, x := range e.graphOf(g) {
				if x.Facts.Leaf != nil && x.Facts.Leaf.SHA256 == l.SHA256 {
					return leafLive
				}
			}
			return trustAdding
		},
	}
}

// trusts says whether the cloud holds a root of one of a gateway's trusts: what it holds
// of another does not count. A place of which nobody knows whose it is may be any's.
func (e *engine) trusts(g reconcile.Gateway, trust, sha256 string) bool {
	account, gateway := e.accounts[g.Result.Provider], g.Result.Gateway
	if account == nil {
		return false
	}
	whose := map[lbmodel.ID][]string{}
	for _, t := range gateway.Trust {
		for _, id := range account.TrustIDs(gateway, t) {
			whose[id] = append(whose[id], t.Name)
		}
	}
	for id, x := range e.graphOf(g) {
		there, is := x.Spec.(lbmodel.Rooted)
		if is && (len(whose[id]) == 0 || slices.Contains(whose[id], trust)) && holdsRoot(there.TrustRoots(), sha256) {
			return true
		}
	}
	return false
}

// graphOf is what a gateway has in its cloud.
func (e *engine) graphOf(g reconcile.Gateway) lbmodel.Graph {
	account := e.accounts[g.Result.Provider]
	if account == nil {
		return nil
	}
	return account.Observed(g.Result.Gateway.Owner)
}

// fromStatus is what the controller wrote into the MeshBindings.
func fromStatus(v view) lives {
	status := map[string][]v1alpha1.RootStatus{}
	for _, b := range v.bindings {
		status[translate.KindMeshBinding+"/"+b.Name] = b.Status.Roots
	}
	return lives{
		state: func(_ reconcile.Gateway, trust string, r lbmodel.Root) trustState {
			for _, s := range status[trust] {
				if s.SHA256 == r.SHA256 {
					return trustState(s.State)
				}
			}
			return trustPublished
		},
		held: func(_ reconcile.Gateway, trust string) []lbmodel.Root {
			var out []lbmodel.Root
			for _, s := range status[trust] {
				if s.State != v1alpha1.RootAdding {
					out = append(out, lbmodel.Root{SHA256: s.SHA256, NotAfter: s.NotAfter.Time})
				}
			}
			return out
		},
		leaves: func(reconcile.Gateway) map[string]lbmodel.Leaf { return nil },
		leaf:   func(reconcile.Gateway, lbmodel.Leaf) trustState { return trustPublished },
	}
}

// trustOf gathers everything, each thing once.
func trustOf(v view, l lives, now time.Time) []trusted {
	c := collecting{lives: l, now: now, seen: map[trusted]bool{}, places: map[string]string{}}
	for _, b := range v.index.Bounds() {
		c.places[b.Trust.Name] = placesOf(v.index, b)
	}
	for _, key := range v.index.Gateways() {
		g := reconcile.Read(v.index, key)
		for _, t := range g.Result.Gateway.Trust {
			c.roots(g, t)
		}
		c.leaves(g)
	}
	for _, b := range v.index.Bounds() { // those that let no gateway in have roots too
		c.roots(reconcile.Gateway{}, b.Trust)
	}
	c.issued(v)
	slices.SortFunc(c.out, func(a, b trusted) int {
		return cmp.Or(a.NotAfter.Compare(b.NotAfter), cmp.Compare(a.Of, b.Of), cmp.Compare(a.SHA256, b.SHA256), cmp.Compare(a.Gateway, b.Gateway))
	})
	return c.out
}

// issued are the next of the certificates that a controller has had issued: what it
// wrote into the MeshBindings, for it alone knows them one by one.
func (c *collecting) issued(v view) {
	for _, b := range v.bindings {
		g := b.Status.Gateways
		if !v.live || g.NextExpiry == nil {
			continue
		}
		c.add(trusted{
			What: isLeaf, Of: translate.KindMeshBinding + "/" + b.Name, Subject: "the next of " + countOf(int(g.Joined), "gateway"), NotAfter: g.NextExpiry.Time,
			State: leafLive, Source: "status.gateways.nextExpiry",
		})
	}
}

// collecting is the work on one list.
type collecting struct {
	lives
	now  time.Time
	out  []trusted
	seen map[trusted]bool // by what it is, of whom
	// places are where the roots of a binding are published, by Trust.Name.
	places map[string]string
}

// placesOf names the objects that publish a binding's roots: those that it names, or
// of the mesh's own places those that are there.
func placesOf(x *translate.Index, b translate.Bound) string {
	var out []string
	for _, ref := range b.Binding.Spec.TrustBundles {
		out = append(out, placeName(ref.Kind, ref.Namespace, ref.Name))
	}
	for _, at := range b.Mesh.Roots {
		there := at.PEM != "" || x.Has(translate.Key{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name})
		if len(b.Binding.Spec.TrustBundles) == 0 && there {
			out = append(out, placeName(at.Kind, at.Namespace, at.Name))
		}
	}
	return strings.Join(out, ", ")
}

func placeName(kind, namespace, name string) string {
	return kind + "/" + strings.TrimPrefix(namespace+"/"+name, "/")
}

func (c *collecting) add(t trusted) {
	name := trusted{What: t.What, Of: t.Of, SHA256: t.SHA256, Gateway: t.Gateway}
	if c.seen[name] {
		return
	}
	c.seen[name] = true
	t.NotBefore, t.NotAfter = t.NotBefore.UTC(), t.NotAfter.UTC()
	t.Left = t.NotAfter.Sub(c.now).Truncate(time.Second)
	t.DaysLeft = int(math.Floor(t.Left.Hours() / 24))
	c.out = append(c.out, t)
}

func (c *collecting) roots(g reconcile.Gateway, t lbmodel.Trust) {
	of := usersOf(g, t)
	for _, r := range t.Roots {
		c.add(trusted{
			What: isRoot, Of: of, Subject: r.Subject, SHA256: r.SHA256, NotBefore: begins(r), NotAfter: r.NotAfter,
			State: c.state(g, t.Name, r), Source: cmp.Or(c.places[t.Name], t.Name),
		})
	}
	for _, r := range c.held(g, t.Name) {
		if holdsRoot(t.Roots, r.SHA256) {
			continue
		}
		root := trusted{
			What: isRoot, Of: of, Subject: r.Subject, SHA256: r.SHA256, NotBefore: begins(r), NotAfter: r.NotAfter,
			State: trustRemoving, Source: "no longer published",
		}
		if t.Unknown && r.Dropped.IsZero() {
			root.State, root.Source = c.state(g, t.Name, r), "cannot be read now: it stays"
		}
		if !r.Dropped.IsZero() {
			until := r.Dropped.Add(time.Duration(t.Overlap)).UTC()
			root.Until = &until
		}
		c.add(root)
	}
}

// usersOf are the objects that trust roots: a MeshBinding, BackendTLSPolicies, the
// frontend of a gateway.
func usersOf(g reconcile.Gateway, t lbmodel.Trust) string {
	var out []string
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, p := range g.Result.Gateway.Pools {
		if p.TLS != nil && p.TLS.Trust == t.Name {
			add(p.TLS.Source.Object().String())
		}
	}
	for _, l := range g.Result.Gateway.Listeners {
		if l.TLS != nil && l.TLS.Validation != nil && l.TLS.Validation.Trust == t.Name {
			add("frontend of " + g.Key.Kind + "/" + keyName(g.Key))
		}
	}
	if len(out) == 0 {
		add(t.Source.Object().String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (c *collecting) leaves(g reconcile.Gateway) {
	gateway := keyName(g.Key)
	of := g.Key.Kind + "/" + g.Key.Namespace + "/" + g.Key.Name
	issued := c.lives.leaves(g)
	for _, id := range g.Result.Gateway.Identities {
		leaf, state := id.Leaf, trustState("")
		if leaf != nil {
			state = c.leaf(g, *leaf)
		} else if l, there := issued[id.Name]; there {
			leaf, state = &l, leafLive
		}
		if leaf == nil {
			continue
		}
		c.add(trusted{
			What: isLeaf, Of: of, Gateway: gateway, Subject: namesOf(*leaf), SHA256: leaf.SHA256, NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
			State: state, Source: id.Source.Object().String(),
		})
	}
}

func namesOf(l lbmodel.Leaf) string {
	names := slices.Concat(l.URIs, l.DNSNames)
	if len(names) > 2 {
		return names[0] + ", and others"
	}
	return strings.Join(names, ", ")
}

// begins is when a root does; zero when its text is not known.
func begins(r lbmodel.Root) time.Time {
	block, _ := pem.Decode([]byte(r.PEM))
	if block == nil {
		return time.Time{}
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}
	}
	return cert.NotBefore
}

func holdsRoot(roots []lbmodel.Root, sha256 string) bool {
	return slices.ContainsFunc(roots, func(r lbmodel.Root) bool { return r.SHA256 == sha256 })
}

func endingBy(all []trusted, limit time.Time) []trusted {
	return slices.DeleteFunc(all, func(t trusted) bool { return t.NotAfter.After(limit) })
}
