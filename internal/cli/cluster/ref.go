package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
)

// The kinds of a Ref.
const (
	Gateway = "Gateway"
	Service = "Service"
)

// Ref names a Gateway or a Service.
type Ref struct {
	Kind string // Gateway or Service
	types.NamespacedName
}

// RefOf is whose plan a GatewayPlan is.
func RefOf(p *v1alpha1.GatewayPlan) Ref {
	out := Ref{Gateway, types.NamespacedName{Namespace: p.Namespace, Name: p.Name}}
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == Service {
		out.Kind, out.Name = Service, owner.Name
	}
	return out
}

// String is the object for people: "Gateway edge/shop".
func (r Ref) String() string { return r.Kind + " " + r.NamespacedName.String() }

func (r Ref) planName() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: v1alpha1.PlanName(r.Kind, r.Name)}
}

// path is where an API server has the object.
func (r Ref) path() string {
	if r.Kind == Service {
		return "/api/v1/namespaces/" + r.Namespace + "/services/" + r.Name
	}
	return "/apis/" + gwv1.GroupVersion.String() + "/namespaces/" + r.Namespace + "/gateways/" + r.Name
}
