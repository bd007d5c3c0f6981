package linkerd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// readable is the Server that makes the proxy end TLS at the port. One that is
// there is changed, and keeps what else it says. A new one takes over the port's
// policy, since without one it would deny whoever is let in today.
func (a asked) readable(srv *server, p policy) *meshsync.Fix {
	protocol := a.protocol()
	say := fmt.Sprintf("Let a Server with proxyProtocol %s select port %d, so that the proxy ends TLS there.", protocol, a.port.Target)
	if protocol == protocolTLS {
		say += " If the port speaks HTTP, use " + protocolHTTP1 + "."
	}
	if srv != nil {
		return &meshsync.Fix{Say: say, YAML: changed(srv.object, protocol)}
	}
	if a.port.Service == nil || len(a.port.Service.Spec.Selector) == 0 {
		return &meshsync.Fix{Say: say}
	}
	labels := map[string]any{}
	for k, v := range a.port.Service.Spec.Selector {
		labels[k] = v
	}
	name := fmt.Sprintf("%s-%d", a.port.Service.Name, a.port.Target)
	return &meshsync.Fix{Say: say, YAML: manifest(object("v1beta3", serverKind.Kind, a.pod.Namespace, name, map[string]any{
		"podSelector":   map[string]any{"matchLabels": labels},
		"port":          int64(a.port.Target),
		"proxyProtocol": protocol,
		"accessPolicy":  string(p),
	}))}
}

// protocol is what a Server should say of the port. HTTP/1 detects HTTP/2 as well,
// so it is right for all of HTTP; TLS leaves alone what is inside. The ports that
// are opaque by default are databases and mail.
func (a asked) protocol() string {
	databases, err := workload.ParsePorts(defaultOpaque, nil)
	switch workload.ProtocolOf(a.port.Port) {
	case workload.Unsaid:
		if err == nil && databases.Has(a.port.Target) {
			return protocolTLS
		}
	case workload.Bytes:
		return protocolTLS
	}
	return protocolHTTP1
}

func changed(o *unstructured.Unstructured, protocol string) string {
	spec, _, err := unstructured.NestedMap(o.Object, "spec")
	if err != nil {
		return ""
	}
	spec["proxyProtocol"] = protocol
	return manifest(map[string]any{
		"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(),
		"metadata": map[string]any{"namespace": o.GetNamespace(), "name": o.GetName()},
		"spec":     spec,
	})
}

func object(version, kind, namespace, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": serverKind.Group + "/" + version, "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     spec,
	}
}

// manifest writes an object as YAML with sorted keys. What is written was read
// from YAML or made here, so there is nothing that cannot be.
func manifest(o map[string]any) string {
	text, err := yaml.Marshal(o)
	if err != nil {
		return ""
	}
	return string(text)
}
