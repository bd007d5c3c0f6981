package cloud

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// The world of the rotation checker: a mesh that rotates its CA by a script, a
// client certificate of a gateway, and the engine that follows. Its time goes in
// hours. A leaf lives five of them and is due when two are left, and the overlap is a
// leaf's life.
const (
	leafLife  = 5
	leafDue   = 3
	overlapOf = leafLife
	jump      = 1
)

var checkEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func hour(t int8) time.Time { return checkEpoch.Add(time.Duration(t) * time.Hour) }

// The roots of the world. A and A2 are of one key: it was signed again.
const (
	rootA = iota
	rootA2
	rootB
	rootCount
)

// keyOf is the key of a root, named after the first root that has it.
func keyOf(root int8) int8 {
	if root == rootA2 {
		return rootA
	}
	return root
}

// phase is one state of a mesh's CA, as its operator's script has it.
type phase struct {
	name     string
	publish  []int8 // may say a root twice
	tainted  int8   // a root, plus one, that is published and should not be used any more (SPIRE)
	sign     int8   // the root that signs now
	restart  int8   // pods that are restarted at its beginning, and read the roots then; bits
	atLeast  int8   // hours that it lasts
	within   int8   // hours after which the next has begun; 0 is any time
	followed bool   // it lasts until the gateway has had an undisturbed look at it
}

// script is how one mesh rotates.
type script struct {
	name    string
	phases  []phase
	perPod  bool // pods have the roots of when they were started (Linkerd)
	ordered bool // the operator keeps an order in which a client certificate can always be had
	tight   bool // but only just: if nothing else goes wrong
}

// checked is one state of the world. It is comparable: each is looked at once. Times
// are in hours from now, so they are none or less.
type checked struct {
	skew         int8            // by how much our clock is ahead
	phase, since int8            // of the script, and when it began
	live         [rootCount]int8 // absent, present, or the hour by our clock that is noted as its drop
	backup       [rootCount]int8 // live before the last change of ours
	leafKey      int8
	leafAt       int8
	signed       [rootCount]int8 // by key: the last hour at which it signed; never
	pods         [2]uint8        // by bits of keys
	followed     bool            // an undisturbed look was had in this phase
	disturbed    bool            // the last look was disturbed, or the certificate withheld
	robbed       bool            // a backup came back, and no look has repaired it yet
	known        uint8           // keys that the engine has found published and brought to the cloud
	dropped      [rootCount]int8 // when, by our clock, the engine first had a root in the cloud that is not published; never

	faults, jumps, restores, unread int8 // what may still go wrong
}

const (
	absent  = -100
	present = -99
	never   = -98
)

// inUse says whether a backend may still show a certificate under a key.
func (s *checked) inUse(key int8) bool {
	return s.signed[key] != never && -s.signed[key] < leafLife
}

func (s *checked) holds(key int8) bool {
	for root := range s.live {
		if s.live[root] != absent && keyOf(int8(root)) == key {
			return true
		}
	}
	return false
}

// clock is the time that the engine is told.
func (s *checked) clock() time.Time { return hour(s.skew) }

// checkerRoots are certificates for the roots, made once.
func checkerRoots(t testing.TB) [rootCount]lbmodel.Root {
	t.Helper()
	keys := map[int8]*ecdsa.PrivateKey{}
	var out [rootCount]lbmodel.Root
	for root := range int8(rootCount) {
		key := keys[keyOf(root)]
		if key == nil {
			var err error
			if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
				t.Fatal(err)
			}
			keys[keyOf(root)] = key
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(root) + 1), Subject: pkix.Name{CommonName: fmt.Sprint("ca", keyOf(root))},
			NotBefore: checkEpoch.AddDate(-1, 0, 0), NotAfter: checkEpoch.AddDate(1, 0, int(root)), IsCA: true, BasicConstraintsValid: true,
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := lbmodel.ParseRoots(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
		if err != nil {
			t.Fatal(err)
		}
		out[root] = parsed[0]
	}
	return out
}

// engine is the real one, from Compile to Diff, between the world and its plan.
type engine struct {
	t        testing.TB
	provider *Provider
	roots    [rootCount]lbmodel.Root
	fault    seeded
	plans    map[looking]steps2 // a plan follows from what is looked at
	compiled map[string]lbmodel.Graph
}

// seeded is a mistake that the checker must find.
type seeded string

// The mistakes.
const (
	faultless      seeded = ""
	dropsAtOnce    seeded = "a root goes with its source"
	leafFirst      seeded = "the certificate is switched before the roots are there"
	forgetsRecord  seeded = "the cloud does not store since when a root is dropped"
	countsFromLoss seeded = "a root without a record goes"
	givesBlindly   seeded = "a certificate is given before the backends trust its authority"
	waitsForDue    seeded = "a certificate is renewed by time only"
)

// looking is all that a plan depends on.
type looking struct {
	wish           string
	live           [rootCount]int8
	key, at, clock int8
}

// steps2 is what a plan does to the two things of this world.
type steps2 struct {
	trust, cert bool
	roots       [rootCount]int8 // what trust holds then
	trustAfter  bool            // trust only after cert
	certAfter   bool            // cert only after trust
	authorities []string
}

func newEngine(t testing.TB, fault seeded) *engine {
	return &engine{
		t: t, provider: NewProvider(nil, nil), roots: checkerRoots(t), fault: fault,
		plans: map[looking]steps2{}, compiled: map[string]lbmodel.Graph{},
	}
}

