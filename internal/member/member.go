package member

import (
	"cmp"
	"context"
	"crypto/tls"
	"strings"
	"sync/atomic"
	"time"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
	"gatehouse.dev/meshsync/probe"
)

// Config is what Members are made of. Tokens is required; nil functions are what
// their comments say.
type Config struct {
	// Tokens mints a token of an audience for a gateway's account, which exists. Its
	// errors are lbmodel.Errors with a code.
	Tokens func(ctx context.Context, audience string, account meshsync.Account) (string, error)
	// Reach is where an address of a CA (host:port) is really reached: tests, and who
	// is outside of the cluster, have them elsewhere. The server must prove the same
	// name all the same. Nil is the address itself.
	Reach func(address string) string
	// Issued is told of every answer of a CA, by the binding's name: OK, or the code
	// of the error. Nil is nobody.
	Issued func(binding string, code lbmodel.Code)
	Clock  func() time.Time // nil is time.Now
	// Around is what there is for issuers that need more than a token.
	Around Around

	// Pace is how much Probes dial.
	Pace probe.Pace
	// Dialled is where a pod's address (host:port) is really dialled; nil is there.
	Dialled func(address string) string
	// Probed is told of every pod that was dialled; nil is nobody.
	Probed func(binding string, outcome probe.Outcome)
}

// Loop is what is known of the gateways now: *reconcile.Loop.
type Loop interface {
	Index() *translate.Index
	Gateways() []reconcile.Gateway
	Leaves(reconcile.Gateway) map[string]lbmodel.Leaf
	Rooted(reconcile.Gateway) [][]lbmodel.Root
}

// Keyring answers for an identity with a certificate and its key; it is a
// providers.Keyring.
type Keyring = func(context.Context, lbmodel.Identity) (tls.Certificate, error)

// Members answer for the gateways of one loop. They may be used by many goroutines.
type Members struct {
	// Probes dial what bindings want to be dialled (see Watch), while somebody runs
	// them.
	Probes *probe.Prober

	config  Config
	secrets atomic.Pointer[Keyring]
	places  places
	loop    atomic.Pointer[Loop]
	kept    kept
	// admitted is since when Bound.Admits are published.
	admitted issue.Published
	issue    Keyring
}

