package kuma

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

var permissionKind = schema.GroupKind{Group: "kuma.io", Kind: "MeshTrafficPermission"}

var _ meshsync.Authorizer = Dialect{}

// Permits implements meshsync.Authorizer.
func (Dialect) Permits() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{permissionKind.WithVersion("v1alpha1")}
}

// Allow implements meshsync.Authorizer: an inbound lets in nobody whom no
// MeshTrafficPermission names.
func (d Dialect) Allow(w meshsync.World, m meshsync.Mesh, e meshsync.Entry) meshsync.Allowance {
	s, _ := m.Settings.(settings)
	labels := dataplaneLabels(e.Pod, s.Mesh)
	p := permissions{id: e.Client.SPIFFEID}
	for _, ns := range slices.Compact([]string{m.Namespace, e.Pod.Namespace}) {
		for _, o := range of(w.Objects(permissionKind, ns), s.Mesh) {
			target := readPolicy(o) // the target has one form in all policies
			switch kind, _ := target.Target["kind"].(string); kind {
			case "", "Mesh":
				p.read(o)
			case "Dataplane", "MeshSubset":
				if target.selects(e.Pod, e.Port.Target, labels) {
					p.read(o)
				}
			default:
				p.conditions = append(p.conditions, permissionName(o)+" (targetRef "+kind+")")
			}
		}
	}
	return p.allowance(s, e)
}

func permissionName(o *unstructured.Unstructured) string {
	return permissionKind.Kind + " " + o.GetNamespace() + "/" + o.GetName()
}

// permissions are what the MeshTrafficPermissions of a pod come to for a client.
type permissions struct {
	id              string
	admits, refuses string
	conditions      []string // policies that say it in a way that is not read
}

// read takes in one. Its spec.from is written for clients of the mesh, by their tags.
func (p *permissions) read(o *unstructured.Unstructured) {
	name := permissionName(o)
	if workload.Besides(workload.Map(o.Object, "spec"), "targetRef", "from", "rules") != "" {
		p.conditions = append(p.conditions, name)
	}
	if len(workload.List(o.Object, "spec", "from")) > 0 {
		p.conditions = append(p.conditions, name+" (spec.from)")
	}
	for _, rule := range workload.List(o.Object, "spec", "rules") {
		conf := workload.Map(rule, "default")
		if workload.Besides(rule, "default")+workload.Besides(conf, "deny", "allow", "allowWithShadowDeny") != "" {
			p.conditions = append(p.conditions, name+" (spec.rules)")
			continue
		}
		for _, key := range []string{"deny", "allow", "allowWithShadowDeny"} {
			items, _ := conf[key].([]any)
			for _, item := range items {
				match, _ := item.(map[string]any)
				p.take(name, key, match)
			}
		}
	}
}

func (p *permissions) take(name, list string, match map[string]any) {
	id := workload.Map(match, "spiffeID")
	value, ok := id["value"].(string)
	exact, prefix := id["type"] == "Exact", id["type"] == "Prefix"
	switch {
	case len(match) != 1 || !ok || !exact && !prefix:
		p.conditions = append(p.conditions, name+" ("+list+")")
	case p.id == "" || exact && value != p.id || prefix && !strings.HasPrefix(p.id, value):
	case list == "deny":
		p.refuses = name
	case p.admits == "":
		p.admits = name
	}
}

func (p *permissions) allowance(s settings, e meshsync.Entry) meshsync.Allowance {
	conditions := slices.Compact(slices.Sorted(slices.Values(p.conditions)))
	switch {
	case !s.Backend && len(s.Identities) == 0:
		return meshsync.Allowance{Need: meshsync.NotNeeded, Why: "Mesh " + s.Mesh + " has no mutual TLS, and without it no permission counts."}
	case p.refuses != "":
		return meshsync.Allowance{Need: meshsync.Needed, Why: p.refuses + " denies it, and that comes before what others allow: except the gateway there."}
	case len(conditions) == 0 && p.admits != "":
		return meshsync.Allowance{Need: meshsync.NotNeeded, Why: p.admits + " lets it in."}
	case len(conditions) == 0 && p.id == "":
		out := meshsync.Nameless("Kuma lets in only whom a MeshTrafficPermission names")
		out.Assumed = s.Backend
		return out
	}
	out := meshsync.Allowance{Need: meshsync.Needed, Why: "No MeshTrafficPermission names the gateway, and Kuma lets in nobody else."}
	if len(conditions) > 0 {
		out = meshsync.Allowance{Need: meshsync.NeedUnknown, Why: "It hangs on more than the gateway's SPIFFE ID: " + strings.Join(conditions, ", ") + "."}
	}
	out.Assumed = s.Backend // its TrafficPermissions, which came before MeshTrafficPermissions, are not read
	if p.id != "" && p.admits == "" {
		svc := e.Port.Service
		out.Offers = []meshsync.Offer{{
			Say:  fmt.Sprintf("Lets Gateway %s in at Service %s/%s. Its own CA must be known by a MeshTrust.", e.Client.Name, svc.Namespace, svc.Name),
			YAML: Authorization(Grant{Mesh: s.Mesh, Namespace: e.Pod.Namespace, Name: e.Client.Account.Name + "-" + svc.Name, Selector: svc.Spec.Selector, SPIFFEIDs: []string{p.id}}),
		}}
	}
	return out
}
