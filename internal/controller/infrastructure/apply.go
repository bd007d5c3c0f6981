package infrastructure

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/internal/controller/status"
	"gatehouse.dev/internal/translate"
)

// tries are how often one object is looked at and written before a conflict is an
// error. The first look may be at an old version.
const tries = 3

// settle makes one object what it should be; nil content is that it should not be.
func (s *Services) settle(ctx context.Context, gateway *gwv1.Gateway, key translate.Key, want content) error {
	look := s.known
	var err error
	for range tries {
		var live *unstructured.Unstructured
		if live, err = look(ctx, key); err != nil {
			return err
		}
		err = s.write(ctx, gateway, key, live, want)
		if !apierrors.IsConflict(err) {
			return err
		}
		look = s.read
	}
	return err
}

func (s *Services) write(ctx context.Context, gateway *gwv1.Gateway, key translate.Key, live *unstructured.Unstructured, want content) error {
	owned := live != nil && metav1.IsControlledBy(live, gateway)
	var err error
	switch {
	case want == nil && !owned, want != nil && owned && want.is(live):
		return nil
	case live != nil && !owned:
		return fmt.Errorf("%w: it is there and is not the Gateway's", ErrNameTaken)
	case want == nil:
		err = s.remove(ctx, key, live)
	default:
		err = s.apply(ctx, key, live, want)
	}
	if err == nil && s.config.Wrote != nil {
		s.config.Wrote(key)
	}
	return err
}

// apply takes fields over only from an object that is ours already: one that
// somebody made this moment would be a conflict.
func (s *Services) apply(ctx context.Context, key translate.Key, live *unstructured.Unstructured, want content) error {
	gvr := resourceOf(key.Kind)
	config := maps.Clone(want)
	meta := maps.Clone(want["metadata"].(map[string]any))
	meta["name"], meta["namespace"] = key.Name, key.Namespace
	config["apiVersion"], config["kind"], config["metadata"] = gvr.GroupVersion().String(), key.Kind, meta
	ours := live != nil
	if ours {
		meta["uid"], meta["resourceVersion"] = string(live.GetUID()), live.GetResourceVersion()
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	_, err = s.resource(key).Patch(ctx, key.Name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: status.Manager, Force: &ours})
	return err
}

func (s *Services) remove(ctx context.Context, key translate.Key, live *unstructured.Unstructured) error {
	uid := live.GetUID()
	err := s.resource(key).Delete(ctx, key.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// known is the object as it was last seen, or as it is. Nil is that there is none.
func (s *Services) known(ctx context.Context, key translate.Key) (*unstructured.Unstructured, error) {
	if s.config.Current == nil {
		return s.read(ctx, key)
	}
	obj, ok := s.config.Current(key)
	if !ok {
		return s.read(ctx, key)
	}
	if u, is := obj.(*unstructured.Unstructured); is {
		return u, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	return &unstructured.Unstructured{Object: fields}, err
}

func (s *Services) read(ctx context.Context, key translate.Key) (*unstructured.Unstructured, error) {
	u, err := s.resource(key).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return u, err
}

func (s *Services) resource(key translate.Key) dynamic.ResourceInterface {
	gvr := resourceOf(key.Kind)
	return s.config.Client.Resource(gvr).Namespace(key.Namespace)
}

func resourceOf(kind string) schema.GroupVersionResource {
	if kind == translate.KindService {
		return corev1.SchemeGroupVersion.WithResource("services")
	}
	return discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
}

// is says whether an object has this content. Its digest tells that nothing of
// ours is left over in it; the rest must still be there.
func (c content) is(live *unstructured.Unstructured) bool {
	return contains(live.Object, map[string]any(c))
}

// contains says whether a value has all of another one, in whatever order.
func contains(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		for field, value := range w {
			ok = ok && contains(h[field], value)
		}
		return ok
	case []any:
		h, _ := have.([]any)
		for _, value := range w {
			found := false
			for _, entry := range h {
				found = found || contains(entry, value)
			}
			if !found {
				return false
			}
		}
		return true
	default:
		return have == want
	}
}
