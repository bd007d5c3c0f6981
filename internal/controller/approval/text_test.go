package approval

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"gatehouse.dev/lbmodel"
)

// many is a plan of n creates and one delete that does harm.
func many(t *testing.T, n int) lbmodel.Plan {
	want := graph{}
	for i := range n {
		want[fmt.Sprintf("part-%04d", i)] = part{Text: strings.Repeat("é", 100)}
	}
	return diff(t, want, graph{"zz": {harm: "port 80 stops answering"}}, nil)
}

// TestText is cut between two steps, says how many it leaves out, and never hides
// what needs agreement.
func TestText(t *testing.T) {
	for _, n := range []int{0, 1, 50, 400, 3000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			got := text(many(t, n))
			if len(got) > textLimit || !utf8.ValidString(got) || !strings.HasSuffix(got, ".\n") {
				t.Fatalf("%d bytes, and ends with %q", len(got), got[max(0, len(got)-80):])
			}
			if !strings.Contains(got, "port 80 stops answering") {
				t.Error("the harm is not shown")
			}
			shown, left := strings.Count(got, " will be "), 0
			if at := strings.Index(got, "Left out here: "); at >= 0 {
				if _, err := fmt.Sscanf(got[at:], "Left out here: %d steps. In all: ", &left); err != nil {
					t.Fatal(err)
				}
			}
			if shown+left != n+1 || (left > 0) != (n >= 400) {
				t.Errorf("%d steps are shown and %d left out, of %d", shown, left, n+1)
			}
		})
	}
}

// TestTextOfOneHugeStep: there is always a line to read.
func TestTextOfOneHugeStep(t *testing.T) {
	p := diff(t, graph{"a": {Text: "x"}}, graph{}, nil)
	p.Steps[0].Impact = strings.Repeat("long ", textLimit)
	if got := text(p); !strings.HasPrefix(got, "Left out here: 1 steps.") {
		t.Errorf("%.80q", got)
	}
}

// TestTextShowsStructure: what flows is not shown as if somebody approved it.
func TestTextShowsStructure(t *testing.T) {
	got := text(diff(t, graph{"a": {Text: "x", Flow: "10.0.0.1"}}, graph{}, nil))
	if strings.Contains(got, "10.0.0.1") || !strings.Contains(got, `"x"`) {
		t.Errorf("the text is\n%s", got)
	}
}
