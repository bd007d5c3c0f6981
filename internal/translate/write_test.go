package translate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/api/v1alpha1"
)

// written is the change that an API server makes of patches.
func written(t testing.TB, x *Index, patches []Patch) (c Change) {
	t.Helper()
	for _, p := range patches {
		obj := x.at(p.Key).obj
		c.Put = append(c.Put, withStatus(t, obj, p.Status))
	}
	return c
}

func withStatus(t testing.TB, obj, status any) any {
	t.Helper()
	switch o := obj.(type) {
	case *gwv1.GatewayClass:
		o = o.DeepCopy()
		o.Status = *status.(*gwv1.GatewayClassStatus)
		return o
	case *gwv1.Gateway:
		o = o.DeepCopy()
		o.Status = *status.(*gwv1.GatewayStatus)
		return o
	case *gwv1.ListenerSet:
		o = o.DeepCopy()
		o.Status = *status.(*gwv1.ListenerSetStatus)
		return o
	case *corev1.Service:
		o = o.DeepCopy()
		o.Status = *status.(*corev1.ServiceStatus)
		return o
	case *gwv1.BackendTLSPolicy:
		o = o.DeepCopy()
		o.Status = *status.(*gwv1.PolicyStatus)
		return o
	case *v1alpha1.MeshBinding:
		o = o.DeepCopy()
		o.Status = *status.(*v1alpha1.MeshBindingStatus)
		return o
	case *gwxv1alpha1.XBackend:
		o = o.DeepCopy()
		o.Status = *status.(*gwxv1alpha1.BackendStatus)
		return o
	default:
		return routeWithStatus(t, obj, status)
	}
}

func routeWithStatus(t testing.TB, obj, status any) any {
	t.Helper()
	switch o := obj.(type) {
	case *gwv1.HTTPRoute:
		o = o.DeepCopy()
		o.Status = *status.(*gwv1.HTTPRouteStatus)
		return o
	case *gwv1.GRPCRoute:
		o = o.DeepCopy()
		o.Status = *status.(*gwv1.GRPCRouteStatus)
		return o
	case *gwv1.TLSRoute:
		o = o.DeepCopy()
		o.Status = *status.(*gwv1.TLSRouteStatus)
		return o
	case *gwv1.TCPRoute:
		o = o.DeepCopy()
		o.Status = *status.(*gwv1.TCPRouteStatus)
		return o
	case *gwv1.UDPRoute:
		o = o.DeepCopy()
		o.Status = *status.(*gwv1.UDPRouteStatus)
		return o
	default:
		t.Fatalf("no status for %T", obj)
		return nil
	}
}