// wish is what a phase makes of the gateway, compiled.
func (e *engine) wish(p phase, unread bool, seen []string) (string, lbmodel.Graph) {
	key := fmt.Sprint(p.publish, p.tainted, unread, seen)
	if g, ok := e.compiled[key]; ok {
		return key, g
	}
	trust := lbmodel.Trust{Name: "MeshBinding/mesh", Overlap: lbmodel.Duration(overlapOf * time.Hour), Seen: seen, Unknown: unread}
	client := lbmodel.Identity{Name: trust.Name, SPIFFEID: "spiffe://mesh.test/edge", Issuer: trust.Name, KeyType: "ECDSA-P256"}
	client.Renew.Before = lbmodel.Duration((leafLife - leafDue) * time.Hour)
	for _, root := range p.publish {
		if unread {
			break
		}
		trust.Roots = append(trust.Roots, e.roots[root])
		if root != p.tainted-1 && e.fault != waitsForDue {
			client.Renew.Authorities = append(client.Renew.Authorities, e.roots[root].KeyID)
		}
	}
	if e.fault == dropsAtOnce {
		trust.Overlap = 0
	}
	gw := lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u1"},
		Trust: []lbmodel.Trust{trust}, Identities: []lbmodel.Identity{client},
		Pools: []lbmodel.Pool{{Name: "p", Group: "apps/p:80", Protocol: lbmodel.PoolHTTP2, TLS: &lbmodel.BackendTLS{
			SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://mesh.test/p"}}, Trust: trust.Name, Identity: client.Name}}},
	}
	own, shared, _ := e.provider.Compile(gw)
	g := lbmodel.Graph{}
	for _, part := range []lbmodel.Graph{own, shared} {
		for id, r := range part {
			if id.Kind == KindTrust || id.Kind == KindCertificate {
				g[id] = r
			}
		}
	}
	e.compiled[key] = g
	return key, g
}

// plan is what the engine would do now.
func (e *engine) plan(s *checked, p phase, unread bool, seen []string) steps2 {
	wish, want := e.wish(p, unread, seen)
	at := looking{wish, s.live, s.leafKey, s.leafAt, s.skew}
	if done, ok := e.plans[at]; ok {
		return done
	}
	have := e.have(s, want)
	placed, findings := e.provider.Place(want, have, s.clock())
	if len(findings) > 0 {
		e.t.Fatalf("placing: %v", findings)
	}
	plan, err := lbmodel.Diff(placed, nil, have)
	if err != nil {
		e.t.Fatalf("planning: %v", err)
	}
	out := e.read(plan, s.live)
	for _, r := range placed {
		if c, ok := r.Spec.(*Certificate); ok {
			out.authorities = c.authorities
		}
	}
	e.plans[at] = out
	return out
}

// have is what the cloud shows.
func (e *engine) have(s *checked, want lbmodel.Graph) lbmodel.Graph {
	have := lbmodel.Graph{}
	for id, r := range want {
		switch spec := r.Spec.(type) {
		case *Trust:
			have[id] = placeSpec(r, &Trust{Roots: e.observed(s.live)})
		case *Certificate:
			leaf := &lbmodel.Leaf{
				SHA256: fmt.Sprintf("leaf %d of %d", s.leafAt, s.leafKey), Authority: e.roots[s.leafKey].KeyID,
				NotBefore: hour(s.leafAt), NotAfter: hour(s.leafAt + leafLife),
			}
			there := spec.placed()
			there.Leaf = leaf.SHA256
			r = placeSpec(r, there)
			r.Facts.Leaf = leaf
			have[id] = r
		}
	}
	return have
}

// observed are the roots of the cloud with their records.
func (e *engine) observed(live [rootCount]int8) []lbmodel.Root {
	var out []lbmodel.Root
	for root, state := range live {
		r := e.roots[root]
		switch {
		case state == absent:
			continue
		case state == present && e.fault == countsFromLoss:
			r.Dropped = checkEpoch.AddDate(-1, 0, 0)
		case state != present && e.fault != forgetsRecord:
			r.Dropped = hour(state)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b lbmodel.Root) int { return compareText(a.SHA256, b.SHA256) })
	return out
}

func compareText(a, b string) int {
	return slices.Compare([]byte(a), []byte(b))
}

// read turns a plan into steps2.
func (e *engine) read(plan lbmodel.Plan, live [rootCount]int8) steps2 {
	out := steps2{roots: live}
	for _, step := range plan.Steps {
		switch spec := step.Want.(type) {
		case *Trust:
			out.trust, out.trustAfter = true, len(step.After) > 0
			out.roots = e.rootsOf(spec)
		case *Certificate:
			out.cert, out.certAfter = true, len(step.After) > 0
		}
	}
	if e.fault == leafFirst {
		out.certAfter, out.trustAfter = false, out.cert && out.trust
	}
	return out
}

func (e *engine) rootsOf(t *Trust) (out [rootCount]int8) {
	for root, r := range e.roots {
		out[root] = absent
		for _, there := range t.Roots {
			if there.SHA256 == r.SHA256 {
				out[root] = present
				if !there.Dropped.IsZero() {
					out[root] = int8(there.Dropped.Sub(checkEpoch) / time.Hour)
				}
			}
		}
	}
	return out
}

// accepts says whether the provider takes a new leaf of a key.
func (e *engine) accepts(p steps2, key int8) bool {
	return (lbmodel.RenewRule{Authorities: p.authorities}).Accepts(lbmodel.Leaf{Authority: e.roots[key].KeyID})
}

// seen are the keys that backends show certificates under, as Trust.Seen has them.
func (e *engine) seen(s *checked) []string {
	var out []string
	for key := range int8(rootCount) {
		if keyOf(key) == key && s.inUse(key) {
			out = append(out, e.roots[key].SPKI)
		}
	}
	slices.Sort(out)
	return out
}
