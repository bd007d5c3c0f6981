package consul

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

var intentionsKind = schema.GroupKind{Group: "consul.hashicorp.com", Kind: "ServiceIntentions"}

var _ meshsync.Authorizer = Dialect{}

// Permits implements meshsync.Authorizer.
func (Dialect) Permits() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{intentionsKind.WithVersion("v1alpha1")}
}

// Allow implements meshsync.Authorizer: the most exact intention decides, and without
// any the servers' default does. Intentions that were made at Consul itself are seen by
// nobody here.
func (d Dialect) Allow(w meshsync.World, m meshsync.Mesh, e meshsync.Entry) meshsync.Allowance {
	s, _ := m.Settings.(settings)
	svc, why := serviceAt(e.Pod, e.Port)
	if why != "" {
		return meshsync.Allowance{Need: meshsync.NeedUnknown, Why: "Which service of Consul it is, is not known: " + why + "."}
	}
	i := intentionsFor(w, []string{s.Namespace, "default", e.Pod.Namespace}, svc.name)
	says, action, sure := i.of(e.Client)
	if says == "" {
		says, action = defaultOf(serverConfig(w, s.Namespace))
	}
	switch {
	case action == "allow":
		return meshsync.Allowance{Need: meshsync.NotNeeded, Why: says + ", as far as objects of the cluster say."}
	case e.Client.SPIFFEID == "" && action == "deny":
		out := meshsync.Nameless(says)
		out.Assumed = !sure
		return out
	}
	out := meshsync.Allowance{Need: meshsync.NeedUnknown, Why: says + "."}
	if action == "deny" {
		out.Need, out.Assumed = meshsync.Needed, !sure
	}
	if e.Client.SPIFFEID == "" {
		return out
	}
	names, who := callers(e)
	out.Offers = []meshsync.Offer{{
		Say: fmt.Sprintf("Lets %s in at service %s of Consul. A destination has one such object: this is the whole of it.", who, svc.name),
	}}
	if out.Offers[0].YAML = Authorization(e.Pod.Namespace, svc.name, names); i.exact != nil {
		out.Offers[0].YAML = i.with(names)
	}
	return out
}

// callers are all gateways that come, as Consul knows them and for a person.
func callers(e meshsync.Entry) (names []string, who string) {
	var people []string
	for _, c := range append(slices.Clone(e.With), e.Client) {
		if c.SPIFFEID != "" && !slices.Contains(names, serviceOf(c)) {
			names, people = append(names, serviceOf(c)), append(people, "Gateway "+c.Name)
		}
	}
	return names, strings.Join(people, " and ")
}

// serviceOf is which service a gateway's certificate says that it is.
func serviceOf(c meshsync.Client) string {
	if _, name, ok := strings.Cut(c.SPIFFEID, "/svc/"); ok {
		return name
	}
	return c.Account.Name
}

// intentions are those of a destination, and of any.
type intentions struct{ exact, any *unstructured.Unstructured }

func intentionsFor(w meshsync.World, namespaces []string, service string) (out intentions) {
	for _, ns := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		for _, o := range w.Objects(intentionsKind, ns) {
			switch workload.Text(o, "spec", "destination", "name") {
			case service:
				out.exact = o
			case "*":
				out.any = o
			}
		}
	}
	return out
}

// of is what they say of a client: allow, deny, or "" where it hangs on requests. says
// is "" when they say nothing. sure says that no destination which comes before has its
// intentions elsewhere: one that has an object has all of them there.
func (i intentions) of(c meshsync.Client) (says, action string, sure bool) {
	sure = true
	for _, o := range []*unstructured.Unstructured{i.exact, i.any} {
		if sure = sure && o != nil; o == nil {
			continue
		}
		for _, name := range []string{serviceOf(c), "*"} {
			for _, source := range workload.List(o.Object, "spec", "sources") {
				if source["name"] != name || name != "*" && c.SPIFFEID == "" || foreign(source) {
					continue
				}
				says = fmt.Sprintf("ServiceIntentions %s/%s has source %s", o.GetNamespace(), o.GetName(), name)
				return sayOf(source, says, sure)
			}
		}
	}
	return "", "", sure
}

// sayOf is what a source that is the client says. One with a field that is not known is
// read no further.
func sayOf(source map[string]any, says string, sure bool) (string, string, bool) {
	if other := workload.Besides(source, "name", "namespace", "partition", "peer", "samenessGroup", "action", "permissions", "description"); other != "" {
		return says + ", with the field " + other + ", which is not known", "", sure
	}
	switch action, _ := source["action"].(string); action {
	case "allow", "deny":
		return says + ", action " + action, action, sure
	default:
		return says + ", with permissions for some requests", "", sure
	}
}

// foreign says that a source is a service of another cluster, or of a part of Consul in
// which no gateway is.
func foreign(source map[string]any) bool {
	text := func(key string) string { t, _ := source[key].(string); return t }
	home := func(key string) bool { return slices.Contains([]string{"", "default", "*"}, text(key)) }
	return text("peer") != "" || text("samenessGroup") != "" || !home("namespace") || !home("partition")
}

// with is the destination's object with more sources.
func (i intentions) with(names []string) string {
	spec := maps.Clone(workload.Map(i.exact.Object, "spec"))
	var sources []any
	for _, s := range workload.List(i.exact.Object, "spec", "sources") {
		if name, _ := s["name"].(string); !slices.Contains(names, name) {
			sources = append(sources, s)
		}
	}
	spec["sources"] = append(allowed(names), sources...)
	return manifest(i.exact.GetNamespace(), i.exact.GetName(), spec)
}

// defaultOf is what the servers do where no intention is: their own word for it, or the
// policy of their ACLs.
func defaultOf(config *corev1.ConfigMap) (says, action string) {
	if config == nil {
		return "No intention names the gateway, and what Consul does then is in no object of the cluster", ""
	}
	says, action = "No intention names the gateway, and the servers have no ACLs, so that the default is allow", "allow"
	for _, key := range slices.Sorted(maps.Keys(config.Data)) {
		var server struct {
			Default string `json:"default_intention_policy"`
			ACL     struct {
				Enabled bool   `json:"enabled"`
				Default string `json:"default_policy"`
			} `json:"acl"`
		}
		if json.Unmarshal([]byte(config.Data[key]), &server) != nil {
			continue
		}
		at := fmt.Sprintf("No intention names the gateway, and the default is that of ConfigMap %s/%s, key %s: ", config.Namespace, config.Name, key)
		if server.Default != "" {
			return at + server.Default, server.Default
		}
		if server.ACL.Enabled {
			action = or(server.ACL.Default, "allow")
			says = at + action
		}
	}
	return says, action
}
