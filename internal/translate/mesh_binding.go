package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// The most that MeshBinding.status may hold, and reasons of its conditions.
const (
	maxRootStatuses  = 32
	maxBlockedGroups = 16

	reasonProgrammed      = "Programmed"
	reasonNoGateways      = "NoGateways"
	reasonRootsUnreadable = "RootsUnreadable"
	reasonConflicted      = "Conflicted"
)

// BindingStatus turns results and outcomes into the statuses of the MeshBindings,
// one patch for each that differs. Unlike those of Status they sum up, so results
// and outcomes are those of all gateways.
func BindingStatus(x *Index, results map[Key]Result, outcomes map[Key]Outcome, now metav1.Time) []Patch {
	w := &statusWriter{x: x, results: results, outcomes: outcomes, now: now, patches: map[Key]Patch{}}
	w.keys = slices.SortedFunc(maps.Keys(results), compareKeys)
	var out []Patch
	for _, b := range x.bindings() {
		sum := w.sumUp(b)
		want := b.Status.DeepCopy()
		sum.write(want)
		c := newConditions(b.Status.Conditions, b.Generation, now)
		sum.conditions(c)
		want.Conditions = c.list
		w.patch(bindingKey(b), b, &b.Status, want)
		if p, ok := w.patches[bindingKey(b)]; ok {
			out = append(out, p)
		}
	}
	return out
}

// bindingSum is what a binding came to, over all gateways.
type bindingSum struct {
	w        *statusWriter
	binding  *v1alpha1.MeshBinding
	trust    boundTrust
	selected int32
	joined   int32
	waiting  []string // who is not joined, and why
	lost     []string // backends that another binding has
	expiry   *metav1.Time
	groups   map[groupName]meshsync.Verdict // the worst of each
	outside  map[string]bool
	removing []lbmodel.Root  // live, and not published any more
	lacking  map[string]bool // published, and some gateway that uses them does not hold them: SHA256
	pending  bool            // nobody knows of some gateway which it holds, and it is not done
}

// groupName is a group of pods, whichever gateway leads to it.
type groupName struct {
	service Key
	port    int32
	key     string
}

func (w *statusWriter) sumUp(b *v1alpha1.MeshBinding) *bindingSum {
	s := &bindingSum{w: w, binding: b, groups: map[groupName]meshsync.Verdict{}, outside: map[string]bool{}, lacking: map[string]bool{}}
	if d := w.x.options.Dialects[b.Spec.ControllerName]; d != nil {
		s.trust = w.x.boundTrust(b, w.x.mesh(d))
	}
	for _, key := range w.keys {
		r := w.results[key]
		for i := range r.Meshes {
			if r.Meshes[i].Binding == bindingKey(b) && !r.Deleting {
				s.gateway(key, &r.Meshes[i])
			}
		}
	}
	return s
}

// gateway adds one gateway.
func (s *bindingSum) gateway(key Key, m *Membership) {
	s.selected++
	v := &gatewayView{w: s.w, key: key, result: s.w.results[key]}
	v.outcome, v.applied = s.w.outcomes[key]
	switch bad, known := v.membership(m, verdict{}); {
	case !known:
		s.waiting = append(s.waiting, key.path()+" has not been looked at yet")
	case bad.reason != "":
		s.waiting = append(s.waiting, fmt.Sprintf("%s: %s: %s", key.path(), bad.reason, bad.message))
	case len(m.Groups) == 0 && len(m.Lost) > 0: // another binding's member, and not this one's
	default:
		s.joined++
	}
	if leaf, ok := v.outcome.Leaves[m.Identity]; ok && (s.expiry == nil || leaf.NotAfter.Before(s.expiry.Time)) {
		s.expiry = &metav1.Time{Time: leaf.NotAfter}
	}
	s.live(v, m)
	for _, g := range m.Groups {
		name := groupName{g.Service, g.Port, g.Group.Key}
		if have, ok := s.groups[name]; !ok || have.Path != meshsync.Blocked && g.Verdict.Path == meshsync.Blocked {
			s.groups[name] = g.Verdict
		}
	}
	s.lost = append(s.lost, m.Lost...)
	for _, backend := range m.Outside {
		s.outside[backend] = true
	}
}

// live adds the roots that a gateway holds.
func (s *bindingSum) live(v *gatewayView, m *Membership) {
	held := v.outcome.Roots[m.Trust.Name]
	if v.outcome.Roots == nil {
		s.pending = s.pending || !v.applied || v.outcome.Pending || v.outcome.Failed[m.Trust.Source] != nil
	} else if slices.ContainsFunc(v.result.Gateway.Trust, func(t lbmodel.Trust) bool { return t.Name == m.Trust.Name }) {
		for _, root := range s.trust.trust.Roots {
			if !hasRoot(held, root) {
				s.lacking[root.SHA256] = true
			}
		}
	}
	for _, root := range held {
		if !hasRoot(s.trust.trust.Roots, root) {
			s.removing = append(s.removing, root)
		}
	}
}

func hasRoot(roots []lbmodel.Root, root lbmodel.Root) bool {
	return slices.ContainsFunc(roots, func(r lbmodel.Root) bool { return r.SHA256 == root.SHA256 })
}

