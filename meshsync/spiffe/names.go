package spiffe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// registration is a ClusterSPIFFEID: SPIRE registers the pods that it selects.
type registration struct {
	name, template   string
	pods, namespaces map[string]any // nil is all
	life             time.Duration
}

func registrations(w meshsync.World) []registration {
	var out []registration
	for _, o := range w.Objects(clusterID, "") {
		r := registration{
			name: o.GetName(), template: workload.Text(o, "spec", "spiffeIDTemplate"),
			pods: workload.Map(o.Object, "spec", "podSelector"), namespaces: workload.Map(o.Object, "spec", "namespaceSelector"),
		}
		if life, err := time.ParseDuration(workload.Text(o, "spec", "ttl")); err == nil {
			r.life = life
		}
		out = append(out, r)
	}
	return out
}

// selects says whether a registration is for a pod. One that cannot be read is for
// none: SPIRE does not act on it either.
func (r registration) selects(pod *corev1.Pod, ns *corev1.Namespace) bool {
	var labels map[string]string
	if ns != nil {
		labels = ns.Labels
	}
	return matches(r.pods, pod.Labels) && matches(r.namespaces, labels)
}

func matches(selector map[string]any, labels map[string]string) bool {
	if selector == nil {
		return true
	}
	ok, err := workload.Selects(selector, labels)
	return err == nil && ok
}

// names are all SPIFFE IDs that the pod's certificate may have, or why they are
// not known. What the pod says of itself comes first, but a pod cannot speak for
// another account than its own: an ID is as good as the certificate that SPIRE
// gives, so a lie is a name that nobody can show.
func (s settings) names(w meshsync.World, pod *corev1.Pod) (names []lbmodel.SAN, why string) {
	for _, said := range []string{pod.Annotations[keyID], pod.Labels[keyID]} {
		if strings.HasPrefix(said, "spiffe://") {
			return []lbmodel.SAN{san(said)}, ""
		}
	}
	if s.Domain == "" {
		return nil, "the trust domain is not known: neither the dialect's settings nor ConfigMap spire-server say it"
	}
	fields := map[string]string{
		".TrustDomain": s.Domain, ".PodMeta.Namespace": pod.Namespace, ".PodMeta.Name": pod.Name,
		".PodSpec.ServiceAccountName": workload.Account(pod).Name,
	}
	for _, r := range s.Registrations {
		if !r.selects(pod, w.Namespace(pod.Namespace)) {
			continue
		}
		id, ok := workload.Render(r.template, fields, pod.Labels)
		if !ok || !strings.HasPrefix(id, "spiffe://") {
			return nil, fmt.Sprintf("ClusterSPIFFEID %s: its spiffeIDTemplate %q says no name that can be known", r.name, r.template)
		}
		if n := san(id); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if len(names) > 0 {
		return names, ""
	}
	id, ok := workload.Render(s.Template, fields, pod.Labels)
	if !ok {
		return nil, fmt.Sprintf("the template %q says no name that can be known", s.Template)
	}
	return []lbmodel.SAN{san(id)}, ""
}
