package status

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"gatehouse.dev/internal/translate"
)

// resource is where one object's status is written.
type resource struct {
	client     dynamic.ResourceInterface
	apiVersion string
}

func (w *Writer) resource(key translate.Key) (resource, bool) {
	gvr, ok := w.config.Resource(key.Kind)
	if !ok {
		return resource{}, false
	}
	r := resource{apiVersion: gvr.GroupVersion().String()}
	if r.client = w.config.Client.Resource(gvr); key.Namespace != "" {
		r.client = w.config.Client.Resource(gvr).Namespace(key.Namespace)
	}
	return r, true
}

// apply says what is ours in a status. The version makes it a read-modify-write:
// a status from before an edit of the object is not written over one from after it.
func (r resource) apply(ctx context.Context, key translate.Key, live object, ours map[string]any) (object, error) {
	metadata := map[string]any{"name": key.Name, "uid": live.uid, "resourceVersion": live.version}
	if key.Namespace != "" {
		metadata["namespace"] = key.Namespace
	}
	force := true
	return r.send(ctx, key.Name, types.ApplyPatchType, metav1.PatchOptions{FieldManager: Manager, Force: &force}, map[string]any{
		"apiVersion": r.apiVersion, "kind": key.Kind, "metadata": metadata, "status": ours,
	})
}

// patch changes, adds and removes single entries of the version that was read:
// setting the version to what it is makes the API server compare it.
func (r resource) patch(ctx context.Context, key translate.Key, version string, operations []operation) (object, error) {
	return r.send(ctx, key.Name, types.JSONPatchType, metav1.PatchOptions{FieldManager: Manager},
		slices.Insert(operations, 0, operation{"replace", "/metadata/resourceVersion", version}))
}

func (r resource) send(ctx context.Context, name string, form types.PatchType, options metav1.PatchOptions, body any) (object, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return object{}, err
	}
	obj, err := r.client.Patch(ctx, name, form, text, options, "status")
	if err != nil {
		return object{}, err
	}
	return objectOf(obj)
}
