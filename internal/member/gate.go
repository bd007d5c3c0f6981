package member

import (
	"slices"
	"time"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/probe"
)

// Gate is the policy for plans of some gateways whose bindings want probes to decide. It keeps back
// what would change how backends are spoken to until they were seen to take it, and a
// root's going until it was seen that nobody uses it. What is there stays meanwhile,
// endpoints and new roots flow, and all else is done.
//
// What is new is made when one endpoint takes it: it takes nothing from the others.
// What changes must not fail with any for a reason that the change could have caused.
// Of several gateways that speak to the same pods, the one for which it fails keeps the
// others' back too.
func (m *Members) Gate(gateways ...reconcile.Gateway) lbmodel.Policy {
	return func(p lbmodel.Plan, _ time.Time) lbmodel.Plan {
		roots := map[lbmodel.ID]lbmodel.Wait{}
		for _, s := range p.Steps {
			if w, waits := m.holds(gateways, s); waits {
				w.ID = s.ID
				roots[s.ID] = w // without an end: whoever runs the probes hears of news
			}
		}
		return lbmodel.KeepBack(p, roots)
	}
}

// holds says whether a step waits, and why.
func (m *Members) holds(gateways []reconcile.Gateway, s lbmodel.Step) (lbmodel.Wait, bool) {
	switch want := s.Want.(type) {
	case lbmodel.Securing:
		for _, g := range gateways {
			if w, waits := m.holdsHop(g, want, s.Have.Spec); waits {
				return w, true
			}
		}
	case lbmodel.Presenting:
		for _, g := range gateways {
			if w, waits := m.holdsGiven(g, want, s.Have); waits {
				return w, true
			}
		}
	case lbmodel.Rooted:
		if have, is := s.Have.Spec.(lbmodel.Rooted); is && !lbmodel.GainsRoot(want.TrustRoots(), have.TrustRoots()) {
			return m.holdsRoots(s, lost(want.TrustRoots(), have.TrustRoots()))
		}
	}
	return lbmodel.Wait{}, false
}

// holdsHop says whether a pool waits until its endpoints were seen to take what it
// would say to them.
func (m *Members) holdsHop(g reconcile.Gateway, want lbmodel.Securing, have lbmodel.Spec) (w lbmodel.Wait, waits bool) {
	i := slices.IndexFunc(g.Served.Pools, func(p lbmodel.Pool) bool { return p.Name == want.Hop() })
	if i < 0 || hopped(&g.Served.Pools[i]) == "" || m.modeOf(hopped(&g.Served.Pools[i])) != v1alpha1.ProbeGate || !want.Secures(have) {
		return w, false
	}
	name := want.Hop()
	sight, asked := m.Probes.Sights(g.Key.String())[name]
	switch {
	case asked && len(sight.Hop.Roots) == 0:
		return held("the pods of %s cannot be verified, since the mesh's roots are not known", about(name)), true
	case !asked || !sight.Known:
		return held("the pods of %s are being dialled", about(name)), true
	case have == nil && sight.Passed == 0 && len(sight.Failed) > 0:
		return held("no pod of %s that was dialled takes it: %s", about(name), sight.Trouble().Text()), true
	case have != nil:
		if bad := caused(sight); bad != nil {
			return held("pods of %s do not take it: %s", about(name), bad.Text()), true
		}
	}
	return w, false
}

// holdsGiven says whether a certificate from a Secret waits in the place of another until
// pods were seen to take it. One that is issued is shown to them at Apply (see prove).
// When the live one is about to end there is nothing to lose.
func (m *Members) holdsGiven(g reconcile.Gateway, want lbmodel.Presenting, have lbmodel.Resource) (w lbmodel.Wait, waits bool) {
	i := slices.IndexFunc(g.Served.Identities, func(id lbmodel.Identity) bool { return id.Name == want.Presents() })
	live := have.Facts.Leaf
	if i < 0 || g.Served.Identities[i].Leaf == nil || live == nil || live.SHA256 == g.Served.Identities[i].Leaf.SHA256 {
		return w, false
	}
	last := lastMoment(*live)
	if !m.config.Clock().Before(last) {
		return w, false
	}
	for j := range g.Served.Pools {
		p := &g.Served.Pools[j]
		if hopped(p) == "" || p.TLS.Identity != want.Presents() || m.modeOf(hopped(p)) != v1alpha1.ProbeGate {
			continue
		}
		if w, waits = m.refusesGiven(g, p.Name, live.SHA256); waits {
			w.Until = last
			return w, true
		}
	}
	return w, false
}

