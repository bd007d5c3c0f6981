package istio

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// dryRun is the annotation of a policy that is only tried out.
const dryRun = "istio.io/dry-run"

// access is an AuthorizationPolicy.
type access struct {
	name, object string // for people, and metadata.name
	selector     map[string]string
	dry          bool // it decides nothing, and only logs what it would
	targets      bool // it is about gateways and waypoints that it names, and no sidecar
	action       string
	rules        []any
	problem      string
}

// ofOthers says that a policy's selector names other pods for sure. A namespace may have
// a policy for each of its workloads, and to read one costs many times as much.
func ofOthers(policy map[string]any, labels map[string]string) bool {
	spec, _ := policy["spec"].(map[string]any)
	selector, _ := spec["selector"].(map[string]any)
	wanted, _ := selector["matchLabels"].(map[string]any)
	for key, v := range wanted {
		if text, ok := v.(string); ok && len(selector) == 1 {
			if have, there := labels[key]; !there || have != text {
				return true
			}
		}
	}
	return false
}

func readAccess(o *unstructured.Unstructured) access {
	p := access{name: authorizationPolicy.Kind + " " + o.GetNamespace() + "/" + o.GetName(), object: o.GetName()}
	spec, err := mapAt(o.Object, "spec")
	if err == nil {
		p.selector, err = readSelector(spec, "selector", "matchLabels")
	}
	if err == nil {
		selector, _ := mapAt(spec, "selector")
		err = errors.Join(onlyHas(selector, "selector", "matchLabels"), onlyHas(spec, "spec", "selector", "targetRef", "targetRefs", "action", "provider", "rules"))
	}
	if err == nil {
		p.action, err = textAt(spec, "action")
	}
	if err == nil {
		p.rules, err = listAt(spec, "rules")
	}
	p.dry = o.GetAnnotations()[dryRun] == "true"
	p.targets = spec["targetRef"] != nil || spec["targetRefs"] != nil
	if err != nil {
		p.problem = p.name + " cannot be read: " + err.Error()
	}
	return p
}

// match is whether a rule is about a connection.
type match int

// The matches, least first: all that a rule asks for must hold.
const (
	never match = iota
	perhaps
	always
)

// caller is a gateway's connection, as rules see it.
type caller struct {
	principals []string         // its identity in each trust domain by which a policy may name it
	account    meshsync.Account // as the identity has it; unset where it has none
	port       int32
}

func callerOf(m meshsync.Mesh, e meshsync.Entry) caller {
	out := caller{port: e.Port.Target}
	rest, ok := strings.CutPrefix(e.Client.SPIFFEID, spiffe)
	if !ok {
		return out
	}
	out.principals = []string{rest}
	domain, path, _ := strings.Cut(rest, "/")
	if parts := strings.Split(path, "/"); len(parts) == 4 && parts[0] == "ns" && parts[2] == "sa" {
		out.account = meshsync.Account{Namespace: parts[1], Name: parts[3]}
	}
	if !slices.Contains(m.TrustDomains, domain) {
		return out
	}
	// Policies that name one of the mesh's trust domains mean all of them; cluster.local
	// is how they name whichever it is.
	for _, alias := range append([]string{"cluster.local"}, m.TrustDomains...) {
		if p := alias + "/" + path; !slices.Contains(out.principals, p) {
			out.principals = append(out.principals, p)
		}
	}
	return out
}

// admission is what the policies that select a pod come to.
type admission struct {
	caller   caller
	allowing []access
	admits   string // that lets it in for sure
	refuses  string // that denies it for sure
	// conditions are policies that let it in sometimes, and doubts those that may refuse
	// it sometimes, or that nobody can read.
	conditions, doubts []string
}

