package istio

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
)

var authorizationPolicy = schema.GroupKind{Group: "security.istio.io", Kind: "AuthorizationPolicy"}

var _ meshsync.Authorizer = Dialect{}

// Permits implements meshsync.Authorizer.
func (Dialect) Permits() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{authorizationPolicy.WithVersion("v1"), authorizationPolicy.WithVersion("v1beta1")}
}

// Allow implements meshsync.Authorizer: a DENY policy that matches refuses, whatever
// else there is; no ALLOW policy lets in everybody, and the first one shuts out whom
// none of them names.
func (d Dialect) Allow(w meshsync.World, m meshsync.Mesh, e meshsync.Entry) meshsync.Allowance {
	s, ok := m.Settings.(Settings)
	if !ok {
		m = d.Mesh(w)
		s, _ = m.Settings.(Settings)
	}
	a := admission{caller: callerOf(m, e)}
	_, s, _ = d.seenBy(w, m, s, e.Pod)
	for _, ns := range slices.Compact([]string{s.Root, e.Pod.Namespace}) {
		for _, o := range w.Objects(authorizationPolicy, ns) {
			if !ofOthers(o.Object, e.Pod.Labels) {
				a.take(readAccess(o), e.Pod)
			}
		}
	}
	return a.allowance(e)
}

// allowance sums up, in the order in which Istio looks at policies.
func (a *admission) allowance(e meshsync.Entry) meshsync.Allowance {
	hangs := "It hangs on more than who the gateway is: " + strings.Join(slices.Concat(a.doubts, a.conditions), ", ") + "."
	switch {
	case a.refuses != "":
		return meshsync.Allowance{Need: meshsync.Needed, Why: a.refuses + " denies it, and no policy lets in what another one denies: except the gateway there."}
	case len(a.doubts) > 0 && (len(a.allowing) == 0 || a.admits != ""):
		return meshsync.Allowance{Need: meshsync.NeedUnknown, Why: hangs}
	case len(a.allowing) == 0:
		return meshsync.Allowance{Need: meshsync.NotNeeded, Why: "No AuthorizationPolicy with action ALLOW selects the pods: everybody is let in, and the first one would shut all others out."}
	case a.admits != "":
		return meshsync.Allowance{Need: meshsync.NotNeeded, Why: a.admits + " lets it in."}
	}
	out := meshsync.Allowance{Need: meshsync.Needed, Why: a.allowing[0].name + " selects the pods, and no policy names the gateway."}
	if len(a.doubts)+len(a.conditions) > 0 {
		out = meshsync.Allowance{Need: meshsync.NeedUnknown, Why: hangs}
	}
	if len(a.caller.principals) == 0 {
		if out.Need == meshsync.NeedUnknown {
			return out
		}
		return meshsync.Nameless(a.allowing[0].name + " lets in only whom it names")
	}
	out.Offers = []meshsync.Offer{a.offer(e)}
	return out
}

// offer selects no pod that is not under an ALLOW policy already: there it would shut
// out everybody else.
func (a *admission) offer(e meshsync.Entry) meshsync.Offer {
	g := Grant{
		Namespace: e.Pod.Namespace, Selector: e.Port.Service.Spec.Selector, Port: e.Port.Target,
		Name:       fmt.Sprintf("%s-%s-%d", e.Client.Account.Name, e.Port.Service.Name, e.Port.Target),
		Principals: []string{strings.TrimPrefix(e.Client.SPIFFEID, spiffe)},
	}
	all := slices.ContainsFunc(a.allowing, func(p access) bool { return len(p.selector) == 0 })
	if first := a.allowing[0]; !all || len(g.Selector) == 0 {
		g.Selector = first.selector
		g.Name += "-" + first.object
	}
	return meshsync.Offer{
		Say:  fmt.Sprintf("Lets Gateway %s in at port %d of Service %s/%s, beside what is there.", e.Client.Name, g.Port, e.Port.Service.Namespace, e.Port.Service.Name),
		YAML: Authorization(g),
	}
}

// Grant is whom pods should let in.
type Grant struct {
	Namespace, Name string
	Selector        map[string]string // none: all pods of the namespace
	Port            int32             // the pods' own; 0 is all
	Principals      []string          // identities without their scheme
}

// Authorization is the AuthorizationPolicy that lets gateways in. It is an offer, for
// whoever owns the pods. It is needed only where another ALLOW policy selects the pods
// already; where none does, everybody is let in, and the first one shuts all others out.
func Authorization(g Grant) string {
	var principals []any
	for _, p := range slices.Sorted(slices.Values(g.Principals)) {
		principals = append(principals, p)
	}
	rule := map[string]any{"from": []any{map[string]any{"source": map[string]any{"principals": principals}}}}
	if g.Port != 0 {
		rule["to"] = []any{map[string]any{"operation": map[string]any{"ports": []any{fmt.Sprint(g.Port)}}}}
	}
	spec := map[string]any{"action": "ALLOW", "rules": []any{rule}}
	if len(g.Selector) > 0 {
		labels := map[string]any{}
		for k, v := range g.Selector {
			labels[k] = v
		}
		spec["selector"] = map[string]any{"matchLabels": labels}
	}
	return documents(map[string]any{
		"apiVersion": "security.istio.io/v1", "kind": authorizationPolicy.Kind,
		"metadata": map[string]any{"namespace": g.Namespace, "name": g.Name}, "spec": spec,
	})
}
