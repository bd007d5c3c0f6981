package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/meshsync"
)

// ServiceTLS says on each Service that members of meshes lead to how they reach it:
// the condition <provider>.gatehouse.dev/BackendTLS, merged over all gateways of a
// provider, with path, level and names. Like BindingStatus it sums up, so results are
// those of all gateways; a Service that none of them leads to any more loses the
// condition.
func ServiceTLS(x *Index, results map[Key]Result, now metav1.Time) []Patch {
	w := &statusWriter{x: x, results: results, now: now, patches: map[Key]Patch{}}
	w.keys = slices.SortedFunc(maps.Keys(results), compareKeys)
	uses := w.serviceUses()
	for key, svc := range w.toldServices(uses) {
		c := newConditions(svc.Status.Conditions, svc.Generation, now)
		for _, have := range svc.Status.Conditions {
			if provider, is := tellsBackendTLS(have.Type); is && x.options.serves(provider) && len(uses[key][provider]) == 0 {
				c.remove(have.Type)
			}
		}
		for _, provider := range slices.Sorted(maps.Keys(uses[key])) {
			c.set(serviceCondition(provider, CondBackendTLS), serviceTLS(uses[key][provider]))
		}
		want := svc.Status.DeepCopy()
		if want.Conditions = c.list; len(c.list) == 0 {
			want.Conditions = nil
		}
		w.patch(key, svc, &svc.Status, want)
	}
	out := slices.Collect(maps.Values(w.patches))
	slices.SortFunc(out, func(a, b Patch) int { return compareKeys(a.Key, b.Key) })
	return out
}

func tellsBackendTLS(kind string) (provider string, ok bool) {
	return strings.CutSuffix(kind, serviceCondition("", CondBackendTLS))
}

// serviceUses are the groups of pods behind each Service as members reach them, by
// provider.
func (w *statusWriter) serviceUses() map[Key]map[string][]MeshGroup {
	out := map[Key]map[string][]MeshGroup{}
	for _, key := range w.keys {
		r := w.results[key]
		for i := range r.Meshes {
			for _, g := range r.Meshes[i].Groups {
				if r.Gone || r.Deleting || g.Service.Kind != KindService {
					continue
				}
				if out[g.Service] == nil {
					out[g.Service] = map[string][]MeshGroup{}
				}
				out[g.Service][r.Provider] = append(out[g.Service][r.Provider], g)
			}
		}
	}
	return out
}

// toldServices are those that are used, and those of which something is told.
func (w *statusWriter) toldServices(uses map[Key]map[string][]MeshGroup) map[Key]*corev1.Service {
	out := map[Key]*corev1.Service{}
	for key, v := range w.x.graph.all() {
		svc, is := v.obj.(*corev1.Service)
		told := is && slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
			_, tells := tellsBackendTLS(c.Type)
			return tells
		})
		if told || is && uses[key] != nil {
			out[key] = svc
		}
	}
	return out
}

// serviceTLS is the condition: the worst of what gateways meet, and all of it.
func serviceTLS(groups []MeshGroup) verdict {
	slices.SortStableFunc(groups, func(a, b MeshGroup) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Group.Key, b.Group.Key))
	})
	var says []string
	var verdicts []meshsync.Verdict
	plain, losses := false, false
	for _, g := range groups {
		says = appendNew(says, g.reached())
		seen, _ := g.seen()
		verdicts = append(verdicts, seen)
		direct := g.Verdict.Path != meshsync.Blocked
		plain = plain || direct && g.Verdict.BackendTLS == nil && !g.Verdict.OwnTLS
		losses = losses || direct && len(g.Verdict.Losses) > 0
	}
	worst, message := meshsync.WorstReason(verdicts), several(says)
	switch {
	case worst != "":
		return no(string(worst), message)
	case plain:
		return no(reasonNotMeshed, message)
	case losses:
		return yes(reasonProtectedWithLosses, message)
	default:
		return yes(reasonProtected, message)
	}
}

// whose names a group without its pods: a status that counts them is written whenever
// one comes or goes.
func (g MeshGroup) whose() string {
	switch {
	case g.Verdict.Membership == meshsync.NotMeshed:
		return "pods outside of the mesh"
	case len(g.Group.Accounts) == 0:
		return "pods that are not known"
	}
	names := make([]string, len(g.Group.Accounts))
	for i, a := range g.Group.Accounts {
		names[i] = a.Name
	}
	return "ServiceAccount " + several(names)
}

// reached says by which path and at which level a group is reached, and who its
// certificates must name.
func (g MeshGroup) reached() string {
	v := g.Verdict
	out := fmt.Sprintf("port %d, %s: %s", g.Port, g.whose(), v.Path)
	switch {
	case v.Path == meshsync.Blocked:
		return out + " " + string(v.Reason)
	case v.OwnTLS:
		return out + " with the application's own TLS"
	case v.BackendTLS == nil:
		return out + " in plain text"
	}
	out += levelText(v)
	var names []string
	for _, san := range v.BackendTLS.SANs {
		names = append(names, san.Value)
	}
	if len(names) == 0 && v.BackendTLS.SNI != "" {
		names = []string{v.BackendTLS.SNI}
	}
	if len(names) > maxNamed {
		names = append(slices.Clone(names[:maxNamed]), fmt.Sprintf("and %d more", len(names)-maxNamed))
	}
	if len(names) > 0 {
		out += " as " + strings.Join(names, ", ")
	}
	return strings.Join(append([]string{out}, g.besides()...), "; ")
}

// BackendTLSOf are the conditions on a Service that ServiceTLS keeps, of all providers.
func BackendTLSOf(svc *corev1.Service) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(svc.Status.Conditions), func(c metav1.Condition) bool {
		_, tells := tellsBackendTLS(c.Type)
		return !tells
	})
}
