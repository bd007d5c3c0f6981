package lbmodel

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// follower and roots are a certificate and what it follows, in little.
type follower struct {
	engineSpec
	leaders []ID
}

func (f *follower) Follows() []ID { return f.leaders }

type roots struct {
	engineSpec
	Roots []string
	Note  string `json:",omitzero"`
}

func (r *roots) Widens(have Spec) bool  { return gains(r.Roots, have.(*roots).Roots) }
func (r *roots) Narrows(have Spec) bool { return gains(have.(*roots).Roots, r.Roots) }

func gains(to, from []string) bool {
	return slices.ContainsFunc(to, func(root string) bool { return !slices.Contains(from, root) })
}

// Why: a certificate must not be shown before its root is trusted, and its old
// root must not go while it is shown. Neither needs the other, so no edge of needs
// says so.
func TestDiffFollowers(t *testing.T) {
	cert := func(value string) Resource {
		return NewResource(boxID("cert"), &follower{engineSpec{Value: value}, []ID{boxID("roots"), boxID("absent")}})
	}
	trust := func(names ...string) Resource { return NewResource(boxID("roots"), &roots{Roots: names}) }
	noted := func(r Resource) Resource {
		return NewResource(r.ID, &roots{Roots: r.Spec.(*roots).Roots, Note: "x"})
	}
	graph := func(rs ...Resource) Graph {
		g := Graph{}
		for _, r := range rs {
			g[r.ID] = r
		}
		return g
	}
	for _, c := range []struct {
		name, why  string
		want, have Graph
		plan       []string
	}{
		{"a root comes", "trust first", graph(cert("2"), trust("1", "2")), graph(cert("1"), trust("1")), []string{"Update roots", "Update cert after roots"}},
		{"a root goes", "switch first", graph(cert("2"), trust("2")), graph(cert("1"), trust("1", "2")), []string{"Update cert", "Update roots after cert"}},
		{"one for another", "what comes decides", graph(cert("2"), trust("2")), graph(cert("1"), trust("1")), []string{"Update roots", "Update cert after roots"}},
		{"a note", "neither hinders the other: a note that cannot be written must not cost the switch", graph(cert("2"), noted(trust("1"))), graph(cert("1"), trust("1")), []string{"Update cert", "Update roots"}},
		{"only one changes", "nothing to wait for", graph(cert("2"), trust("1")), graph(cert("1"), trust("1")), []string{"Update cert"}},
		{"new", "what is not in use needs no order", graph(cert("1"), trust("1")), nil, []string{"Create cert", "Create roots"}},
	} {
		p, err := Diff(c.want, nil, c.have)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.plan, told(p)); diff != "" {
			t.Errorf("%s: %s: plan (-want +got):\n%s", c.name, c.why, diff)
		}
	}
}
