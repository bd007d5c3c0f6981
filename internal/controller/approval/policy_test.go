package approval

import (
	"fmt"
	"testing"
	"time"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

var now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// part is a resource whose Flow flows, and whose Impact tells of its delete.
type part struct {
	Text string       `json:"text,omitzero"`
	Flow string       `json:"flow,omitzero"`
	Refs []lbmodel.ID `json:"refs,omitempty"`

	harm string
}

func (p *part) Needs() []lbmodel.ID { return p.Refs }
func (p *part) Flows(have lbmodel.Spec) bool {
	return lbmodel.DigestOf(p.Structure()) == lbmodel.DigestOf(have.(*part).Structure())
}
func (p *part) Structure() lbmodel.Spec {
	out := *p
	out.Flow = ""
	return &out
}

func (p *part) Impact(verb lbmodel.Verb, _ lbmodel.Spec) string {
	if verb == lbmodel.Delete {
		return p.harm
	}
	return ""
}

func id(name string) lbmodel.ID { return lbmodel.ID{Kind: "Part", Name: name} }

// graph is made of parts by name.
type graph map[string]part

func (g graph) graph() lbmodel.Graph {
	out := lbmodel.Graph{}
	for name, p := range g {
		out[id(name)] = lbmodel.NewResource(id(name), &p)
	}
	return out
}

func diff(t *testing.T, want, have graph, base lbmodel.Graph) lbmodel.Plan {
	t.Helper()
	p, err := lbmodel.Diff(want.graph(), base, have.graph())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// steps are a plan's in short.
func steps(p lbmodel.Plan) string {
	var out []string
	for _, s := range p.Steps {
		out = append(out, string(s.Verb)+" "+s.ID.Name)
	}
	return fmt.Sprint(out)
}

// rollout is a plan with everything: a listener is added before a rule that moves,
// endpoints change, and a port is closed.
func rollout(t *testing.T) lbmodel.Plan {
	return diff(t,
		graph{"listener": {Text: "443"}, "rule": {Text: "2", Refs: []lbmodel.ID{id("listener")}}, "group": {Flow: "b"}},
		graph{"rule": {Text: "1"}, "group": {Flow: "a"}, "port": {harm: "port 80 stops answering"}}, nil)
}

func TestPolicy(t *testing.T) {
	all := "[Update group Create listener Update rule Delete port]"
	gated := func(m v1alpha1.ApplyMode) string {
		p := rollout(t)
		return Hash(lbmodel.HeldBack(p, gate(m)(p, now)))
	}
	cases := []struct {
		name, why string
		mode      v1alpha1.ApplyMode
		approved  string
		want      string
	}{
		{"auto", "nothing but the harm waits", v1alpha1.ApplyAuto, "", "[Update group Create listener Update rule]"},
		{"unset is auto", "", "", "", "[Update group Create listener Update rule]"},
		{"auto, agreed", "", v1alpha1.ApplyAuto, gated(v1alpha1.ApplyAuto), all},
		{"auto, another plan agreed", "approving all of it is not what was shown", v1alpha1.ApplyAuto, gated(v1alpha1.ApplyApprove), "[Update group Create listener Update rule]"},
		{"approve", "endpoints flow", v1alpha1.ApplyApprove, "", "[Update group]"},
		{"approved", "", v1alpha1.ApplyApprove, gated(v1alpha1.ApplyApprove), all},
		{"another hash", "", v1alpha1.ApplyApprove, gated(v1alpha1.ApplyAuto), "[Update group]"},
		{"plan only", "it never runs", v1alpha1.ApplyPlanOnly, gated(v1alpha1.ApplyApprove), "[Update group]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := steps(Policy(c.mode, c.approved)(rollout(t), now)); got != c.want {
				t.Errorf("%s, want %s: %s", got, c.want, c.why)
			}
		})
	}
}

// TestHash: an approval outlives what flows and what a restart forgets, and nothing
// else.
func TestHash(t *testing.T) {
	want := graph{"a": {Text: "2", Flow: "x"}, "b": {Text: "1", Flow: "x"}}
	have := graph{"a": {Text: "1", Flow: "x"}}
	was := Hash(diff(t, want, have, nil))
	cases := []struct {
		name       string
		want, have graph
		base       lbmodel.Graph
		same       bool
		why        string
	}{
		{"nothing differs", want, have, nil, true, "equal plans have equal hashes"},
		{"endpoints of a new group", graph{"a": {Text: "2", Flow: "x"}, "b": {Text: "1", Flow: "y"}}, have, nil, true, "a rollout must not take an approval away"},
		{"endpoints of one that changes", graph{"a": {Text: "2", Flow: "y"}, "b": {Text: "1", Flow: "x"}}, graph{"a": {Text: "1", Flow: "z"}}, nil, true, "before as after"},
		{"the cause", want, have, want.graph(), true, "a restart forgets what was wanted last"},
		{"something flows beside it", graph{"a": {Text: "2"}, "b": {Text: "1"}, "g": {Flow: "2"}}, graph{"a": {Text: "1"}, "g": {Flow: "1"}}, nil, true, "nobody approves that"},
		{"another wish", graph{"a": {Text: "3", Flow: "x"}, "b": {Text: "1", Flow: "x"}}, have, nil, false, ""},
		{"one more step", graph{"a": {Text: "2"}, "b": {Text: "1"}, "c": {Text: "1"}}, have, nil, false, ""},
		{"one less", graph{"a": {Text: "2"}}, have, nil, false, ""},
		{"another start", want, graph{"a": {Text: "0"}}, nil, false, "what is shown as the old value differs"},
		{"a delete instead", graph{"b": {Text: "1"}}, have, nil, false, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if same := Hash(diff(t, c.want, c.have, c.base)) == was; same != c.same {
				t.Errorf("same is %t: %s", same, c.why)
			}
		})
	}
	// Written down: a hash that people have approved must be the same in the next
	// version too.
	const written = "67015e9418bf82f7057d6f05769092e7748a98e98719e1f961067b3aacb28c8e"
	if was != written {
		t.Errorf("the hash is %s, want %s", was, written)
	}
	if Hash(lbmodel.Plan{}) != "" {
		t.Error("nothing has a hash")
	}
}
