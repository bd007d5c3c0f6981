package kuma

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// What a MeshIdentity without templates has.
const (
	domainTemplate = "{{ .Mesh }}.{{ .Zone }}.mesh.local"
	pathTemplate   = "/ns/{{ .Namespace }}/sa/{{ .ServiceAccount }}"
)

// identity is a MeshIdentity: who gets which SPIFFE ID.
type identity struct {
	Name     string
	Selector map[string]any // of a Dataplane's labels
	Specific int            // labels in it: of several the most specific counts
	Domain   string         // trust domain; "" when it cannot be known
	Path     string         // a template
	Life     time.Duration  // of its certificates; zero is the default
}

func identitiesOf(objects []*unstructured.Unstructured, mesh, zone string) []identity {
	var out []identity
	for _, o := range objects {
		selector := workload.Map(o.Object, "spec", "selector", "dataplane")
		id := identity{
			Name: o.GetName(), Selector: selector, Specific: len(workload.Map(selector, "matchLabels")),
			Path: or(workload.Text(o, "spec", "spiffeID", "path"), pathTemplate),
		}
		fields := map[string]string{".Mesh": mesh, ".Zone": or(o.GetLabels()[keyZone], zone)}
		if domain, ok := workload.Render(or(workload.Text(o, "spec", "spiffeID", "trustDomain"), domainTemplate), fields, o.GetLabels()); ok {
			id.Domain = domain
		}
		if life, err := time.ParseDuration(workload.Text(o, "spec", "provider", "bundled", "certificateParameters", "expiry")); err == nil {
			id.Life = life
		}
		out = append(out, id)
	}
	// As Kuma orders them: the first that selects a pod is its own.
	slices.SortStableFunc(out, func(a, b identity) int { return b.Specific - a.Specific })
	return out
}

// zoneOf is the zone of the cluster, which its own MeshTrusts name.
func zoneOf(trusts []*unstructured.Unstructured) string {
	for _, o := range trusts {
		labels := o.GetLabels()
		if labels["kuma.io/origin"] == "zone" && labels[keyZone] != "" {
			return labels[keyZone]
		}
	}
	return ""
}

// dataplaneLabels are those of the pod's Dataplane.
func dataplaneLabels(pod *corev1.Pod, mesh string) map[string]string {
	labels := map[string]string{}
	for k, v := range pod.Labels {
		labels[k] = v
	}
	labels[keyMesh] = mesh
	labels["k8s.kuma.io/namespace"] = pod.Namespace
	labels["k8s.kuma.io/service-account"] = workload.Account(pod).Name
	return labels
}

// identitiesFor are those that select a pod, its own first. The others count for
// names: a proxy keeps its old certificate until it has the new one.
func (s settings) identitiesFor(labels map[string]string) []identity {
	var out []identity
	for _, id := range s.Identities {
		if ok, err := workload.Selects(id.Selector, labels); err == nil && ok {
			out = append(out, id)
		}
	}
	return out
}

// names are all that the pod's certificate may have. A name that cannot be known
// makes the others worthless, since nobody knows which is in it.
func (s settings) names(port meshsync.Port, pod *corev1.Pod, labels map[string]string, ids []identity) []lbmodel.SAN {
	var out []lbmodel.SAN
	add := func(id string) {
		if san := (lbmodel.SAN{Kind: lbmodel.SANURI, Value: id}); !slices.Contains(out, san) {
			out = append(out, san)
		}
	}
	fields := map[string]string{
		".Namespace": pod.Namespace, ".ServiceAccount": workload.Account(pod).Name, ".Workload": labels["kuma.io/workload"], ".Mesh": s.Mesh,
	}
	// The CA backend's form is also what is told where there is no mutual TLS: why it
	// is off is then the only reason.
	for _, id := range ids {
		path, ok := workload.Render(id.Path, fields, labels)
		if !ok || id.Domain == "" || !strings.HasPrefix(path, "/") {
			return nil
		}
		add("spiffe://" + id.Domain + path)
	}
	if (s.Backend || len(ids) == 0) && port.Service != nil {
		add(fmt.Sprintf("spiffe://%s/%s_%s_svc_%d", s.Mesh, port.Service.Name, port.Service.Namespace, port.Port.Port))
	}
	return out
}
