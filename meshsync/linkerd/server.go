package linkerd

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

var serverKind = schema.GroupKind{Group: "policy.linkerd.io", Kind: "Server"}

// The protocols of a Server.
const (
	protocolUnknown = "unknown" // detected
	protocolHTTP1   = "HTTP/1"  // detected among the versions of HTTP
	protocolHTTP2   = "HTTP/2"
	protocolGRPC    = "gRPC"
	protocolTLS     = "TLS" // the mesh's TLS is ended, what is in it is not read
	protocolOpaque  = "opaque"
)

// server is what the Servers that select a port say together. Linkerd's admission
// refuses a second one for a port; where there are several all the same, the one
// that gives less counts.
type server struct {
	Name     string
	Protocol string
	Policy   policy
	object   *unstructured.Unstructured
}

// serverOf is what selects a pod's port; nil is none.
func serverOf(w meshsync.World, pod *corev1.Pod, port int32) *server {
	var selecting []*unstructured.Unstructured
	for _, o := range w.Objects(serverKind, pod.Namespace) {
		if selectsPort(o, pod, port) {
			selecting = append(selecting, o)
		}
	}
	var found *server
	for _, o := range newest(selecting) {
		s := readServer(o)
		if found == nil {
			found = &s
			continue
		}
		found.merge(s)
	}
	return found
}

// newest are the objects without the other versions in which one may be read: only
// the newest knows the access policy.
func newest(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var kept []*unstructured.Unstructured
	for _, o := range objects { // sorted by name
		last := len(kept) - 1
		switch {
		case last < 0 || kept[last].GetName() != o.GetName():
			kept = append(kept, o)
		case o.GetAPIVersion() > kept[last].GetAPIVersion():
			kept[last] = o
		}
	}
	return kept
}

// selectsPort says whether a Server is about a pod's port. One that cannot be read
// is about none: Linkerd ignores it too.
func selectsPort(o *unstructured.Unstructured, pod *corev1.Pod, port int32) bool {
	spec, _ := o.Object["spec"].(map[string]any)
	if !isPort(spec["port"], pod, port) { // before the labels: it is cheap
		return false
	}
	selector, _ := spec["podSelector"].(map[string]any)
	selects, err := workload.Selects(selector, pod.Labels)
	return err == nil && selects
}

func isPort(v any, pod *corev1.Pod, port int32) bool {
	switch p := v.(type) {
	case int64:
		return p == int64(port)
	case float64:
		return p == float64(port)
	case string:
		return slices.Contains(workload.PortsNamed(pod, p), port)
	default:
		return false
	}
}

func readServer(o *unstructured.Unstructured) server {
	spec, _ := o.Object["spec"].(map[string]any)
	s := server{Name: o.GetName(), Protocol: protocolUnknown, Policy: deny, object: o}
	if v, ok := spec["proxyProtocol"]; ok {
		s.Protocol = parseProtocol(v)
	}
	if text, ok := spec["accessPolicy"].(string); ok { // unset is deny, and older versions have none
		s.Policy = parsePolicy(text)
	}
	return s
}

// parseProtocol reads proxyProtocol; what it does not know is opaque.
func parseProtocol(v any) string {
	text, _ := v.(string)
	switch text {
	case protocolUnknown, protocolHTTP1, protocolHTTP2, protocolGRPC, protocolTLS:
		return text
	default:
		return protocolOpaque
	}
}

// openness orders protocols by what a gateway can do with them.
func openness(protocol string) int {
	return slices.Index([]string{protocolOpaque, protocolGRPC, protocolHTTP2, protocolTLS, protocolHTTP1, protocolUnknown}, protocol)
}

// merge takes in another Server of the same port.
func (s *server) merge(o server) {
	if openness(o.Protocol) < openness(s.Protocol) {
		s.Protocol, s.object = o.Protocol, o.object
	}
	if o.Policy.strictness() > s.Policy.strictness() {
		s.Policy = o.Policy
	}
	s.Name += ", " + o.Name
}
