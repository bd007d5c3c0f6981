package lbmodel

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// standingSpec is a rule as these tests need it: "listener 10: a b" sends to the
// boxes a and b, and "500" is a share that it answers itself.
type standingSpec struct {
	Listener string   `json:"listener"`
	Number   int      `json:"number"`
	Shares   []string `json:"shares"`
}

func (s *standingSpec) Needs() []ID {
	out := []ID{boxID(s.Listener)}
	for _, share := range s.Shares {
		if share != "500" {
			out = append(out, boxID(share))
		}
	}
	return out
}

func (s *standingSpec) Slot() string { return s.Listener + " " + strconv.Itoa(s.Number) }

func (s *standingSpec) StandIn(have Spec, missing func(ID) bool) Spec {
	if there, ok := have.(*standingSpec); ok {
		moved := *there
		moved.Number = s.Number
		if !StandsIn(s, &moved) {
			return &moved
		}
	}
	out := *s
	out.Shares = slices.Clone(s.Shares)
	for i, share := range out.Shares {
		if share != "500" && missing(boxID(share)) {
			out.Shares[i] = "500"
		}
	}
	return &out
}

// String is the spec as it is written in these tests.
func (s *standingSpec) String() string {
	return s.Listener + " " + strconv.Itoa(s.Number) + ": " + strings.Join(s.Shares, " ")
}

// with is a graph and rules in it: pairs of a name and what String writes.
func with(g Graph, rules ...string) Graph {
	for i := 0; i < len(rules); i += 2 {
		head, shares, _ := strings.Cut(rules[i+1], ":")
		listener, number, _ := strings.Cut(head, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			panic(err) // a test's mistake
		}
		g[boxID(rules[i])] = NewResource(boxID(rules[i]), &standingSpec{listener, n, strings.Fields(shares)})
	}
	return g
}

// toldWants is a plan's steps with what is wanted of the rules, and who waits.
func toldWants(p Plan) (steps, waits []string) {
	for i, line := range told(Plan{Steps: p.Steps}) {
		if s, ok := p.Steps[i].Want.(*standingSpec); ok {
			line += " = " + s.String()
		}
		steps = append(steps, line)
	}
	for _, w := range p.Later {
		waits = append(waits, w.ID.Name)
	}
	return steps, waits
}

