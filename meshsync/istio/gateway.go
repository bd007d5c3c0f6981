package istio

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// listener is one listener of a gateway of the mesh.
type listener struct {
	gateway string // for a person
	name    string
	port    int32
	http    bool
	mode    string   // see istioMutual; others, and "", are not of the mesh
	hosts   []string // none, and one that is "*": any
}

// sni is a server name that the listener takes; "" is any. Of a wildcard it is a
// name under it.
func (l listener) sni() string {
	if len(l.hosts) == 0 || slices.Contains(l.hosts, "*") {
		return ""
	}
	if parent, ok := strings.CutPrefix(l.hosts[0], "*."); ok {
		return "gatehouse." + parent
	}
	return l.hosts[0]
}

// readGateway reads a Gateway of either API.
func readGateway(o *unstructured.Unstructured) ([]listener, error) {
	if o == nil {
		return nil, errors.New("there is none")
	}
	field, read := "listeners", readListener
	if o.GroupVersionKind().Group == istioGateway.Group {
		field, read = "servers", readServer
	}
	spec, err := mapAt(o.Object, "spec")
	if err != nil {
		return nil, err
	}
	items, err := listAt(spec, field)
	if err != nil {
		return nil, err
	}
	out := make([]listener, len(items))
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s[%d] is no object", field, i)
		}
		if out[i], err = read(m); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		out[i].gateway = gatewayName(o)
	}
	return out, nil
}

// readListener reads a listener of Kubernetes' Gateway.
func readListener(m map[string]any) (l listener, err error) {
	var f fields
	l.name = f.text(m, "name")
	l.port = f.number(m, "port")
	l.http = f.text(m, "protocol") == "HTTPS"
	if host := f.text(m, "hostname"); host != "" {
		l.hosts = []string{host}
	}
	tls := f.object(m, "tls")
	switch mode := f.text(tls, "mode"); {
	case tls == nil:
	case mode == "Passthrough":
		l.mode = passthrough
	default:
		l.mode = f.text(f.object(tls, "options"), terminateOption)
	}
	return l, f.err
}

// readServer reads a server of Istio's own Gateway.
func readServer(m map[string]any) (l listener, err error) {
	var f fields
	port := f.object(m, "port")
	l.port = f.number(port, "number")
	l.http = f.text(port, "protocol") == "HTTPS"
	if l.name = f.text(m, "name"); l.name == "" {
		l.name = f.text(port, "name")
	}
	hosts, err := listAt(m, "hosts")
	if err != nil {
		return l, err
	}
	for _, h := range hosts {
		host, ok := h.(string)
		if !ok {
			return l, errors.New("hosts: one is no text")
		}
		l.hosts = append(l.hosts, host[strings.IndexByte(host, '/')+1:]) // NAMESPACE/HOST
	}
	tls := f.object(m, "tls")
	l.mode = f.text(tls, "mode")
	if l.mode == "SIMPLE" && strings.HasPrefix(f.text(tls, "credentialName"), "builtin://") {
		l.mode = istioSimple
	}
	return l, f.err
}

// fields reads one field after another, and keeps the first error.
type fields struct{ err error }

func (f *fields) text(m map[string]any, key string) string {
	v, err := textAt(m, key)
	f.keep(err)
	return v
}

func (f *fields) number(m map[string]any, key string) int32 {
	v, err := numberAt(m, key)
	f.keep(err)
	return v
}

func (f *fields) object(m map[string]any, key string) map[string]any {
	v, err := mapAt(m, key)
	f.keep(err)
	return v
}

func (f *fields) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

// selects says whether an Istio Gateway selects pods with labels; one that cannot
// be read is told of rather than left out.
func selects(o *unstructured.Unstructured, labels map[string]string) bool {
	spec, err := mapAt(o.Object, "spec")
	if err != nil {
		return true
	}
	selector, err := mapAt(spec, "selector")
	if err != nil {
		return true
	}
	for key, v := range selector {
		if text, ok := v.(string); ok && labels[key] != text {
			return false
		}
	}
	return len(selector) > 0
}

func gatewayName(o *unstructured.Unstructured) string {
	if o == nil {
		return "the Gateway"
	}
	return "Gateway " + o.GetNamespace() + "/" + o.GetName()
}
