package controller

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
)

// blocked says what keeps a deleted object, or a load balancer that is not asked for
// any more, until a person does something, and what that is; "" is that nothing does.
func (c *Controller) blocked(g reconcile.Gateway, obj metav1.Object) string {
	switch {
	case !g.Result.Deleting && obj.GetDeletionTimestamp() == nil:
		return ""
	case g.Result.Skip != "":
		return g.Result.Skip
	case g.Paused:
		return "nothing is changed and nothing is deleted while the annotation " + reconcile.PausedAnnotation + " is there: remove it to go on"
	case g.Result.Parameters.Deletion == v1alpha1.DeletionProtect:
		return "it is not deleted: " + c.rulesOf(g, obj) + " say deletion: Protect; say Delete there to go on, or Retain to let go of what it has in the cloud"
	}
	return ""
}

// rulesOf names the parameters that decide what becomes of a gateway when it goes: of
// several those that say what is done.
func (c *Controller) rulesOf(g reconcile.Gateway, obj metav1.Object) string {
	var refs []translate.Key
	x := c.loop.Index()
	if gateway, is := obj.(*gwv1.Gateway); is {
		if i := gateway.Spec.Infrastructure; i != nil && i.ParametersRef != nil {
			refs = append(refs, translate.Key{Kind: translate.KindParameters, Namespace: gateway.Namespace, Name: i.ParametersRef.Name})
		}
		class, _ := x.Object(translate.Key{Kind: translate.KindGatewayClass, Name: string(gateway.Spec.GatewayClassName)}).(*gwv1.GatewayClass)
		if class != nil && class.Spec.ParametersRef != nil && class.Spec.ParametersRef.Namespace != nil {
			refs = append(refs, translate.Key{Kind: translate.KindParameters, Namespace: string(*class.Spec.ParametersRef.Namespace), Name: class.Spec.ParametersRef.Name})
		}
	} else if name, is := c.config.ServiceParameters[g.Result.Provider]; is {
		refs = append(refs, translate.Key{Kind: translate.KindParameters, Namespace: name.Namespace, Name: name.Name})
	}
	var names []string
	for _, ref := range refs {
		if p, is := x.Object(ref).(*v1alpha1.GatewayParameters); is && p.Spec.Deletion == g.Result.Parameters.Deletion {
			names = append(names, translate.KindParameters+" "+ref.Namespace+"/"+ref.Name)
		}
	}
	if names = slices.Compact(names); len(names) == 0 {
		return "its GatewayParameters"
	}
	return strings.Join(names, " and ")
}
