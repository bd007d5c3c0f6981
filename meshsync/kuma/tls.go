package kuma

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// policy is a MeshTLS.
type policy struct {
	Where  string // for people
	Target map[string]any
	Mode   string // Strict, Permissive or ""
	Min    string // TLS12, TLS13 or ""
	Own    bool   // of the workload's own namespace, and so above the control plane's
}

func policiesIn(w meshsync.World, namespace, mesh string) []policy {
	var out []policy
	for _, o := range of(w.Objects(tlsKind, namespace), mesh) {
		out = append(out, readPolicy(o))
	}
	return out
}

// readPolicy reads both forms: rules, and from of before them. Of several entries
// the one that gives less counts.
func readPolicy(o *unstructured.Unstructured) policy {
	p := policy{Where: "MeshTLS " + o.GetNamespace() + "/" + o.GetName(), Target: workload.Map(o.Object, "spec", "targetRef")}
	for _, rule := range slices.Concat(workload.List(o.Object, "spec", "rules"), workload.List(o.Object, "spec", "from")) {
		conf := workload.Map(rule, "default")
		if mode, ok := conf["mode"]; ok && p.Mode != permissive {
			p.Mode = permissive
			if mode == strict {
				p.Mode = strict
			}
		}
		if version := workload.Map(conf, "tlsVersion")["min"]; version == "TLS13" {
			p.Min = "TLS13"
		}
	}
	return p
}

const (
	strict     = "Strict"
	permissive = "Permissive"
)

// rank is how specific a policy is for a pod's port; negative is not at all. A
// target of a kind that is not read here may be any pod.
func (p policy) rank(pod *corev1.Pod, port int32, labels map[string]string) int {
	rank := 0
	kind, _ := p.Target["kind"].(string)
	switch kind {
	case "", "Mesh":
	case "Dataplane", "MeshSubset":
		if !p.selects(pod, port, labels) {
			return -1
		}
		rank = 1
		if p.Target["sectionName"] != nil || p.Target["name"] != nil {
			rank = 2
		}
	default:
		if p.Mode != permissive {
			return -1
		}
		rank = 3
	}
	if p.Own {
		rank += 10
	}
	return rank
}

func (p policy) selects(pod *corev1.Pod, port int32, labels map[string]string) bool {
	for _, key := range []string{"labels", "tags"} {
		for k, v := range workload.Map(p.Target, key) {
			if have, ok := labels[k]; !ok || v != have {
				return false
			}
		}
	}
	if name, ok := p.Target["name"].(string); ok && name != pod.Name {
		return false
	}
	section, ok := p.Target["sectionName"].(string)
	return !ok || section == strconv.Itoa(int(port)) || slices.Contains(workload.PortsNamed(pod, section), port)
}

// effective is what a pod's policies say together: the most specific that says
// anything; of equals the one that gives less.
func effective(policies []policy, pod *corev1.Pod, port int32, labels map[string]string) policy {
	var out policy
	best := -1
	for _, p := range policies {
		rank := p.rank(pod, port, labels)
		if rank < 0 {
			continue
		}
		if p.Min == "TLS13" {
			out.Min = p.Min
		}
		if p.Mode != "" && (rank > best || rank == best && p.Mode == permissive) {
			best, out.Mode, out.Where = rank, p.Mode, p.Where
		}
	}
	return out
}
