package approval

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"

	"gatehouse.dev/lbmodel"
)

// textLimit is that of status.plan.text, in bytes: the API's is as many characters.
const textLimit = 65536

// text is a plan as the command line prints it. Of one that is too long the first
// steps are shown, those that need agreement before all others, and a last line
// says how many are left out.
func text(p lbmodel.Plan) string {
	all := printed(p.Steps)
	if len(all) <= textLimit {
		return all
	}
	steps := slices.Clone(p.Steps)
	slices.SortStableFunc(steps, func(a, b lbmodel.Step) int { return cmp.Compare(rank(a), rank(b)) })
	n := p.Summary()
	short := func(shown int) string {
		note := fmt.Sprintf("Left out here: %d steps. In all: %d to add, %d to change, %d to destroy; the hash covers them.\n",
			len(steps)-shown, n.Add, n.Change, n.Destroy)
		if shown == 0 {
			return note
		}
		return printed(steps[:shown]) + note
	}
	tooMany := sort.Search(len(steps), func(i int) bool { return len(short(i)) > textLimit })
	return short(tooMany - 1)
}

func rank(s lbmodel.Step) int {
	if s.Impact != "" {
		return 0
	}
	return 1
}

func printed(steps []lbmodel.Step) string {
	shown := make([]lbmodel.Step, len(steps))
	for i, s := range steps {
		shown[i] = s.Structure()
	}
	var out bytes.Buffer
	// A buffer takes everything.
	_ = lbmodel.PrintPlan(&out, lbmodel.Plan{Steps: shown}, lbmodel.Plain)
	return out.String()
}
