package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// share is what of a group's plan and run is one gateway's business. Gateways
// share a plan for the sake of order; the status of each is about itself alone.
type share struct {
	gateway       Gateway
	planned, done Group
	ran           bool // done is what became of planned
	mine          map[lbmodel.ID]bool
	wayOut        string // how to approve what waits; "" is not known
	outdated      int    // Loop.outdated
}

// mostOutdated is how many passes in a row may find that something has changed since
// their plan was made, before anybody is told: the next one follows in seconds and
// usually fits, as when a pod is replaced meanwhile.
const mostOutdated = 2

// count notes for whom the plan of a group was too old. Loop.mu is held.
func (l *Loop) count(g Group) {
	old := slices.DeleteFunc(slices.Collect(maps.Keys(g.Outcome.Failed)), func(id lbmodel.ID) bool { return !lbmodel.Outdated(g.Outcome.Failed[id]) })
	var concerns map[lbmodel.Owner]map[lbmodel.ID]bool
	if len(old) > 0 {
		concerns = g.Plan.Concerns()
	}
	for _, key := range g.Keys {
		mine := concerns[l.gateways[key].Result.Gateway.Owner]
		if slices.ContainsFunc(old, func(id lbmodel.ID) bool { return mine[id] }) {
			l.outdated[key]++
		} else {
			delete(l.outdated, key)
		}
	}
}

// unfinished is what the run left undone: the error of each failed step, nil for
// those that were never tried because of one.
func (s share) unfinished() map[lbmodel.ID]error {
	if !s.ran || s.done.Outcome.Settled() {
		return nil
	}
	out := map[lbmodel.ID]error{}
	for _, id := range s.done.Outcome.Blocked {
		if s.mine[id] {
			out[id] = nil
		}
	}
	for id, err := range s.done.Outcome.Failed {
		if !s.mine[id] {
			continue
		}
		if lbmodel.Outdated(err) && s.outdated <= mostOutdated {
			err = lbmodel.Errorf(lbmodel.CodeUnavailable, "", id, "%w", err) // what is said of the cloud stays for a moment
		}
		out[id] = err
	}
	return out
}

// failures are the failed steps by what they were for. A step that does not say
// concerns the whole gateway.
func (s share) failures(left map[lbmodel.ID]error) map[lbmodel.Source]error {
	return s.bySource(left, func(code lbmodel.Code) bool { return code != lbmodel.CodePending })
}

// awaited are those that are accepted and not done, likewise.
func (s share) awaited(left map[lbmodel.ID]error) map[lbmodel.Source]error {
	return s.bySource(left, func(code lbmodel.Code) bool { return code == lbmodel.CodePending })
}

func (s share) bySource(left map[lbmodel.ID]error, take func(lbmodel.Code) bool) map[lbmodel.Source]error {
	out := map[lbmodel.Source]error{}
	owner := s.gateway.Result.Gateway.Owner
	for _, step := range s.done.Plan.Steps {
		err := left[step.ID]
		if err == nil || !take(lbmodel.CodeOf(err)) {
			continue
		}
		sources := sourcesOf(step)
		if len(sources) == 0 {
			sources = []lbmodel.Source{{Kind: owner.Kind, Namespace: owner.Namespace, Name: owner.Name}}
		}
		for _, source := range sources {
			out[source] = err
		}
	}
	return out
}

func sourcesOf(step lbmodel.Step) []lbmodel.Source {
	for _, spec := range []lbmodel.Spec{step.Want, step.Have.Spec} {
		if s, ok := spec.(lbmodel.Sourced); ok {
			return s.Sources()
		}
	}
	return nil
}

func pending(left map[lbmodel.ID]error) bool {
	for _, err := range left {
		if lbmodel.CodeOf(err) == lbmodel.CodePending {
			return true
		}
	}
	return false
}

