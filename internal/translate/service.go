package translate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// Finalizer keeps a Gateway or Service until its cloud resources are gone.
const Finalizer = "gatehouse.dev/cloud-resources"

// serviceClaim is what a Service has to do with us.
type serviceClaim struct {
	provider string
	stage    serviceStage
	kept     bool // by the finalizer of a service controller, which writes its status too
}

// serviceStage is where a Service stands.
type serviceStage uint8

const (
	asking   serviceStage = iota // it asks for a load balancer of ours
	leaving                      // it did, and asks for none any more
	orphaned                     // it did, and nobody says who serves it now
)

// claimOf says whether a Service is any of our business.
//
// One that has a class of somebody else is not, whatever else it says: two
// managers may run side by side. That we served one before, and still hold it, is
// known from our finalizer together with our conditions in its status, whose type
// names the provider. The finalizer alone proves nothing: all providers' is the same.
//
// Of a Service without a class it is the service controller's finalizer: what that
// one still holds, and is not asked for, is to go as our parameters say.
func (x *Index) claimOf(svc *corev1.Service) (serviceClaim, bool) {
	keeper := x.options.ServiceKeeper
	if provider, ok := x.asks(svc); ok {
		return serviceClaim{provider, asking, keeper != "" && svc.Spec.LoadBalancerClass == nil}, true
	}
	provider, signed := x.signedBy(svc)
	switch unset := svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil; {
	case signed && slices.Contains(svc.Finalizers, Finalizer) && unset && svc.DeletionTimestamp == nil:
		return serviceClaim{provider, orphaned, false}, true
	case signed && slices.Contains(svc.Finalizers, Finalizer):
		return serviceClaim{provider, leaving, false}, true
	case keeper != "" && x.options.ServiceDefault != "" && slices.Contains(svc.Finalizers, keeper):
		return serviceClaim{x.options.ServiceDefault, leaving, true}, true
	default:
		return serviceClaim{}, false
	}
}

// Claimed says whether a Service is any of our business.
func (x *Index) Claimed(svc *corev1.Service) bool {
	_, ok := x.claimOf(svc)
	return ok
}

// Unclaimed says whether a Service has our finalizer and nobody of this project can be
// asked for it: it asks for somebody else, or goes and asks for nobody by name, and has
// nobody's conditions.
func (x *Index) Unclaimed(key Key) bool {
	svc, _, ours := x.balanced(key)
	if svc == nil || ours || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || !slices.Contains(svc.Finalizers, Finalizer) {
		return false
	}
	class := deref(svc.Spec.LoadBalancerClass, "")
	if strings.HasPrefix(class, groupGatehouse+"/") || class == "" && svc.DeletionTimestamp == nil {
		return false
	}
	return !slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
		return strings.HasSuffix(c.Type, "."+groupGatehouse+"/"+condAccepted)
	})
}

// Kept says whether a service controller keeps a Service that is our business: its
// finalizer and its status are that one's then.
func (x *Index) Kept(svc *corev1.Service) bool {
	claim, ok := x.claimOf(svc)
	return ok && claim.kept
}

// asks says which of our providers a Service asks for a load balancer.
func (x *Index) asks(svc *corev1.Service) (provider string, ok bool) {
	switch class := svc.Spec.LoadBalancerClass; {
	case svc.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return "", false
	case class == nil:
		return x.options.ServiceDefault, x.options.ServiceDefault != ""
	default:
		return x.options.provider(gwv1.GatewayController(*class))
	}
}

// signedBy is the provider of ours that has conditions in a Service's status.
func (x *Index) signedBy(svc *corev1.Service) (provider string, ok bool) {
	for _, c := range svc.Status.Conditions {
		if provider, ours := strings.CutSuffix(c.Type, "."+groupGatehouse+"/"+condAccepted); ours && x.options.serves(provider) {
			return provider, true
		}
	}
	return "", false
}

// serviceCondition is a condition of a Service that is about its load balancer
// with one provider.
func serviceCondition(provider, kind string) string {
	return provider + "." + groupGatehouse + "/" + strings.TrimPrefix(kind, groupGatehouse+"/")
}

// serves says whether a provider is one of ours.
func (o Options) serves(provider string) bool {
	for name, p := range o.Controllers {
		if p == provider || strings.HasSuffix(name, "/") && provider != "" {
			return true
		}
	}
	return o.ServiceDefault == provider && provider != ""
}

// balanced is a Service that is our business.
func (x *Index) balanced(key Key) (svc *corev1.Service, claim serviceClaim, ok bool) {
	svc, ok = lookup[*corev1.Service](x, key.Kind, key.Namespace, key.Name)
	if !ok {
		return nil, claim, false
	}
	claim, ok = x.claimOf(svc)
	return svc, claim, ok
}

