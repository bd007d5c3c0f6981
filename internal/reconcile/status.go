package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// Statuses are the patches that a pass leads to, for the gateways in it and all
// that is attached to them. Hand it the pass that Plan made and what Apply made
// of it; a plan that was not applied leaves what the status says of the cloud.
func (l *Loop) Statuses(planned, applied Pass, now time.Time) []translate.Patch {
	results := map[translate.Key]translate.Result{}
	outcomes := map[translate.Key]translate.Outcome{}
	for _, key := range keysOf(planned) {
		g, ok := l.gateways[key]
		if !ok {
			continue
		}
		results[key] = g.Result
		outcomes[key] = l.outcome(g, planned, applied)
	}
	return translate.Status(l.index, results, outcomes, metav1.NewTime(now))
}

func keysOf(pass Pass) []translate.Key {
	var out []translate.Key
	for _, g := range pass.Groups {
		out = append(out, g.Keys...)
	}
	return out
}

// groupOf is the group of a pass that a gateway is in.
func (p Pass) groupOf(key translate.Key) (Group, bool) {
	i := slices.IndexFunc(p.Groups, func(g Group) bool { return slices.Contains(g.Keys, key) })
	if i < 0 {
		return Group{}, false
	}
	return p.Groups[i], true
}

func (l *Loop) outcome(g Gateway, planned, applied Pass) translate.Outcome {
	out := translate.Outcome{Findings: g.Refused, Addresses: l.Addresses(g)}
	plan, _ := planned.groupOf(g.Key)
	out.Findings = append(slices.Clone(out.Findings), plan.Plan.Findings...)
	done, ran := applied.groupOf(g.Key)
	if ran {
		out.Failed = failures(g, done)
		out.Pending = pending(done)
	}
	out.Sync = syncOf(plan, done, ran)
	return out
}

// Addresses are those that a gateway has in the cloud, sorted. It makes no call.
func (l *Loop) Addresses(g Gateway) []lbmodel.Address {
	account := l.accounts[g.Result.Provider]
	if account == nil {
		return nil
	}
	return AddressesIn(account.Observed(g.Result.Gateway.Owner))
}

// AddressesIn are the addresses of a graph's resources, sorted.
func AddressesIn(graph lbmodel.Graph) []lbmodel.Address {
	var out []lbmodel.Address
	for _, r := range graph {
		out = append(out, r.Facts.Addresses...)
	}
	slices.SortFunc(out, func(a, b lbmodel.Address) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Routability, b.Routability))
	})
	return slices.Compact(out)
}

// failures are a group's failed steps by what they were for. A step that does not
// say concerns the whole gateway.
func failures(g Gateway, done Group) map[lbmodel.Source]error {
	out := map[lbmodel.Source]error{}
	owner := g.Result.Gateway.Owner
	for _, step := range done.Plan.Steps {
		err, failed := done.Outcome.Failed[step.ID]
		if !failed || lbmodel.CodeOf(err) == lbmodel.CodePending {
			continue
		}
		if step.Have.Owner != (lbmodel.Owner{}) && step.Have.Owner != owner {
			continue
		}
		sources := sourcesOf(step)
		if len(sources) == 0 {
			sources = []lbmodel.Source{{Kind: owner.Kind, Namespace: owner.Namespace, Name: owner.Name}}
		}
		for _, s := range sources {
			out[s] = err
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

func pending(g Group) bool {
	for _, err := range g.Outcome.Failed {
		if lbmodel.CodeOf(err) == lbmodel.CodePending {
			return true
		}
	}
	return false
}

// syncOf is how the cloud stands to what is wanted, after a pass.
func syncOf(planned, done Group, ran bool) translate.Sync {
	waiting := planned.Plan.Held.Later
	reported := slices.IndexFunc(waiting, func(w lbmodel.Wait) bool { return w.Reason == lbmodel.WaitReported })
	switch {
	case planned.Apply == v1alpha1.ApplyPlanOnly && !planned.Plan.Empty():
		return translate.Sync{Reason: translate.Drifted, Detail: fmt.Sprintf("%d steps would be done, but parameters say PlanOnly", len(planned.Plan.Steps))}
	case !ran && !planned.Plan.Empty():
		return translate.Sync{Reason: translate.ApprovalRequired, Detail: fmt.Sprintf("%d steps wait for agreement", len(planned.Plan.Steps))}
	case reported >= 0:
		return translate.Sync{Reason: translate.Drifted, Detail: waiting[reported].String()}
	case len(planned.Plan.Steps) > len(done.Plan.Steps):
		return translate.Sync{Reason: translate.ApprovalRequired, Detail: fmt.Sprintf("%d steps wait for agreement", len(planned.Plan.Steps)-len(done.Plan.Steps))}
	case ran && done.Outcome.Settled():
		return translate.Sync{Reason: translate.InSync, Detail: "what is there is what is wanted"}
	default:
		return translate.Sync{}
	}
}