// sync is how the cloud stands to what the gateway wants.
func (s share) sync(left map[lbmodel.ID]error) translate.Sync {
	steps := s.steps(s.planned)
	if s.ran {
		steps -= s.steps(s.done)
	}
	switch reported := s.reported(); {
	case s.gateway.Paused:
		return translate.Sync{Reason: translate.Paused, Detail: "nothing is changed and nothing is deleted: remove the annotation " + PausedAnnotation + " to go on"}
	case s.gateway.Result.Deleting && s.gateway.Result.Parameters.Deletion == v1alpha1.DeletionProtect:
		return translate.Sync{Reason: translate.Protected, Detail: "it is to be deleted, and its parameters say deletion: Protect: nothing goes before they say Delete or Retain"}
	case steps > 0 && s.planned.Apply == v1alpha1.ApplyPlanOnly:
		return translate.Sync{Reason: translate.Drifted, Detail: fmt.Sprintf("%d steps would be done, but parameters say PlanOnly", steps)}
	case steps > 0:
		return translate.Sync{Reason: translate.ApprovalRequired, Detail: s.withWayOut(fmt.Sprintf("%d steps wait for agreement", steps))}
	case reported != "":
		return translate.Sync{Reason: translate.Drifted, Detail: reported}
	case !s.ran:
		return translate.Sync{}
	case len(left) > 0:
		return syncOf(left)
	default:
		return s.waiting()
	}
}

func (s share) withWayOut(what string) string {
	if s.wayOut == "" {
		return what
	}
	return strings.TrimSuffix(what, ".") + "; " + s.wayOut
}

// waiting is in sync, unless something that is wanted waits.
func (s share) waiting() translate.Sync {
	for _, w := range s.done.Outcome.Held.Later {
		switch {
		case !s.mine[w.ID] || !w.Unmet():
		case w.Reason == lbmodel.WaitApproval:
			return translate.Sync{Reason: translate.ApprovalRequired, Detail: s.withWayOut(w.String())}
		case w.Reason == lbmodel.WaitRefused:
			return translate.Sync{Reason: translate.NotAccepted, Detail: w.String()}
		case w.Reason == lbmodel.WaitProbe:
			return translate.Sync{Reason: translate.Unproven, Detail: w.String()}
		default:
			return translate.Sync{Reason: translate.Unfinished, Detail: w.String()}
		}
	}
	return translate.Sync{Reason: translate.InSync, Detail: "what is there is what is wanted"}
}

// steps counts those of the group's plan that are the gateway's business.
func (s share) steps(g Group) (n int) {
	for _, step := range g.Plan.Steps {
		if s.mine[step.ID] {
			n++
		}
	}
	return n
}

// reported is the first change by others that parameters say to report only.
func (s share) reported() string {
	for _, w := range s.planned.Plan.Held.Later {
		if w.Reason == lbmodel.WaitReported && s.mine[w.ID] {
			return w.String()
		}
	}
	return ""
}

// syncOf tells the first failure that is more than a cloud's bad moment. Of such a
// moment it tells in words that are the same at every try: what waits is not in sync,
// and how much waits is no news.
func syncOf(left map[lbmodel.ID]error) translate.Sync {
	var moment translate.Sync
	for _, id := range slices.SortedFunc(maps.Keys(left), lbmodel.ID.Compare) {
		switch code := lbmodel.CodeOf(left[id]); {
		case code == lbmodel.CodeOK, code == lbmodel.CodeThrottled, code == lbmodel.CodeUnavailable && lbmodel.Outdated(left[id]):
		case code == lbmodel.CodeUnavailable:
			moment = translate.Sync{Reason: translate.Unfinished, Detail: fmt.Sprintf("not all changes are done: the cloud does not answer (%s); they are tried again", code)}
		default:
			return translate.Sync{Reason: translate.Unfinished, Detail: fmt.Sprintf("%d changes are not done yet; %v", len(left), left[id])}
		}
	}
	return moment
}