func TestStandInsOfDiff(t *testing.T) {
	tests := []struct {
		name, why   string
		want, have  Graph
		plan, waits []string
	}{
		{
			name: "a need of its need is missing", why: "requests of the rule would fall to the next one",
			want: with(boxes("l", "pool needs=roots"), "rule", "l 10: pool"),
			plan: []string{"Create l", "Create rule after l = l 10: 500"}, waits: []string{"pool", "rule"},
		},
		{
			name: "one of two shares", why: "the other share is served",
			want: with(boxes("l", "pool needs=roots", "plain"), "rule", "l 10: plain pool"),
			plan: []string{"Create l", "Create plain", "Create rule after l after plain = l 10: plain 500"}, waits: []string{"pool", "rule"},
		},
		{
			name: "it stands in already", why: "a plan that finds nothing new is empty",
			want: with(boxes("l", "pool needs=roots"), "rule", "l 10: pool"), have: with(boxes("l"), "rule", "l 10: 500"),
			waits: []string{"pool", "rule"},
		},
		{
			name: "part of what was missing has come", why: "no share waits for another one",
			want: with(boxes("l", "pool needs=roots", "late"), "rule", "l 10: late pool"), have: with(boxes("l"), "rule", "l 10: 500 500"),
			plan: []string{"Create late", "Update rule after late = l 10: late 500"}, waits: []string{"pool", "rule"},
		},
		{
			name: "everything has come", why: "it takes its place",
			want: with(boxes("l", "pool"), "rule", "l 10: pool"), have: with(boxes("l"), "rule", "l 10: 500"),
			plan: []string{"Create pool", "Update rule after pool = l 10: pool"},
		},
		{
			name: "a live rule", why: "what serves somebody goes on as it is",
			want: with(boxes("l", "old", "pool needs=roots"), "rule", "l 10: old pool"), have: with(boxes("l", "old"), "rule", "l 10: old"),
			waits: []string{"pool", "rule"},
		},
		{
			name: "a live rule that must move", why: "its place is another's, who waits for nothing",
			want: with(boxes("l", "old", "pool needs=roots"), "rule", "l 20: pool", "other", "l 10: old"), have: with(boxes("l", "old"), "rule", "l 10: old"),
			plan: []string{"Update rule = l 20: old", "Create other after rule = l 10: old"}, waits: []string{"pool", "rule"},
		},
		{
			name: "what it lives in is missing", why: "there is no place to keep",
			want:  with(boxes("l needs=address", "pool"), "rule", "l 10: pool"),
			plan:  []string{"Create pool"},
			waits: []string{"l", "rule"},
		},
		{
			name: "its place is somebody else's", why: "nothing else can stand there",
			want: with(boxes("l", "pool needs=roots"), "rule", "l 10: pool"), have: with(boxes("l External"), "theirs", "l 10: 500"),
			waits: []string{"pool", "rule"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r, ok := test.have[boxID("theirs")]; ok {
				test.have[boxID("theirs")] = r.With(External)
			}
			plan, err := Diff(test.want, nil, test.have)
			if err != nil {
				t.Fatal(err)
			}
			steps, waits := toldWants(plan)
			if diff := cmp.Diff([][]string{test.plan, test.waits}, [][]string{steps, waits}); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}

// TestStandInsAfterARun: what failed, and what waited for it, is not there; the
// place of a rule that waited is kept.
func TestStandInsAfterARun(t *testing.T) {
	want := with(boxes("l", "cert", "pool needs=cert", "plain"), "secret", "l 10: plain pool", "open", "l 20: plain")
	plan, err := Diff(want, nil, Graph{})
	if err != nil {
		t.Fatal(err)
	}
	after := StandIns(plan, map[ID]error{boxID("cert"): errors.New("refused")})
	steps, waits := toldWants(after)
	if diff := cmp.Diff([]string{"Create secret after l after plain = l 10: plain 500"}, steps); diff != "" || len(waits) > 0 {
		t.Errorf("-want +got:\n%s\nand waiting: %v", diff, waits)
	}
	if again := StandIns(plan, map[ID]error{boxID("secret"): errors.New("refused")}); !again.Empty() {
		t.Errorf("the rule itself was refused, and %v is tried in its place", again.Steps)
	}
}

// TestWhatIsNewNeedsAPlaceOnly: where the front of a gateway leads to its rules, it is
// opened when they stand in, and when they stood in already; what replaces something
// waits for all of them.
func TestWhatIsNewNeedsAPlaceOnly(t *testing.T) {
	refused := map[ID]error{boxID("cert"): errors.New("refused")}
	want := with(boxes("l", "cert", "pool needs=cert", "plain", "port needs=map slot=80"), "map", "l 10: plain pool")
	standing := with(boxes("l", "plain"), "map", "l 10: plain 500")
	for _, c := range []struct {
		name string
		have Graph
		then []string
	}{
		{"nothing is there", Graph{}, []string{"Create map after l after plain = l 10: plain 500", "Create port after map"}},
		{"it stands in already", standing, []string{"Create port after map"}},
		{"another port goes for it", with(boxes("l", "plain", "old needs=map slot=80"), "map", "l 10: plain 500"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, err := Diff(want, nil, c.have)
			if err != nil {
				t.Fatal(err)
			}
			steps, _ := toldWants(StandIns(plan, refused))
			if diff := cmp.Diff(c.then, steps); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestStandInsOfPolicies: a policy that holds what a rule needs leaves its place
// kept; one that waits for somebody's word leaves nothing, and neither makes what
// nobody has a use for.
func TestStandInsOfPolicies(t *testing.T) {
	want := with(boxes("l", "cert", "pool needs=cert"), "rule", "l 10: pool")
	plan, err := Diff(want, nil, Graph{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, why string
		reason    WaitReason
		plan      []string
	}{
		{"a failed probe", "its requests go to nobody else", WaitProbe, []string{"Create l", "Create rule after l = l 10: 500"}},
		{"an approval", "nobody has agreed to a rule there", WaitApproval, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			id := boxID("pool")
			steps, _ := toldWants(KeepBack(plan, map[ID]Wait{id: {ID: id, Reason: test.reason}}))
			if diff := cmp.Diff(test.plan, steps); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}

// TestStandInsAreApproved: who approves a rule approves what stands in for it, and
// that it takes its place later.
func TestStandInsAreApproved(t *testing.T) {
	whole, lacking := boxes("l", "pool"), boxes("l", "pool needs=roots")
	first, err := Diff(with(whole, "rule", "l 10: pool"), nil, boxes("l"))
	if err != nil {
		t.Fatal(err)
	}
	meanwhile, err := Diff(with(lacking, "rule", "l 10: pool"), nil, boxes("l"))
	if err != nil {
		t.Fatal(err)
	}
	later, err := Diff(with(boxes("l", "pool"), "rule", "l 10: pool"), nil, with(boxes("l"), "rule", "l 10: 500"))
	if err != nil {
		t.Fatal(err)
	}
	approved := structureOfRule(t, first)
	for name, plan := range map[string]Plan{"what stands in": meanwhile, "what takes its place": later} {
		if diff := cmp.Diff(approved, structureOfRule(t, plan)); diff != "" {
			t.Errorf("%s must be approved again (-first +then):\n%s", name, diff)
		}
	}
	live, err := Diff(with(boxes("l", "pool"), "rule", "l 10: pool"), nil, with(boxes("l", "old"), "rule", "l 10: old"))
	if err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(approved, structureOfRule(t, live)) {
		t.Error("a live rule may be changed by an approval to make one")
	}
	if held := HoldStructure(meanwhile, time.Time{}); !held.Empty() {
		t.Errorf("nobody has approved, and these are done: %v", held.Steps)
	}
}

// structureOfRule is what is approved of the step of the rule.
func structureOfRule(t *testing.T, p Plan) StepDocument {
	t.Helper()
	for _, s := range p.Steps {
		if s.ID == boxID("rule") {
			doc := Plan{Steps: []Step{s.Structure()}}.Document().Steps[0]
			doc.Why, doc.WaitsFor = "", nil
			return doc
		}
	}
	t.Fatalf("no step for the rule in %v", told(p))
	return StepDocument{}
}

func TestWithout(t *testing.T) {
	plain, mesh := Backend{Pool: "plain", Weight: 8}, Backend{Pool: "mesh", Weight: 2}
	failed := func(status int, weight int32) Backend {
		return Backend{Weight: weight, Fixed: &Fixed{Status: status}}
	}
	forward := func(b ...Backend) Action { return Action{Forward: &Forward{Backends: b}} }
	fixed := func(status int) Action { return Action{Fixed: &Fixed{Status: status}} }
	tests := []struct {
		name, why string
		rule      Rule
		whole     Whole
		want      Action
	}{
		{"one share", "only that share fails", Rule{Action: forward(plain, mesh)}, AnyShare, forward(plain, failed(500, 2))},
		{"all shares", "one answer serves the whole rule, as where translation refuses it", Rule{Action: forward(mesh)}, AnyShare, fixed(500)},
		{"gRPC", "clients read 503 as UNAVAILABLE", Rule{Match: Match{GRPC: &GRPCMatch{}}, Action: forward(mesh)}, AnyShare, fixed(503)},
		{"no answering shares", "another backend may not get the share", Rule{Action: forward(plain, mesh)}, WholeRules, fixed(500)},
		{"a share of no weight", "nobody would notice", Rule{Action: forward(plain, Backend{Pool: "mesh"})}, WholeRules, forward(plain, failed(500, 0))},
		{
			"mirrors", "nobody waits for their answers",
			Rule{Action: Action{Forward: &Forward{Backends: []Backend{plain}}, Edits: Edits{Mirrors: []Mirror{{Pool: "mesh"}, {Pool: "plain"}}}}}, AnyShare,
			Action{Forward: &Forward{Backends: []Backend{plain}}, Edits: Edits{Mirrors: []Mirror{{Pool: "plain"}}}},
		},
		{"nothing to do without", "a rule that forwards nowhere is as it is", Rule{Action: fixed(404)}, AnyShare, fixed(404)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.rule.Without(func(pool string) bool { return pool == "mesh" }, test.whole)
			if diff := cmp.Diff(string(canonical(test.want)), string(canonical(got))); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}
