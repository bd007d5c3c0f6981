package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"slices"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// Policy keeps back what a mode gates, all of it or none: none when approved is the
// [Hash] of what is gated. Under PlanOnly nothing is ever approved.
func Policy(mode v1alpha1.ApplyMode, approved string) lbmodel.Policy {
	return new(Memory).Policy("", mode, Approval{Hash: approved})
}

// gate is the policy of a mode for what nobody has approved.
func gate(mode v1alpha1.ApplyMode) lbmodel.Policy {
	switch mode {
	case v1alpha1.ApplyPlanOnly:
		return lbmodel.ReportStructure
	case v1alpha1.ApplyApprove:
		return lbmodel.HoldStructure
	default:
		return lbmodel.HoldDisruptive
	}
}

// Hash identifies what there is to approve in a plan: the SHA-256, in hex, of its
// steps by ID, without those that flow and without what flows in the others. Empty
// when there is nothing.
func Hash(p lbmodel.Plan) string {
	steps := slices.DeleteFunc(slices.Clone(p.Steps), lbmodel.Step.Flows)
	if len(steps) == 0 {
		return ""
	}
	slices.SortFunc(steps, func(a, b lbmodel.Step) int { return a.ID.Compare(b.ID) })
	all := sha256.New()
	for _, s := range steps {
		d := digest(s)
		all.Write(d[:])
	}
	return hex.EncodeToString(all.Sum(nil))
}

// digest identifies one step by what it does. Its cause depends on what the process
// remembers, and its place on the other steps; neither is part of it.
func digest(s lbmodel.Step) lbmodel.Digest {
	doc := lbmodel.Plan{Steps: []lbmodel.Step{s.Structure()}}.Document().Steps[0]
	doc.Cause, doc.Why, doc.WaitsFor = "", "", nil
	text, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("approval: step %s cannot be encoded: %v", s.ID, err)) // its spec was encoded already
	}
	return sha256.Sum256(text)
}