// refusesGiven says whether the pods of a pool were not seen to take a certificate that
// they are to be shown, and why. Those that refused the live one lose nothing.
func (m *Members) refusesGiven(g reconcile.Gateway, pool, live string) (w lbmodel.Wait, waits bool) {
	sight := m.Probes.Sights(g.Key.String())[pool]
	already := probe.Earlier{Leaf: live, Outcome: probe.ClientCertificate}
	refuses := slices.IndexFunc(sight.Failed, func(r probe.Result) bool {
		return r.Outcome == probe.ClientCertificate && r.Earlier != already
	})
	switch {
	case !sight.Known:
		return held("the new certificate is being shown to the pods of %s", about(pool)), true
	case refuses >= 0:
		return held("pods of %s do not take the new certificate: %s", about(pool), sight.Failed[refuses].Text()), true
	case sight.Passed == 0 && len(sight.Failed) > 0:
		return held("no pod of %s was seen to take the new certificate: %s", about(pool), sight.Trouble().Text()), true
	}
	return w, false
}

// caused is a failure that a change of what is said to pods could have caused; of
// pods of which none answers as it should, any counts.
func caused(s probe.Sight) *probe.Result {
	for i := range s.Failed {
		if s.Failed[i].Outcome.Ours() {
			return &s.Failed[i]
		}
	}
	if s.Passed == 0 {
		return s.Trouble()
	}
	return nil
}

// lost are the roots that go, and whose key does not stay.
func lost(want, have []lbmodel.Root) []lbmodel.Root {
	return slices.DeleteFunc(slices.Clone(have), func(r lbmodel.Root) bool {
		return slices.ContainsFunc(want, func(w lbmodel.Root) bool { return w.SHA256 == r.SHA256 || w.SPKI == r.SPKI && w.SPKI != "" })
	})
}

// holdsRoots says whether roots wait with their going. Trust.Seen keeps those that were
// seen; this is for the time when nobody has looked yet, as after a start. A step that
// brings a root is never held: roots come at once.
func (m *Members) holdsRoots(s lbmodel.Step, gone []lbmodel.Root) (w lbmodel.Wait, waits bool) {
	sourced, is := s.Want.(lbmodel.Sourced)
	if len(gone) == 0 || !is {
		return w, false
	}
	for _, source := range sourced.Sources() {
		if m.modeOf(source.Name) == v1alpha1.ProbeOff {
			continue
		}
		for _, asker := range m.Probes.Askers() {
			for name, sight := range m.Probes.Sights(asker) {
				if sight.Hop.TLS.Source.Name != source.Name {
					continue
				}
				if w, waits := uses(sight, name, gone); waits {
					return w, true
				}
			}
		}
	}
	return w, false
}

// uses says whether pods may show certificates of roots that go. Where those were not
// trusted when the pods were dialled, nobody could have seen it.
func uses(s probe.Sight, pool string, gone []lbmodel.Root) (w lbmodel.Wait, waits bool) {
	for _, r := range gone {
		switch tried := slices.ContainsFunc(s.Hop.Roots, func(o lbmodel.Root) bool { return o.SPKI == r.SPKI }); {
		case len(s.Hop.Roots) == 0:
		case !tried || !s.Known:
			return held("whether pods of %s use the root that would go is being looked at", about(pool)), true
		case slices.Contains(s.Seen, r.SPKI):
			return held("pods of %s show certificates of the root that would go, %.16s", about(pool), r.SHA256), true
		}
	}
	return w, false
}
