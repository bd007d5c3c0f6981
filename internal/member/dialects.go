package member

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/cilium"
	"gatehouse.dev/meshsync/consul"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/kuma"
	"gatehouse.dev/meshsync/linkerd"
	"gatehouse.dev/meshsync/spiffe"
)

// Dialects are all that there are, for installations with defaults, by
// controllerName: see translate.Options.
func Dialects() map[string]meshsync.Dialect {
	out := map[string]meshsync.Dialect{}
	for _, d := range []meshsync.Dialect{istio.Dialect{}, linkerd.Dialect{}, kuma.Dialect{}, consul.Dialect{}, cilium.Dialect{}, spiffe.Dialect{}} {
		out[d.Controller()] = d
	}
	return out
}

// Reads are the kinds that some dialects read, those by which they refuse gateways
// among them (meshsync.Authorizer.Permits). Where one reads a kind in several versions,
// which show the same objects, the version that it likes best comes first.
func Reads(dialects map[string]meshsync.Dialect) []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, name := range slices.Sorted(maps.Keys(dialects)) {
		kinds := dialects[name].Reads()
		if a, is := dialects[name].(meshsync.Authorizer); is {
			kinds = append(kinds, a.Permits()...)
		}
		for _, gvk := range kinds {
			if !slices.Contains(out, gvk) {
				out = append(out, gvk)
			}
		}
	}
	return out
}