// New makes Members that know of no gateway yet: see Over.
func New(c Config) *Members {
	if c.Reach == nil {
		c.Reach = func(address string) string { return address }
	}
	if c.Issued == nil {
		c.Issued = func(string, lbmodel.Code) {}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Dialled == nil {
		c.Dialled = func(address string) string { return address }
	}
	if c.Probed == nil {
		c.Probed = func(string, probe.Outcome) {}
	}
	c.Pace.Sample = cmp.Or(c.Pace.Sample, 3)
	m := &Members{config: c}
	m.Probes = probe.NewProber(probe.ProberConfig{Dial: m.dial, Pace: c.Pace, Now: c.Clock})
	m.issue = issue.Keyring(issue.Config{
		Issuers: m.issuer, Roots: m.roots, Live: m.live, Trusted: m.trusted, Backends: m.backends, Now: c.Clock,
	})
	return m
}

// Over says whose gateways they are. Before, and for others than those, nothing is
// issued.
func (m *Members) Over(l Loop) {
	m.loop.Store(&l)
	m.See()
}

// See notes which roots are published now. It is called after every change of the
// objects: a root counts as trusted by all proxies only some time after it was first
// seen.
func (m *Members) See() {
	l := m.loop.Load()
	if l == nil {
		return
	}
	var issuers []string
	for _, b := range (*l).Index().Bounds() {
		issuers = append(issuers, issuerOf(b.Binding.Name))
		m.kept.see(issuerOf(b.Binding.Name), b.Trust.Roots, m.config.Clock())
		m.admit(issuerOf(b.Binding.Name), b.Admits)
	}
	for _, gone := range m.kept.only(issuers) {
		m.admitted.Forget(gone)
	}
}

// admit notes under which roots a mesh takes gateways now, where those are others. None
// is that it takes nobody: whoever comes again begins anew.
func (m *Members) admit(issuer string, roots []lbmodel.Root) {
	if len(roots) == 0 {
		m.admitted.Forget(issuer)
		return
	}
	m.admitted.See(issuer, roots, m.config.Clock())
}

// Since is when a root that a binding publishes was first seen, by this process or one
// before (see Recall); zero is never.
func (m *Members) Since(binding string, root lbmodel.Root) time.Time {
	return m.kept.published.Since(issuerOf(binding), root)
}

// Keyring answers for the identities of meshes, and hands all others on to secrets.
// Errors are those of issue.Keyring; Unresolved is that there is no such binding, or
// no gateway of that identity; Unsupported is that nobody here can ask its issuer.
//
// Where a binding says so, a new certificate is shown to backends first (see prove):
// one that they refuse is Pending.
func (m *Members) Keyring(secrets Keyring) Keyring {
	m.secrets.Store(&secrets)
	return func(ctx context.Context, id lbmodel.Identity) (tls.Certificate, error) {
		if _, is := bindingOf(id.Issuer); is {
			pair, err := m.issue(ctx, id)
			if err == nil {
				err = m.prove(ctx, id, pair)
			}
			if err != nil {
				return tls.Certificate{}, err
			}
			return pair, nil
		}
		return secrets(ctx, id)
	}
}

// issuerOf is what Identity.Issuer says of a binding.
func issuerOf(binding string) string { return translate.KindMeshBinding + "/" + binding }

func bindingOf(issuer string) (name string, ok bool) {
	return strings.CutPrefix(issuer, translate.KindMeshBinding+"/")
}

// bound is the binding of an issuer.
func (m *Members) bound(issuer string) (translate.Bound, bool) {
	l := m.loop.Load()
	name, is := bindingOf(issuer)
	if l == nil || !is {
		return translate.Bound{}, false
	}
	return (*l).Index().Bound(name)
}

// roots implements issue.Config.Roots. While a binding's cannot be read, its last good
// ones hold: that a source is away for a day shall not end anybody's certificate.
func (m *Members) roots(issuer string) []lbmodel.Root {
	b, there := m.bound(issuer)
	switch {
	case there && len(b.Admits) > 0: // of gateways, where they are others
		return b.Admits
	case there && b.Trust.Unknown:
		return m.kept.valid(issuer, m.config.Clock())
	}
	return b.Trust.Roots
}

// live implements issue.Config.Live.
func (m *Members) live(id lbmodel.Identity) (*lbmodel.Leaf, error) {
	g, _, err := m.gateway(id)
	if err != nil {
		return nil, err
	}
	leaf, there := (*m.loop.Load()).Leaves(g)[id.Name]
	if !there {
		return nil, nil
	}
	return &leaf, nil
}

// gateway is whose identity it is, and its part in the mesh.
func (m *Members) gateway(id lbmodel.Identity) (reconcile.Gateway, translate.Membership, error) {
	l := m.loop.Load()
	if l == nil {
		return reconcile.Gateway{}, translate.Membership{}, refusal(lbmodel.CodeUnresolved, "the gateways are not known yet")
	}
	for _, g := range (*l).Gateways() {
		for _, own := range g.Result.Gateway.Identities {
			if !same(own, id) {
				continue
			}
			for _, member := range g.Result.Meshes {
				if member.Identity == own.Name {
					return g, member, nil
				}
			}
		}
	}
	return reconcile.Gateway{}, translate.Membership{}, refusal(lbmodel.CodeUnresolved, "no gateway is %s in %s any more: plan again", named(id), id.Issuer)
}

// same says whether two identities are one: of several gateways in a mesh, each has
// names of its own.
func same(a, b lbmodel.Identity) bool {
	return a.Issuer == b.Issuer && a.SPIFFEID == b.SPIFFEID && strings.Join(a.DNSNames, " ") == strings.Join(b.DNSNames, " ")
}

func named(id lbmodel.Identity) string {
	if id.SPIFFEID != "" {
		return id.SPIFFEID
	}
	return strings.Join(id.DNSNames, ", ")
}

func refusal(code lbmodel.Code, format string, args ...any) *lbmodel.Error {
	return lbmodel.Errorf(code, "Issue", lbmodel.ID{}, format, args...)
}
