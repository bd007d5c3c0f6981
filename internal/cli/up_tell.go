package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// shownObjects are told in a row; more are counted.
const shownObjects = 5

// tellProblems says what is newly wrong with the files, and what is repaired.
func (s *server) tellProblems(now []manifest.Problem) {
	for _, p := range now {
		if !slices.Contains(s.told.problems, p) {
			s.say(term.Red, "✗", "%s", p)
		}
	}
	over := map[string]bool{}
	for _, p := range s.told.problems {
		place := strings.TrimSpace(p.File + " " + p.Object.String())
		if !over[place] && !slices.ContainsFunc(now, func(q manifest.Problem) bool { return q.File == p.File && q.Object == p.Object }) {
			over[place] = true
			s.say(term.Green, "✓", "repaired or removed: %s", place)
		}
	}
	if len(now) > 0 && len(s.told.problems) == 0 {
		s.say(term.Yellow, "!", "what cannot be read keeps its last good version, and nothing is removed for being absent")
	}
	s.told.problems = now
}

// tellRemoved says what the files do not have any more.
func (s *server) tellRemoved(gone []translate.Key) {
	if len(gone) > 0 {
		s.say(term.Yellow, "−", "no longer in the files, so removed: %s", joinObjects(gone))
	}
}

// tellLeaving says of each gateway that is given up why.
func (s *server) tellLeaving(before []reconcile.Gateway) {
	for _, g := range before {
		if _, still := s.engine.loop.Gateway(g.Key); still {
			continue
		}
		why := "its Gateway is no longer there"
		if b := s.engine.loop.Index().Belonging(g.Key); b.Exists {
			why = fmt.Sprintf("its GatewayClass %s names the controller %s, which is not ours", b.Class, b.Controller)
		}
		fate := "is given up"
		if d := cmp.Or(g.Result.Parameters.Deletion, v1alpha1.DeletionDelete); d != v1alpha1.DeletionDelete {
			fate = fmt.Sprintf("goes on as it is (deletion: %s) and is managed no more", d)
		}
		s.say(term.Yellow, "−", "%s %s: %s", g.Key, fate, why)
	}
}

// tellFindings says what is new and what is over.
func (s *server) tellFindings() {
	now := s.findings()
	for _, f := range missing(now, s.told.findings) {
		mark, paint := markOf(severityOf(f))
		s.say(paint, mark, "%s %s: %s", f.About, reasonOf(f), f.Detail)
	}
	for _, f := range missing(s.told.findings, now) {
		s.say(term.Green, "✓", "over: %s %s", f.About, reasonOf(f))
	}
	s.told.findings = now
}

// missing are the findings of some that are not among others.
func missing(some, others []lbmodel.Finding) []lbmodel.Finding {
	there := make(map[lbmodel.Finding]bool, len(others))
	for _, f := range others {
		there[f] = true
	}
	return slices.DeleteFunc(slices.Clone(some), func(f lbmodel.Finding) bool { return there[f] })
}

// tellWaits says what is wanted and is not there because it waits.
func (s *server) tellWaits(done reconcile.Pass) {
	var now []string
	for _, g := range done.Groups {
		for _, w := range g.Outcome.Held.Later {
			if w.Unmet() {
				now = append(now, waitText(w))
			}
		}
	}
	fresh := slices.DeleteFunc(slices.Clone(now), func(text string) bool { return slices.Contains(s.told.waits, text) })
	for i, text := range fresh {
		if i == shownObjects {
			s.say(term.Yellow, "!", "and %d more wait", len(fresh)-i)
			break
		}
		s.say(term.Yellow, "!", "%s", text)
	}
	s.told.waits = now
}

// waitText says that something waits, once: some reasons begin with it.
func waitText(w lbmodel.Wait) string {
	if strings.HasPrefix(w.Why, "waits") {
		return w.String()
	}
	return "waits: " + w.String()
}

// tellTrouble says of a backend that it fails, and why its clients get a plain 502.
func (s *server) tellTrouble(t Trouble) {
	if t.Over {
		s.say(term.Green, "✓", "%s", t.Text)
		return
	}
	s.say(term.Red, "✗", "%s", t.Text)
}

func joinObjects(keys []translate.Key) string {
	var names []string
	for i, key := range keys {
		if i == shownObjects {
			names = append(names, words.Count(len(keys)-i, "more object"))
			break
		}
		names = append(names, key.String())
	}
	return strings.Join(names, ", ")
}

func compareNames(a, b translate.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// withWayOut adds to what the system says of a port what can be done about it.
func withWayOut(text string) string {
	switch {
	case strings.Contains(text, "address already in use"):
		return text + ". Another program listens there (ss -ltnup shows which): stop it, or give the listener another port"
	case strings.Contains(text, "cannot assign requested address"):
		return text + ". This machine does not have the address: choose an addressPool that it has, such as one of 127.0.0.0/8"
	case strings.Contains(text, "permission denied"):
		return text + ". Ports below 1024 need a privilege: give the listener a higher port, or the program the privilege"
	default:
		return text
	}
}
