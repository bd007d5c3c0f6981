package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// inUse keeps GatewayParameters that a class or a gateway names.
const inUse = "gatehouse.dev/in-use"

// The finalizers that are ours to set, by kind.
func finalizerOf(kind string) string {
	switch kind {
	case translate.KindGatewayClass:
		return gwv1.GatewayClassFinalizerGatewaysExist
	case translate.KindParameters:
		return inUse
	default:
		return translate.Finalizer
	}
}

// bind adds our finalizer to an object. One that is going gets none: it is not
// bound then, and nothing may be made for it.
func (c *Controller) bind(ctx context.Context, kind string, obj metav1.Object) (bound bool, err error) {
	return c.refinalize(ctx, kind, obj, withFinalizer)
}

// unbind takes our finalizer from an object.
func (c *Controller) unbind(ctx context.Context, kind string, obj metav1.Object) error {
	_, err := c.refinalize(ctx, kind, obj, withoutFinalizer)
	return err
}

// finalizing is what an object's finalizers should be, if anything else.
type finalizing func(obj metav1.Object, finalizer string) (list []string, differs bool)

func withFinalizer(obj metav1.Object, finalizer string) ([]string, bool) {
	have := obj.GetFinalizers()
	if slices.Contains(have, finalizer) || obj.GetDeletionTimestamp() != nil {
		return have, false
	}
	return append(slices.Clone(have), finalizer), true
}

func withoutFinalizer(obj metav1.Object, finalizer string) ([]string, bool) {
	have := obj.GetFinalizers()
	if !slices.Contains(have, finalizer) {
		return have, false
	}
	return slices.DeleteFunc(slices.Clone(have), func(f string) bool { return f == finalizer }), true
}

// refinalize brings an object's finalizers about, over the version that they were
// read from: others have finalizers too. It says whether ours is there at the end.
func (c *Controller) refinalize(ctx context.Context, kind string, obj metav1.Object, want finalizing) (bool, error) {
	r, served := c.clients.Resource(kind)
	name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	uid, finalizer, asked := obj.GetUID(), finalizerOf(kind), asks(obj)
	const tries = 5
	for try := 1; served; try++ {
		list, differs := want(obj, finalizer)
		if !differs {
			return slices.Contains(list, finalizer), nil
		}
		_, err := r.Merge(ctx, name, map[string]any{"metadata": map[string]any{
			"uid": uid, "resourceVersion": obj.GetResourceVersion(), "finalizers": list,
		}})
		switch {
		case err == nil:
			return slices.Contains(list, finalizer), nil
		case apierrors.IsNotFound(err):
			return false, nil
		case !apierrors.IsConflict(err) || try == tries:
			return false, fmt.Errorf("finalizer of %s %s: %w", kind, name, err)
		}
		fresh, err := r.Get(ctx, name)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("finalizer of %s %s: %w", kind, name, err)
		}
		if fresh.GetUID() != uid {
			return false, nil // another object by the same name
		}
		if now := asks(fresh); now != asked {
			return false, lbmodel.Errorf(lbmodel.CodePending, "finalizer", lbmodel.ID{}, "%s %s asks for %q by now, and not for %q", kind, name, now, asked)
		}
		obj = fresh
	}
	return false, nil
}

// asks is whom an object asks for: a finalizer that was right for one answer may be
// wrong for the next.
func asks(obj metav1.Object) string {
	switch o := obj.(type) {
	case *gwv1.Gateway:
		return string(o.Spec.GatewayClassName)
	case *corev1.Service:
		if o.Spec.LoadBalancerClass != nil {
			return string(o.Spec.Type) + " of " + *o.Spec.LoadBalancerClass
		}
		return string(o.Spec.Type)
	default:
		return ""
	}
}
