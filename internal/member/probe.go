package member

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/probe"
)

// modeOf is what a binding wants of probes.
func (m *Members) modeOf(binding string) v1alpha1.ProbeMode {
	b, there := m.bound(issuerOf(binding))
	if !there || b.Dialect == nil {
		return v1alpha1.ProbeOff
	}
	return cmp.Or(b.Binding.Spec.Probe.Mode, v1alpha1.ProbeOff)
}

// Watch has dialled, from now on, what a gateway's bindings want to be (spec.probe).
// Whoever runs Probes hears of it; nothing is dialled here.
func (m *Members) Watch(g reconcile.Gateway) {
	var asks []probe.Ask
	if g.Planned() && !g.Result.Deleting {
		asks = m.asks(g)
	}
	m.Probes.Want(g.Key.String(), asks)
}

// WatchAll is Watch for all gateways there are, and forgets those that are not.
func (m *Members) WatchAll() {
	l := m.loop.Load()
	if l == nil {
		return
	}
	there := map[string]bool{}
	for _, g := range (*l).Gateways() {
		there[g.Key.String()] = true
		m.Watch(g)
	}
	for _, asker := range m.Probes.Askers() {
		if !there[asker] {
			m.Probes.Want(asker, nil)
		}
	}
}

// hopped is the binding by which a pool is reached; "" is none.
func hopped(p *lbmodel.Pool) string {
	if p.TLS == nil || p.TLS.Source.Kind != translate.KindMeshBinding {
		return ""
	}
	return p.TLS.Source.Name
}

// asks are the pools of a gateway that are dialled, with all that is known of how.
func (m *Members) asks(g reconcile.Gateway) []probe.Ask {
	var out []probe.Ask
	var roots map[string][]lbmodel.Root
	var leaves map[string]lbmodel.Leaf
	modes := map[string]v1alpha1.ProbeMode{"": v1alpha1.ProbeOff}
	for i := range g.Served.Pools {
		p := &g.Served.Pools[i]
		binding := hopped(p)
		if modes[binding] == "" {
			modes[binding] = m.modeOf(binding)
		}
		if modes[binding] == v1alpha1.ProbeOff {
			continue
		}
		if out == nil {
			roots, leaves = m.places.trusted(g, (*m.loop.Load()).Rooted(g)), (*m.loop.Load()).Leaves(g)
		}
		hop := probe.Hop{Protocol: p.Protocol, TLS: *p.TLS, Roots: roots[p.TLS.Trust]}
		for _, id := range g.Served.Identities {
			if id.Name != p.TLS.Identity {
				continue
			}
			if leaf, live := leaves[id.Name]; live {
				id.Leaf = &leaf
			}
			hop.Identity = &id
		}
		out = append(out, probe.Ask{Name: p.Name, Hop: hop, Endpoints: p.Endpoints})
	}
	return out
}

// dial is one probe. Of an identity whose key is not here (it is remembered for half
// of its certificate's life, and by one process) everything is tried but itself; one
// that is kept in a Secret is here, or will be at the next try.
func (m *Members) dial(ctx context.Context, h probe.Hop, address string) probe.Result {
	t := probe.Target{Protocol: h.Protocol, TLS: h.TLS, Roots: h.Roots, Now: m.config.Clock}
	if id := h.Identity; id != nil && id.Leaf != nil {
		if pair, err := m.pair(ctx, *id); err == nil {
			t.Certificate = &pair
		}
	}
	out := probe.Dial(ctx, t, m.config.Dialled(address))
	if out.Address = address; out.Outcome == probe.ClientCertificate && h.Identity != nil && !out.Shown && h.Identity.Issuer != lbmodel.IssuerSecret {
		out.Outcome, out.Detail = probe.OK, ""
	}
	m.config.Probed(h.TLS.Source.Name, out.Outcome)
	return out
}

// pair is a certificate that is live, with its key if that is here.
func (m *Members) pair(ctx context.Context, id lbmodel.Identity) (pair certificate, err error) {
	if _, is := bindingOf(id.Issuer); is {
		return m.issue(ctx, id)
	}
	if secrets := m.secrets.Load(); secrets != nil {
		return (*secrets)(ctx, id)
	}
	return pair, refusal(lbmodel.CodeUnsupported, "nobody here has keys of %s", id.Name)
}

// Seen are the changes of what translation knows of the wire: one translate.Sight for
// each binding that wants probes. Empty is that nothing changed.
func (m *Members) Seen() translate.Change {
	var out translate.Change
	l := m.loop.Load()
	if l == nil {
		return out
	}
	x := (*l).Index()
	sights := map[string]*translate.Sight{}
	for _, b := range x.Bounds() {
		name := b.Binding.Name
		key := translate.Key{Kind: translate.KindSight, Name: name}
		if m.modeOf(name) != v1alpha1.ProbeOff {
			sights[name] = &translate.Sight{Binding: name}
		} else if x.Has(key) {
			out.Delete = append(out.Delete, key)
		}
	}
	if len(sights) > 0 {
		for _, g := range (*l).Gateways() {
			m.look(g, sights)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sights)) {
		s := sights[name]
		slices.Sort(s.Seen)
		s.Seen = slices.Compact(s.Seen)
		if !reflect.DeepEqual(x.Object(translate.Key{Kind: translate.KindSight, Name: name}), s) {
			out.Put = append(out.Put, s)
		}
	}
	return out
}

// look adds what is known of a gateway's pools.
func (m *Members) look(g reconcile.Gateway, sights map[string]*translate.Sight) {
	all := m.Probes.Sights(g.Key.String())
	for _, pool := range slices.Sorted(maps.Keys(all)) {
		sight := all[pool]
		s := sights[sight.Hop.TLS.Source.Name]
		if s == nil {
			continue
		}
		gates := m.modeOf(s.Binding) == v1alpha1.ProbeGate
		if s.Seen = append(s.Seen, sight.Seen...); gates && sight.Known && sight.Passed == 0 && len(sight.Failed) > 0 {
			s.Seen = append(s.Seen, keysOf(sight.Hop.Roots)...) // nobody can say which of them are in use
		}
		if t := sight.Told; t != nil {
			text := t.Text()
			if t.Outcome == probe.Unreachable {
				text += "; it is dialled from where the manager runs"
			}
			s.Pools = append(s.Pools, translate.PoolSight{Gateway: g.Key, Pool: pool, Fails: gates || t.Outcome != probe.Unreachable, Text: text})
		}
	}
}

func keysOf(roots []lbmodel.Root) []string {
	out := make([]string, len(roots))
	for i, r := range roots {
		out[i] = r.SPKI
	}
	return out
}

// about names a pool's Service and port for a person.
func about(pool string) string {
	parts := strings.SplitN(pool, "/", 3) // namespace/name:port/protocol…
	return strings.Join(parts[:min(len(parts), 2)], "/")
}

func held(format string, args ...any) lbmodel.Wait {
	return lbmodel.Wait{Reason: lbmodel.WaitProbe, Why: "waits: " + fmt.Sprintf(format, args...)}
}