// sameClaim also sees what claims are made of outside of the spec.
func (x *Index) sameClaim(a, b *corev1.Service) bool {
	before, wasOurs := x.claimOf(a)
	after, isOurs := x.claimOf(b)
	return before == after && wasOurs == isOurs
}

// serviceBelonging: of a load balancer of somebody else's class, or of none, and of
// a Service with the conditions of another provider of this project, nobody here can
// say who else holds it, with a finalizer that reads as ours does.
func (x *Index) serviceBelonging(key Key) Belonging {
	svc, _, ours := x.balanced(key)
	if svc == nil {
		return Belonging{}
	}
	class := deref(svc.Spec.LoadBalancerClass, "")
	_, signed := x.signedBy(svc)
	others := svc.Spec.Type == corev1.ServiceTypeLoadBalancer || !signed && slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
		return strings.HasSuffix(c.Type, "."+groupGatehouse+"/"+condAccepted)
	})
	return Belonging{Exists: true, Class: class, ClassExists: ours || !others, Controller: class, Ours: ours}
}

// serviceClass is a provider with the parameters that its Services have.
func (x *Index) serviceClass(svc *corev1.Service, claim serviceClaim) class {
	c := class{controller: gwv1.GatewayController(deref(svc.Spec.LoadBalancerClass, "")), provider: claim.provider}
	c.params, c.settings, c.problem = x.serviceParameters(c.provider)
	x.offersOf(&c)
	return c
}

// serviceEdges: a Service that is our business is listed, and changes with its
// provider's parameters and, if it has node ports, with the nodes.
func (x *Index) serviceEdges(svc *corev1.Service) (e edges) {
	claim, ok := x.claimOf(svc)
	if !ok {
		return edges{}
	}
	e.listIn = []Key{{Kind: kindBalanced}}
	if p, ok := x.options.ServiceParameters[claim.provider]; ok {
		e.reads = append(e.reads, Key{KindParameters, p.Namespace, p.Name})
	}
	if slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort != 0 }) {
		e.reads = append(e.reads, Key{Kind: kindNodes})
	}
	return e
}

// mattersToService says whether a change that reaches a Service matters to its own
// load balancer, and not only to routes that lead to it.
func (x *Index) mattersToService(start, service Key) bool {
	switch start.Kind {
	case KindService:
		return true
	case KindEndpointSlice, KindPod, KindNode:
		return x.targetsOf(service).pods
	default:
		return false
	}
}

// usesNodes says whether a change of nodes matters to a Service.
func (x *Index) usesNodes(service Key) bool { return x.targetsOf(service).nodes }

// serviceTargets are what a Service's load balancer sends to.
type serviceTargets struct{ pods, nodes bool }

func (x *Index) targetsOf(key Key) (out serviceTargets) {
	svc, claim, ok := x.balanced(key)
	if !ok {
		return out
	}
	c := x.serviceClass(svc, claim)
	for i := range svc.Spec.Ports {
		if byNodes(c.params, svc, &svc.Spec.Ports[i]) {
			out.nodes = true
		} else {
			out.pods = true
		}
	}
	return out
}

// service translates a Service of type LoadBalancer.
func (x *Index) service(key Key) Result {
	svc, claim, ok := x.balanced(key)
	if !ok {
		return Result{Gone: true}
	}
	t := &balancing{translation: translation{
		x: x, key: key, class: x.serviceClass(svc, claim), finder: finder{x: x}, pools: map[string]*poolState{},
	}, svc: svc}
	t.params, t.loopback = t.class.params, x.loopbackAllowed(t.class)
	out := Result{
		Provider: claim.provider, Parameters: t.params, loopback: t.loopback,
		Deleting: claim.stage == leaving || svc.DeletionTimestamp != nil,
		Skip:     t.skip(claim),
	}
	out.Gateway = t.model()
	out.Findings, out.listeners, out.ports = uniqueFindings(t.findings), t.listeners, t.ports
	return out
}

// skip says why nothing may be planned. A Service that goes needs no parameters:
// what is missing are only the settings of what it does not want any more.
func (t *balancing) skip(claim serviceClaim) string {
	var detail, reason string
	switch {
	case claim.stage == orphaned:
		reason = reasonPending
		detail = fmt.Sprintf("it has no loadBalancerClass, and the manager no default for such Services (it was provider %s): "+
			"set the default again, or delete the Service; what is in the cloud stays as it is", claim.provider)
	case t.class.problem != "":
		reason, detail = string(gwv1.GatewayReasonInvalidParameters), t.class.problem
	default:
		return ""
	}
	t.find(lbmodel.Finding{About: t.key.source(""), Condition: condAccepted, Reason: reason, Detail: detail, Code: lbmodel.CodeInvalid})
	return detail
}
