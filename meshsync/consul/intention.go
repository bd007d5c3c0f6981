package consul

import (
	"slices"

	"sigs.k8s.io/yaml"
)

// Authorization is the manifest that lets gateways in: a ServiceIntentions that
// allows them, by the service names of their certificates, at a destination. It is
// offered and never applied; a destination has one such object, so it is to be
// merged with what is there.
func Authorization(namespace, destination string, gateways []string) string {
	return manifest(namespace, destination, map[string]any{"destination": map[string]any{"name": destination}, "sources": allowed(gateways)})
}

// allowed are sources that are let in.
func allowed(gateways []string) []any {
	var sources []any
	for _, name := range slices.Compact(slices.Sorted(slices.Values(gateways))) {
		sources = append(sources, map[string]any{"name": name, "action": "allow"})
	}
	return sources
}

// manifest writes a ServiceIntentions; nothing in it cannot be written.
func manifest(namespace, name string, spec map[string]any) string {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": intentionsKind.Group + "/v1alpha1", "kind": intentionsKind.Kind,
		"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	})
	if err != nil {
		return ""
	}
	return string(text)
}
