package istio

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/meshsync/workload"
)

// readPolicy reads a PeerAuthentication. Fields that Istio does not know it
// ignores, and so do we. A value that its API refuses cannot be in a cluster and
// would keep istiod from reading the kind at all: the policy is then a problem,
// for every pod that it may concern.
func readPolicy(o *unstructured.Unstructured) policy {
	p := policy{object: o}
	if err := p.read(o.Object); err != nil {
		p.problem = p.name() + " cannot be read: " + err.Error()
	}
	return p
}

func (p *policy) read(object map[string]any) error {
	spec, err := mapAt(object, "spec")
	if err != nil {
		return err
	}
	if p.selector, err = readSelector(spec, "selector", "matchLabels"); err != nil {
		return err
	}
	if p.mode, err = readMode(spec, "mtls"); err != nil {
		return err
	}
	ports, err := mapAt(spec, "portLevelMtls")
	if err != nil {
		return err
	}
	return p.readPorts(ports)
}

func (p *policy) readPorts(ports map[string]any) error {
	for key := range ports {
		n, err := strconv.ParseUint(key, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("portLevelMtls has %q for a port", key)
		}
		m, err := readMode(ports, key)
		if err != nil {
			return err
		}
		if p.ports == nil {
			p.ports = make(map[int32]Mode, len(ports))
		}
		p.ports[int32(n)] = m
	}
	return nil
}

// readMode reads the mode of the object at a key.
func readMode(in map[string]any, key string) (Mode, error) {
	m, err := mapAt(in, key)
	if err != nil {
		return Unset, err
	}
	text, err := textAt(m, "mode")
	if err != nil {
		return Unset, fmt.Errorf("%s: %w", key, err)
	}
	switch mode := Mode(text); mode {
	case Unset, Permissive, Strict, Disable:
		return mode, nil
	case "UNSET":
		return Unset, nil
	default:
		return Unset, fmt.Errorf("%s: mode %q is not known", key, text)
	}
}

// readSelector reads labels two maps deep.
func readSelector(in map[string]any, key, labels string) (map[string]string, error) {
	m, err := mapAt(in, key)
	if err != nil {
		return nil, err
	}
	if m, err = mapAt(m, labels); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	out := make(map[string]string, len(m))
	for k := range m {
		if out[k], err = textAt(m, k); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", key, labels, err)
		}
	}
	return out, nil
}

// onlyHas says which field an object has besides those that are read here.
func onlyHas(m map[string]any, name string, fields ...string) error {
	if key := workload.Besides(m, fields...); key != "" {
		return fmt.Errorf("%s has the field %s, which is not known", name, key)
	}
	return nil
}

// mapAt is the object at a key; nothing and null are none.
func mapAt(in map[string]any, key string) (map[string]any, error) {
	switch v := in[key].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	default:
		return nil, fmt.Errorf("%s is no object", key)
	}
}

// textAt is the text at a key; nothing and null are "".
func textAt(in map[string]any, key string) (string, error) {
	switch v := in[key].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		return "", fmt.Errorf("%s is no text", key)
	}
}

// listAt is the list at a key; nothing and null are none.
func listAt(in map[string]any, key string) ([]any, error) {
	switch v := in[key].(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	default:
		return nil, fmt.Errorf("%s is no list", key)
	}
}

// numberAt is the port number at a key; nothing is 0.
func numberAt(in map[string]any, key string) (int32, error) {
	switch v := in[key].(type) {
	case nil:
		return 0, nil
	case int64:
		if v >= 0 && v <= 65535 {
			return int32(v), nil
		}
	case float64:
		if v == float64(int32(v)) && v >= 0 && v <= 65535 {
			return int32(v), nil
		}
	}
	return 0, fmt.Errorf("%s is no port number", key)
}
