package approval

import (
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// keptSteps is how many steps of an approved plan its object may keep: the limit of
// status.running.steps.
const keptSteps = 1024

// Memory remembers the steps of approved plans until they are done. What it knows
// of an object it may have from that object's plan ([Approval.Running]), which
// outlives the process. The zero value is ready, and safe for use by several
// goroutines.
type Memory struct {
	mu sync.Mutex
	// grants has an entry without a hash where an approval is used up: what a plan's
	// status says of it is old.
	grants map[types.UID]grant
}

// grant is an approval that is being used.
type grant struct {
	hash  string
	total int
	steps map[string]bool // by digest, in hex; fewer than total when they were not kept
}

func grantOf(gated lbmodel.Plan) grant {
	out := grant{hash: Hash(gated), total: len(gated.Steps), steps: map[string]bool{}}
	for _, s := range gated.Steps {
		out.steps[digestText(s)] = true
	}
	return out
}

func recalled(running *v1alpha1.ApprovedPlan) grant {
	out := grant{hash: running.Hash, total: int(running.Total), steps: map[string]bool{}}
	for _, s := range running.Steps {
		out.steps[s] = true
	}
	return out
}

func digestText(s lbmodel.Step) string {
	d := digest(s)
	return hex.EncodeToString(d[:])
}

// covers says whether every step was approved.
func (g grant) covers(gated lbmodel.Plan) bool {
	return !slices.ContainsFunc(gated.Steps, func(s lbmodel.Step) bool { return !g.steps[digestText(s)] })
}

// Policy is the function [Policy] for one object, but for what it remembers: what
// is left of an approved plan is approved.
func (m *Memory) Policy(of types.UID, mode v1alpha1.ApplyMode, given Approval) lbmodel.Policy {
	hold := gate(mode)
	return func(p lbmodel.Plan, now time.Time) lbmodel.Plan {
		held := hold(p, now)
		gated := lbmodel.HeldBack(p, held)
		if len(gated.Steps) == 0 || given.Hash == "" || mode == v1alpha1.ApplyPlanOnly {
			m.drop(of, given)
			return held
		}
		if m.approved(of, given, gated) {
			return p
		}
		return held
	}
}

// Running is the approved plan of an object that is being carried out, as its
// status keeps it; nil is none.
func (m *Memory) Running(of types.UID) *v1alpha1.ApprovedPlan {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.grants[of]
	if g.hash == "" {
		return nil
	}
	out := &v1alpha1.ApprovedPlan{Hash: g.hash, Total: int32(g.total)}
	if len(g.steps) > keptSteps {
		return out
	}
	for s := range g.steps {
		out.Steps = append(out.Steps, s)
	}
	slices.Sort(out.Steps)
	return out
}

// Done says that an approved plan of an object is carried out: the approval is used
// up, but for the very same plan.
func (m *Memory) Done(of types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.grants[of]; there {
		m.grants[of] = grant{}
	}
}

// Forget drops what is remembered of an object that is gone.
func (m *Memory) Forget(of types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.grants, of)
}

// drop ends an approval, whatever an old status goes on to say.
func (m *Memory) drop(of types.UID, given Approval) {
	if given.Running == nil {
		m.Forget(of)
		return
	}
	m.remember(of, grant{})
}

func (m *Memory) remember(of types.UID, g grant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.grants == nil {
		m.grants = map[types.UID]grant{}
	}
	m.grants[of] = g
}

// approved says whether a plan is approved, and remembers one that is.
func (m *Memory) approved(of types.UID, given Approval, gated lbmodel.Plan) bool {
	m.mu.Lock()
	have, known := m.grants[of]
	m.mu.Unlock()
	switch {
	case Hash(gated) == given.Hash:
		have = grantOf(gated)
		m.remember(of, have)
	case !known && given.Running != nil:
		have = recalled(given.Running)
		m.remember(of, have)
	}
	return have.hash == given.Hash && have.covers(gated)
}
