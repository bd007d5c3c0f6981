package kuma

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/meshsync"
)

// strictly is the MeshTLS that makes a Service's pods strict. Their clients in
// clear text are cut off, so it is offered and said.
func strictly(mesh string, port meshsync.Port, pod *corev1.Pod) *meshsync.Fix {
	fix := &meshsync.Fix{Say: "Make the inbound Strict by a MeshTLS, once no client speaks clear text to it any more."}
	if port.Service == nil || len(port.Service.Spec.Selector) == 0 {
		return fix
	}
	labels := map[string]any{}
	for k, v := range port.Service.Spec.Selector {
		labels[k] = v
	}
	fix.YAML = manifest("MeshTLS", pod.Namespace, fmt.Sprintf("%s-strict", port.Service.Name), mesh, map[string]any{
		"targetRef": map[string]any{"kind": "Dataplane", "labels": labels},
		"rules":     []any{map[string]any{"default": map[string]any{"mode": strict}}},
	})
	return fix
}

// Grant is whom workloads of a mesh should let in.
type Grant struct {
	Mesh, Namespace, Name string
	Selector              map[string]string // labels of the pods; none: all of the namespace
	SPIFFEIDs             []string
}

// Authorization is the manifest that lets gateways in: a MeshTrafficPermission for
// their SPIFFE IDs. It is offered and never applied. Namespace is where it holds:
// the control plane's for the whole mesh, or a workload's own.
func Authorization(g Grant) string {
	var allow []any
	for _, id := range slices.Sorted(slices.Values(g.SPIFFEIDs)) {
		allow = append(allow, map[string]any{"spiffeID": map[string]any{"type": "Exact", "value": id}})
	}
	spec := map[string]any{"rules": []any{map[string]any{"default": map[string]any{"allow": allow}}}}
	if len(g.Selector) > 0 {
		labels := map[string]any{}
		for k, v := range g.Selector {
			labels[k] = v
		}
		spec["targetRef"] = map[string]any{"kind": "Dataplane", "labels": labels}
	}
	return manifest(permissionKind.Kind, g.Namespace, g.Name, g.Mesh, spec)
}

// Trust is the manifest that makes every inbound of a mesh trust a CA, bound to a
// trust domain: how a gateway brings its own, since Kuma's signs for nobody
// outside. It is offered and never applied.
func Trust(mesh, namespace, name, trustDomain, pem string) string {
	return manifest("MeshTrust", namespace, name, mesh, map[string]any{
		"trustDomain": trustDomain,
		"caBundles":   []any{map[string]any{"type": "Pem", "pem": map[string]any{"value": pem}}},
	})
}

// manifest writes an object as YAML with sorted keys; nothing in it cannot be
// written.
func manifest(kind, namespace, name, mesh string, spec map[string]any) string {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "kuma.io/v1alpha1", "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{keyMesh: mesh}},
		"spec":     spec,
	})
	if err != nil {
		return ""
	}
	return string(text)
}