func (a *admission) take(p access, pod *corev1.Pod) {
	if p.dry {
		return
	}
	if p.problem != "" {
		a.doubts = append(a.doubts, p.problem)
		return
	}
	if !subset(p.selector, pod.Labels) || p.targets && partOf(pod) != isGateway {
		return
	}
	m := a.caller.matches(p.rules)
	if p.targets && m == always {
		m = perhaps
	}
	switch p.action {
	case "", "ALLOW":
		a.allowing = append(a.allowing, p)
		if m == always && a.admits == "" {
			a.admits = p.name
		}
		if m == perhaps {
			a.conditions = append(a.conditions, p.name+" lets it in on conditions")
		}
	case "AUDIT":
	case "DENY":
		if m == always && a.refuses == "" {
			a.refuses = p.name
		}
		if m == perhaps {
			a.doubts = append(a.doubts, p.name+" denies some requests")
		}
	default:
		if m != never {
			a.doubts = append(a.doubts, p.name+" has action "+p.action)
		}
	}
}

// matches is the best of the rules: one is enough.
func (c caller) matches(rules []any) match {
	best := never
	for _, r := range rules {
		rule, ok := r.(map[string]any)
		if !ok {
			best = max(best, perhaps)
			continue
		}
		m := min(anyOf(rule["from"], "source", c.source), anyOf(rule["to"], "operation", c.operation))
		if when, _ := rule["when"].([]any); len(when) > 0 || workload.Besides(rule, "from", "to", "when") != "" {
			m = min(m, perhaps)
		}
		best = max(best, m)
	}
	return best
}

// anyOf is the best of a list's items; none is everything.
func anyOf(v any, key string, one func(map[string]any) match) match {
	list, ok := v.([]any)
	if v == nil || ok && len(list) == 0 {
		return always
	}
	best := never
	for _, item := range list {
		m, _ := item.(map[string]any)
		fields, ok := m[key].(map[string]any)
		if !ok || len(m) > 1 {
			best = max(best, perhaps)
			continue
		}
		best = max(best, one(fields))
	}
	return best
}

// source is who connects: all of the fields must hold.
func (c caller) source(fields map[string]any) match {
	out := always
	for key, v := range fields {
		m := perhaps // addresses and tokens
		switch key {
		case "principals":
			m = among(v, c.isPrincipal)
		case "notPrincipals":
			m = except(v, c.isPrincipal)
		case "namespaces":
			m = among(v, c.isNamespace)
		case "notNamespaces":
			m = except(v, c.isNamespace)
		case "serviceAccounts":
			m = among(v, func(text string) bool { return c.account.Name != "" && text == c.account.Namespace+"/"+c.account.Name })
		}
		out = min(out, m)
	}
	return out
}

// operation is what it connects to. Methods, paths and hosts are the requests' own.
func (c caller) operation(fields map[string]any) match {
	out := always
	for key, v := range fields {
		m := perhaps
		switch key {
		case "ports":
			m = among(v, c.isPort)
		case "notPorts":
			m = except(v, c.isPort)
		}
		out = min(out, m)
	}
	return out
}

func (c caller) isPort(text string) bool { return text == fmt.Sprint(c.port) }

func (c caller) isNamespace(text string) bool {
	return c.account.Namespace != "" && wild(text, c.account.Namespace)
}

func (c caller) isPrincipal(text string) bool {
	return slices.ContainsFunc(c.principals, func(p string) bool { return wild(text, p) })
}

// wild compares as Istio does: a star at the beginning or at the end is anything, and
// alone it is anything that is there.
func wild(pattern, text string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(text, suffix)
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(text, prefix)
	}
	return pattern == text
}

// among is whether one of a list's texts holds; an empty list asks for nothing.
func among(v any, holds func(string) bool) match {
	list, ok := v.([]any)
	if v == nil || ok && len(list) == 0 {
		return always
	}
	best := never
	for _, item := range list {
		text, ok := item.(string)
		switch {
		case !ok:
			best = max(best, perhaps)
		case holds(text):
			return always
		}
	}
	if !ok {
		return perhaps
	}
	return best
}

// except is whether none of a list's texts holds.
func except(v any, holds func(string) bool) match {
	if list, ok := v.([]any); v == nil || ok && len(list) == 0 {
		return always
	}
	return always - among(v, holds)
}
