package lbmodel

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hopSpec is a way to speak to the pods of a Service.
type hopSpec struct {
	Level TLSLevel `json:"level"`
	of    string
}

func (h *hopSpec) Needs() []ID          { return nil }
func (h *hopSpec) Protection() TLSLevel { return h.Level }
func (h *hopSpec) Sources() []Source {
	if h.of == "" {
		return nil
	}
	return []Source{{Kind: "Service", Name: h.of}}
}

// hops adds ways to speak to Services, as "name service level".
func hops(g Graph, list ...[3]string) Graph {
	for _, h := range list {
		r := NewResource(boxID(h[0]), &hopSpec{Level: TLSLevel(h[2]), of: h[1]})
		g[r.ID] = r
	}
	return g
}

// TestDowngrade: a rule whose requests would reach their backend with weaker TLS than
// they do needs somebody's agreement, and nothing else does.
func TestDowngrade(t *testing.T) {
	type hop = [3]string
	meshed, plain := hop{"meshed", "cart", "ClientAndServer"}, hop{"plain", "cart", "None"}
	verified, other := hop{"verified", "cart", "ServerOnly"}, hop{"other", "blog", "None"}
	twin := hop{"twin", "cart", "ClientAndServer"}
	cases := []struct {
		name, why  string
		have, want []hop
		was, is    string // what the rule needs
		base       bool   // the wish is as it was
		impact     string
		fresh      bool // the rule is new
		restarted  bool // nothing is known of what was wanted
	}{
		{name: "out of the mesh", why: "the binding was deleted", have: []hop{meshed}, want: []hop{plain}, was: "meshed", is: "plain",
			impact: "backends that are reached with TLS ClientAndServer would be reached with TLS None (Box.plain)"},
		{name: "to half of it", why: "the gateway is not known any more", have: []hop{meshed}, want: []hop{verified}, was: "meshed", is: "verified",
			impact: "backends that are reached with TLS ClientAndServer would be reached with TLS ServerOnly (Box.verified)"},
		{name: "both at once", why: "the worst is told", have: []hop{meshed}, want: []hop{verified, plain}, was: "meshed", is: "verified,plain",
			impact: "backends that are reached with TLS ClientAndServer would be reached with TLS None (Box.plain)"},
		{name: "a part of it", why: "pods leave a mesh one by one", have: []hop{meshed}, want: []hop{meshed, plain}, was: "meshed", is: "meshed,plain"},
		{name: "the last part of it", why: "the others have left before", have: []hop{meshed, plain}, want: []hop{plain}, was: "meshed,plain", is: "plain"},
		{name: "to another backend", why: "these are other requests", have: []hop{meshed}, want: []hop{other}, was: "meshed", is: "other"},
		{name: "another backend beside it", why: "what went to the mesh goes on", have: []hop{meshed}, want: []hop{meshed, other}, was: "meshed", is: "meshed,other"},
		{name: "without its policy", why: "whoever deletes a BackendTLSPolicy means it", have: []hop{verified}, want: []hop{plain}, was: "verified", is: "plain"},
		{name: "after a restart", why: "nobody knows whose the old one was", have: []hop{meshed}, want: []hop{plain}, was: "meshed", is: "plain", restarted: true,
			impact: "backends that are reached with TLS ClientAndServer would be reached with TLS None (Box.plain)"},
		{name: "into the mesh", have: []hop{plain}, want: []hop{meshed}, was: "plain", is: "meshed"},
		{name: "from half to whole", have: []hop{verified}, want: []hop{meshed}, was: "verified", is: "meshed"},
		{name: "to the like", why: "its pods changed what they accept", have: []hop{meshed}, want: []hop{twin}, was: "meshed", is: "twin"},
		{name: "less", have: []hop{meshed, other}, want: []hop{other}, was: "meshed,other", is: "other"},
		{name: "new", have: []hop{meshed}, want: []hop{meshed, plain}, is: "plain", fresh: true},
		{name: "put back", why: "that was agreed once", have: []hop{meshed, plain}, want: []hop{meshed, plain}, was: "meshed", is: "plain", base: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			have := hops(boxes("rule needs="+c.was), c.have...)
			if c.fresh {
				have = hops(Graph{}, c.have...)
			}
			want := hops(boxes("rule needs="+c.is), c.want...)
			base := hops(boxes("rule needs="+c.was), c.have...)
			switch {
			case c.base:
				base = want
			case c.restarted:
				base = nil
			}
			for id, r := range have {
				if h, ok := r.Spec.(*hopSpec); ok {
					r.Spec = &hopSpec{Level: h.Level} // as it is observed
					have[id] = r
				}
			}
			p, err := Diff(want, base, have)
			if err != nil {
				t.Fatal(err)
			}
			var impact string
			for _, s := range p.Steps {
				if s.ID == boxID("rule") {
					impact = s.Impact
				} else if s.Impact != "" {
					t.Errorf("%s has the impact %q", s.ID, s.Impact)
				}
			}
			if d := cmp.Diff(c.impact, impact); d != "" {
				t.Errorf("impact (-want +got):\n%s%s", d, c.why)
			}
			if held := HoldDisruptive(p, time.Time{}); c.impact != "" && !held.Empty() {
				t.Errorf("without agreement %v is done all the same", told(held))
			}
		})
	}
}

// TestDowngradeInPlace: the same of a hop that changes as it stands.
func TestDowngradeInPlace(t *testing.T) {
	levels := []TLSLevel{TLSNone, TLSUnverified, TLSServerOnly, TLSClientAndServer}
	for i, have := range levels {
		for j, want := range levels {
			if got := Downgrade(have, want); (got != "") != (have == TLSClientAndServer && j < i) {
				t.Errorf("from %s to %s: %q", have, want, got)
			}
		}
	}
}