// write fills in all but the conditions.
func (s *bindingSum) write(out *v1alpha1.MeshBindingStatus) {
	out.Gateways = v1alpha1.GatewayCounts{Selected: s.selected, Joined: s.joined, NextExpiry: s.expiry}
	out.Groups = v1alpha1.GroupCounts{NotMeshed: int32(len(s.outside))}
	for _, v := range s.groups {
		switch {
		case v.Path == meshsync.Blocked:
			out.Groups.Blocked++
		case v.Path == meshsync.LandingPad:
			out.Groups.LandingPad++
		case v.BackendTLS == nil:
			out.Groups.NotMeshed++
		default:
			out.Groups.Direct++
		}
	}
	out.Roots, out.Blocked = s.roots(out.Roots), s.blocked()
}

// roots are those of the binding. What cannot be read stays as it was told.
func (s *bindingSum) roots(have []v1alpha1.RootStatus) (out []v1alpha1.RootStatus) {
	if s.trust.trust.Unknown {
		return have
	}
	add := func(r lbmodel.Root, state v1alpha1.RootState) {
		known := slices.ContainsFunc(out, func(o v1alpha1.RootStatus) bool { return o.SHA256 == r.SHA256 })
		if !known && len(out) < maxRootStatuses {
			out = append(out, v1alpha1.RootStatus{SHA256: r.SHA256, NotAfter: metav1.NewTime(r.NotAfter), State: state})
		}
	}
	for _, r := range s.trust.trust.Roots {
		trusted := slices.ContainsFunc(have, func(h v1alpha1.RootStatus) bool { return h.SHA256 == r.SHA256 && h.State == v1alpha1.RootTrusted })
		if s.lacking[r.SHA256] || s.pending && !trusted {
			add(r, v1alpha1.RootAdding)
		} else {
			add(r, v1alpha1.RootTrusted)
		}
	}
	slices.SortFunc(s.removing, func(a, b lbmodel.Root) int { return strings.Compare(a.SHA256, b.SHA256) })
	for _, r := range s.removing {
		add(r, v1alpha1.RootRemoving)
	}
	return out
}

// blocked are the first Service ports that traffic cannot reach, worst first.
func (s *bindingSum) blocked() (out []v1alpha1.BlockedGroup) {
	type port struct {
		service Key
		port    int32
	}
	verdicts := map[port][]meshsync.Verdict{}
	for name, v := range s.groups {
		if v.Path == meshsync.Blocked {
			at := port{name.service, name.port}
			verdicts[at] = append(verdicts[at], v)
		}
	}
	for at, list := range verdicts {
		out = append(out, v1alpha1.BlockedGroup{Service: at.service.path(), Port: at.port, Reason: string(meshsync.WorstReason(list))})
	}
	slices.SortFunc(out, func(a, b v1alpha1.BlockedGroup) int {
		return cmp.Or(compareReasons(a.Reason, b.Reason), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Port, b.Port))
	})
	// The list's key is service and port, and an XBackend may be named as a Service.
	seen := map[v1alpha1.BlockedGroup]bool{}
	out = slices.DeleteFunc(out, func(g v1alpha1.BlockedGroup) bool {
		g.Reason = ""
		again := seen[g]
		seen[g] = true
		return again
	})
	return out[:min(len(out), maxBlockedGroups)]
}

// compareReasons puts the worse reason first.
func compareReasons(a, b string) int {
	if a == b {
		return 0
	}
	verdicts := []meshsync.Verdict{{Path: meshsync.Blocked, Reason: meshsync.Reason(a)}, {Path: meshsync.Blocked, Reason: meshsync.Reason(b)}}
	if string(meshsync.WorstReason(verdicts)) == a {
		return -1
	}
	return 1
}

func (s *bindingSum) conditions(c *conditionList) {
	accepted := yes(condAccepted, "")
	reason, problem := s.w.x.bindingProblem(s.binding)
	if problem != "" {
		accepted = no(reason, problem)
	}
	c.set(condAccepted, accepted)
	resolved := yes(condResolvedRefs, "")
	if len(s.trust.problems) > 0 {
		resolved = no(reasonRootsUnreadable, strings.Join(s.trust.problems, "; ")+"; the gateways keep the roots that they have")
	}
	if reason != reasonUnknownMesh {
		c.set(condResolvedRefs, resolved)
	} else {
		c.remove(condResolvedRefs)
	}
	c.set(condProgrammed, s.programmed(problem))
}

func (s *bindingSum) programmed(problem string) verdict {
	slices.Sort(s.lost)
	lost := slices.Compact(s.lost)
	switch {
	case problem != "":
		return no(reasonInvalid, "the MeshBinding is not accepted")
	case s.selected == 0:
		return no(reasonNoGateways, "spec.gateways.namespaceSelector selects no namespace with a Gateway of ours")
	case len(s.waiting) > 0:
		return no(reasonPending, several(s.waiting))
	case len(lost) > 0:
		return no(reasonConflicted, "backends that another MeshBinding has, which comes first by name: "+several(lost))
	default:
		return yes(reasonProgrammed, "")
	}
}
