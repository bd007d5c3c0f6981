package cli

import (
	"cmp"
	"slices"
	"strings"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/lbmodel"
)

// severity is how much a finding hurts.
type severity uint8

const (
	note    severity = iota // to know
	warning                 // something is lost, but everything asked for works
	mistake                 // something that was asked for does not work
)

func severityOf(f lbmodel.Finding) severity {
	switch f.Code {
	case lbmodel.CodeOK:
		return warning
	case lbmodel.CodePending, lbmodel.CodeThrottled:
		return note
	default:
		return mistake
	}
}

// printFindings writes findings by object, worst objects first, and counts them.
func printFindings(s term.Screen, all []lbmodel.Finding) {
	if len(all) == 0 {
		return
	}
	groups := groupFindings(all)
	for _, g := range groups {
		s.Printf("%s%s\n", s.Paint(term.Bold, g.about.String()), parentOf(g.findings))
		for _, f := range g.findings {
			printFinding(s, f)
		}
		s.Println()
	}
	_, paint := markOf(groups[0].worst)
	s.Printf("%s\n\n", s.Paint(paint, countFindings(all)))
}

type findingGroup struct {
	about    lbmodel.Source
	worst    severity
	findings []lbmodel.Finding
}

func groupFindings(all []lbmodel.Finding) []findingGroup {
	var groups []findingGroup
	at, told := map[lbmodel.Source]int{}, map[lbmodel.Finding]bool{}
	for _, f := range all {
		if told[f] {
			continue
		}
		told[f] = true
		about := f.About.Object()
		if _, ok := at[about]; !ok {
			at[about] = len(groups)
			groups = append(groups, findingGroup{about: about})
		}
		g := &groups[at[about]]
		g.findings = append(g.findings, f)
		g.worst = max(g.worst, severityOf(f))
	}
	slices.SortStableFunc(groups, func(a, b findingGroup) int {
		return cmp.Or(cmp.Compare(b.worst, a.worst), cmp.Compare(a.about.String(), b.about.String()))
	})
	return groups
}

// parentOf names the gateway once, when all findings concern the same.
func parentOf(findings []lbmodel.Finding) string {
	parent := findings[0].Parent.Object()
	for _, f := range findings {
		if f.Parent.Object() != parent {
			return ""
		}
	}
	if parent == (lbmodel.Source{}) || parent == findings[0].About.Object() {
		return ""
	}
	return " at " + parent.String()
}

func printFinding(s term.Screen, f lbmodel.Finding) {
	mark, paint := markOf(severityOf(f))
	where := ""
	if f.About.Section != "" {
		where = " " + f.About.Section
	}
	s.Printf("  %s %s%s\n", s.Paint(paint, mark), s.Paint(paint, reasonOf(f)), where)
	for _, line := range term.Wrap(f.Detail, s.Width()-4) {
		s.Printf("    %s\n", line)
	}
}

func reasonOf(f lbmodel.Finding) string {
	return strings.Trim(f.Condition+"/"+f.Reason, "/")
}

func markOf(s severity) (string, term.Paint) {
	switch s {
	case mistake:
		return "✗", term.Red
	case warning:
		return "!", term.Yellow
	default:
		return "·", term.Blue
	}
}

// countFindings is "2 problems, 1 warning".
func countFindings(all []lbmodel.Finding) string {
	var n [mistake + 1]int
	for _, g := range groupFindings(all) {
		for _, f := range g.findings {
			n[severityOf(f)]++
		}
	}
	var parts []string
	for level, thing := range []string{mistake: "problem", warning: "warning", note: "note"} {
		if n[level] > 0 {
			parts = append(parts, words.Count(n[level], thing))
		}
	}
	slices.Reverse(parts)
	return strings.Join(parts, ", ")
}
