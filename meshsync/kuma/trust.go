package kuma

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// rootsOf reads a MeshTrust: the PEM of all its caBundles. A bundle of another type
// than Pem could hold roots that would be missing, so that it refuses the whole.
func rootsOf(o *unstructured.Unstructured) meshsync.RootsAt {
	at := meshsync.RootsAt{Kind: trustKind.Kind, Namespace: o.GetNamespace(), Name: o.GetName(), Key: "spec.caBundles"}
	where := fmt.Sprintf("MeshTrust %s/%s: spec.caBundles", at.Namespace, at.Name)
	bundles, found, err := unstructured.NestedSlice(o.Object, "spec", "caBundles")
	switch {
	case err != nil:
		at.Problem = where + " is not a list"
		return at
	case !found || len(bundles) == 0:
		at.Problem = where + " is empty"
		return at
	}
	texts := make([]string, len(bundles))
	for i, b := range bundles {
		fields, _ := b.(map[string]any)
		texts[i], _ = workload.Map(fields, "pem")["value"].(string)
		switch {
		case fields["type"] != "Pem":
			at.Problem = fmt.Sprintf("%s[%d] is not of type Pem", where, i)
			return at
		case texts[i] == "":
			at.Problem = fmt.Sprintf("%s[%d]: pem.value is not set", where, i)
			return at
		}
	}
	at.PEM = strings.Join(texts, "\n")
	return at
}
