package kube

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"gatehouse.dev/internal/translate"
)

// Untyped are rows for kinds that are read as they are: those of meshes. A kind that
// is named in several versions is one row, with its versions in that order. The
// plural is a guess until discovery tells; of the names of other rows none is taken.
func Untyped(all []schema.GroupVersionKind) []Kind {
	var out []Kind
	for _, gvk := range all {
		key, _ := translate.KeyOf(untyped(gvk))
		i := slices.IndexFunc(out, func(k Kind) bool { return k.Name == key.Kind })
		if i >= 0 {
			if !slices.Contains(out[i].Versions, gvk.Version) {
				out[i].Versions = append(out[i].Versions, gvk.Version)
			}
			continue
		}
		plural := pluralOf(gvk.Kind)
		out = append(out, Kind{
			Name: key.Kind, Group: gvk.Group, Resource: plural, Versions: []string{gvk.Version}, Custom: true, untyped: true,
			New:        func() Object { return untyped(gvk) },
			definition: plural + "." + gvk.Group,
		})
	}
	return out
}

// pluralOf is what most call a kind's plural.
func pluralOf(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "sh"):
		return name + "es"
	default:
		return name + "s"
	}
}

func untyped(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	return o
}

// wireName is what the kind is called on the wire.
func (k Kind) wireName() string {
	if k.untyped {
		return k.New().GetObjectKind().GroupVersionKind().Kind
	}
	return k.Name
}

// servedAs finds a kind among what a version serves. One that is read as it is goes
// by its kind, others by their plural.
func (k Kind) servedAs(resources []metav1.APIResource) (metav1.APIResource, bool) {
	i := slices.IndexFunc(resources, func(r metav1.APIResource) bool {
		if k.untyped {
			return r.Kind == k.wireName() && !isSubresource(r)
		}
		return r.Name == k.Resource
	})
	if i < 0 {
		return metav1.APIResource{}, false
	}
	return resources[i], true
}

func isSubresource(r metav1.APIResource) bool {
	return strings.Contains(r.Name, "/")
}

// listWatchUntyped reads objects as they are.
func (r Resource) listWatchUntyped() *cache.ListWatch {
	all := r.dynamic.Resource(r.GroupVersionResource())
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return all.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, o)
		},
	}
}
