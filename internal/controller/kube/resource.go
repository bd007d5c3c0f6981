package kube

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Resource is one kind in the version that a server serves. What is read as it is
// (see Untyped) is listed and followed, and nothing else. Methods do one call each; their errors are the API server's (k8s.io/apimachinery/pkg/api/errors).
type Resource struct {
	Kind    Kind
	Version string
	client  rest.Interface    // nil for kinds that are read as they are
	dynamic dynamic.Interface // for those
	codec   runtime.ParameterCodec
}

// GroupVersionKind is what the kind is called on the wire.
func (r Resource) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Kind.Group, Version: r.Version, Kind: r.Kind.wireName()}
}

// GroupVersionResource is what the kind is called in URLs.
func (r Resource) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Kind.Group, Version: r.Version, Resource: r.Kind.Resource}
}

// Get reads one object from the server.
func (r Resource) Get(ctx context.Context, name types.NamespacedName) (Object, error) {
	return r.do(ctx, r.to(r.client.Get(), name))
}

// Create makes an object.
func (r Resource) Create(ctx context.Context, obj Object) (Object, error) {
	name := types.NamespacedName{Namespace: obj.GetNamespace()}
	return r.do(ctx, r.to(r.client.Post(), name).VersionedParams(&metav1.CreateOptions{FieldManager: FieldManager}, r.codec).Body(obj))
}

// Update replaces an object, or a subresource of it ("status"), over the version
// in its resourceVersion.
func (r Resource) Update(ctx context.Context, obj Object, subresources ...string) (Object, error) {
	name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	return r.do(ctx, r.to(r.client.Put(), name, subresources...).
		VersionedParams(&metav1.UpdateOptions{FieldManager: FieldManager}, r.codec).Body(obj))
}

// Apply is server-side apply by force: body is what we own of the object or of a
// subresource. Its type, name and namespace are filled in.
func (r Resource) Apply(ctx context.Context, name types.NamespacedName, body map[string]any, subresources ...string) (Object, error) {
	gvk := r.GroupVersionKind()
	body["apiVersion"], body["kind"] = gvk.GroupVersion().String(), gvk.Kind
	meta, _ := body["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		body["metadata"] = meta
	}
	meta["name"] = name.Name
	if name.Namespace != "" {
		meta["namespace"] = name.Namespace
	}
	force := true
	return r.patch(ctx, types.ApplyPatchType, metav1.PatchOptions{FieldManager: FieldManager, Force: &force}, name, body, subresources)
}

// Merge is a JSON merge patch (RFC 7386).
func (r Resource) Merge(ctx context.Context, name types.NamespacedName, body map[string]any, subresources ...string) (Object, error) {
	return r.patch(ctx, types.MergePatchType, metav1.PatchOptions{FieldManager: FieldManager}, name, body, subresources)
}

func (r Resource) patch(ctx context.Context, how types.PatchType, o metav1.PatchOptions, name types.NamespacedName, body map[string]any, subresources []string) (Object, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("patch of %s %s: %w", r.Kind.Name, name, err)
	}
	return r.do(ctx, r.to(r.client.Patch(how), name, subresources...).VersionedParams(&o, r.codec).Body(text))
}

// Delete removes an object, if it is still the one of that UID.
func (r Resource) Delete(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	return r.to(r.client.Delete(), name).Body(&o).Do(ctx).Error()
}

func (r Resource) to(req *rest.Request, name types.NamespacedName, subresources ...string) *rest.Request {
	req = req.NamespaceIfScoped(name.Namespace, !r.Kind.Cluster).Resource(r.Kind.Resource)
	if name.Name != "" {
		req = req.Name(name.Name).SubResource(subresources...)
	}
	return req
}

func (r Resource) do(ctx context.Context, req *rest.Request) (Object, error) {
	obj := r.Kind.New()
	if err := req.Do(ctx).Into(obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// ListWatch reads all objects of the kind, and follows them.
func (r Resource) ListWatch() *cache.ListWatch {
	if r.Kind.untyped {
		return r.listWatchUntyped()
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := r.Kind.newList()
			err := r.client.Get().Resource(r.Kind.Resource).VersionedParams(&o, r.codec).Do(ctx).Into(list)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return r.client.Get().Resource(r.Kind.Resource).VersionedParams(&o, r.codec).Watch(ctx)
		},
	}
}
