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
	var sources []any
	for _, name := range slices.Sorted(slices.Values(gateways)) {
		sources = append(sources, map[string]any{"name": name, "action": "allow"})
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "consul.hashicorp.com/v1alpha1", "kind": "ServiceIntentions",
		"metadata": map[string]any{"namespace": namespace, "name": destination},
		"spec":     map[string]any{"destination": map[string]any{"name": destination}, "sources": sources},
	})
	if err != nil {
		return "" // nothing in it cannot be written
	}
	return string(text)
}
