package fakeapi

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	gwapply "sigs.k8s.io/gateway-api/applyconfiguration"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"gatehouse.dev/api/v1alpha1"
)

// fields keeps track of who owns which field, with the list types of the APIs'
// own schemas.
type fields struct {
	core, gateway managedfields.TypeConverter
}

func newFields() (*fields, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme, gwv1.Install, gwxv1alpha1.Install} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return &fields{core: applyconfigurations.NewTypeConverter(scheme), gateway: gwapply.NewTypeConverter(scheme)}, nil
}

func (f *fields) manager(kind schema.GroupVersionKind, subresource string) (*managedfields.FieldManager, error) {
	return managedfields.NewDefaultCRDFieldManager(f, unchanged{}, unchanged{}, unchanged{}, kind, kind.GroupVersion(), subresource, nil)
}

func (f *fields) update(live, next *unstructured.Unstructured, manager, subresource string) (*unstructured.Unstructured, error) {
	m, err := f.manager(next.GroupVersionKind(), subresource)
	if err != nil {
		return nil, err
	}
	next.SetManagedFields(live.GetManagedFields())
	return asUnstructured(m.Update(live, next, manager))
}

func (f *fields) apply(live, config *unstructured.Unstructured, t target) (*unstructured.Unstructured, error) {
	m, err := f.manager(config.GroupVersionKind(), t.subresource())
	if err != nil {
		return nil, err
	}
	return asUnstructured(m.Apply(live, config, t.manager, t.force))
}

func asUnstructured(obj runtime.Object, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	out, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("a %T came back", obj)
	}
	return out, nil
}

// ObjectToTyped reads an object by its own API's schema.
func (f *fields) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	switch obj.GetObjectKind().GroupVersionKind().Group {
	case gwv1.GroupName, gwxv1alpha1.GroupName:
		return f.gateway.ObjectToTyped(obj, options...)
	case v1alpha1.GroupName: // it has no schema here: every list is one value
		return managedfields.NewDeducedTypeConverter().ObjectToTyped(obj, options...)
	default:
		return f.core.ObjectToTyped(obj, options...)
	}
}

// TypedToObject is the way back.
func (f *fields) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return f.core.TypedToObject(value)
}

// unchanged converts between versions and sets defaults by doing nothing: there is
// one version of each kind here.
type unchanged struct{}

// Convert is never needed.
func (unchanged) Convert(in, out, _ any) error {
	return fmt.Errorf("no conversion from %T to %T", in, out)
}

// ConvertToVersion gives the object back.
func (unchanged) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// ConvertFieldLabel gives the label back.
func (unchanged) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default sets nothing.
func (unchanged) Default(runtime.Object) {}

// New is an empty object.
func (unchanged) New(kind schema.GroupVersionKind) (runtime.Object, error) { return blank(kind), nil }
