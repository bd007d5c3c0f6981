package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// Policy keeps back what a mode gates, all of it or none: none when approved is the
// [Hash] of what is gated. Under PlanOnly nothing is ever approved.
func Policy(mode v1alpha1.ApplyMode, approved string) lbmodel.Policy {
	return new(Memory).Policy("", mode, approved)
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

// Memory remembers the steps of approved plans until they are done. The zero value
// is ready, and safe for use by several goroutines.
type Memory struct {
	mu     sync.Mutex
	grants map[types.UID]grant
}

// grant is an approval that is being used.
type grant struct {
	hash  string
	steps map[lbmodel.Digest]bool
}

// Policy is the function [Policy] for one gateway, but for what it remembers: what
// is left of an approved plan is approved.
func (m *Memory) Policy(gateway types.UID, mode v1alpha1.ApplyMode, approved string) lbmodel.Policy {
	hold := gate(mode)
	return func(p lbmodel.Plan, now time.Time) lbmodel.Plan {
		held := hold(p, now)
		gated := lbmodel.HeldBack(p, held)
		if len(gated.Steps) == 0 || approved == "" || mode == v1alpha1.ApplyPlanOnly {
			m.Forget(gateway)
			return held
		}
		if m.approved(gateway, approved, gated) {
			return p
		}
		return held
	}
}

// Forget drops what is remembered of a gateway: it is gone.
func (m *Memory) Forget(gateway types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.grants, gateway)
}

// approved says whether a plan is approved, and remembers one that is.
func (m *Memory) approved(gateway types.UID, hash string, gated lbmodel.Plan) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	given := m.grants[gateway]
	if Hash(gated) == hash {
		given = grant{hash: hash, steps: map[lbmodel.Digest]bool{}}
		for _, s := range gated.Steps {
			given.steps[digest(s)] = true
		}
		if m.grants == nil {
			m.grants = map[types.UID]grant{}
		}
		m.grants[gateway] = given
	}
	return given.hash == hash &&
		!slices.ContainsFunc(gated.Steps, func(s lbmodel.Step) bool { return !given.steps[digest(s)] })
}
