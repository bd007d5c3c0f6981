package translate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/lbmodel"
)

// service writes the status of a Service with a load balancer of ours. Its
// conditions carry the provider's name in their type, so that two managers never
// write the same one; and say whose a Service was: see claimOf.
func (w *statusWriter) service(key Key) {
	svc, claim, ok := w.x.balanced(key)
	if !ok {
		return
	}
	v := w.views[key]
	want := svc.Status.DeepCopy()
	if v.applied && claim.stage != leaving {
		want.LoadBalancer.Ingress = v.ingress(svc)
	}
	c := newConditions(svc.Status.Conditions, svc.Generation, w.now)
	v.serviceConditions(c, svc, claim)
	want.Conditions = c.list
	w.patch(key, svc, &svc.Status, want)
}

// forgetService takes what is ours out of the status of a Service that is not ours
// any more: our conditions, and our addresses unless another's load balancer may have
// written its own by now.
func (w *statusWriter) forgetService(key Key) {
	svc, ok := lookup[*corev1.Service](w.x, key.Kind, key.Namespace, key.Name)
	if !ok {
		return
	}
	provider, signed := w.x.signedBy(svc)
	if !signed {
		return
	}
	want := svc.Status.DeepCopy()
	want.Conditions = slices.DeleteFunc(want.Conditions, func(c metav1.Condition) bool {
		// How members of meshes reach it is another matter: see ServiceTLS.
		return strings.HasPrefix(c.Type, serviceCondition(provider, "")) && c.Type != serviceCondition(provider, CondBackendTLS)
	})
	if len(want.Conditions) == 0 {
		want.Conditions = nil
	}
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		want.LoadBalancer = corev1.LoadBalancerStatus{}
	}
	w.patch(key, svc, &svc.Status, want)
}

func (v *gatewayView) serviceConditions(c *conditionList, svc *corev1.Service, claim serviceClaim) {
	kind := func(name string) string { return serviceCondition(claim.provider, name) }
	c.set(kind(condAccepted), v.serviceAccepted())
	partial, _ := firstOf(v.findings, condPartial)
	if partial.reason != "" {
		partial.status = metav1.ConditionTrue
	}
	c.put(kind(condPartial), partial)
	unresolved, _ := firstOf(v.findings, condResolvedRefs)
	c.put(kind(condResolvedRefs), unresolved)
	if verdict, known := v.hindered(c.fresh(kind(condProgrammed))); known && v.outcome.Unseen != nil && v.accepted {
		c.set(kind(condProgrammed), verdict)
	} else if verdict, known := v.serviceProgrammed(svc); known {
		c.set(kind(condProgrammed), verdict)
	}
	if verdict, known := v.inSync(); known {
		c.set(kind(CondInSync), verdict)
	}
}

// serviceAccepted also says why ports are not served: they have no conditions of
// their own, as listeners do.
func (v *gatewayView) serviceAccepted() verdict {
	out := v.acceptedVerdict
	var ports []lbmodel.Finding
	for _, l := range v.own() {
		ports = append(ports, v.about(l.source())...)
	}
	if why, ok := firstOf(ports, condAccepted); ok && out.reason == reasonPortsNotValid {
		out.message += ": " + why.message
	}
	return out
}

// serviceProgrammed is what it is for a Gateway, but that a Service says so while
// it goes: a person waits for it.
func (v *gatewayView) serviceProgrammed(svc *corev1.Service) (verdict, bool) {
	if !v.result.Deleting {
		return v.gatewayProgrammed()
	}
	if bad, ok := v.failure(func(lbmodel.Source) bool { return true }); ok {
		return bad, bad.reason != ""
	}
	return no(reasonDeleting, "the load balancer is being deleted"), true
}

// ingress is where a Service's clients find it: its addresses in the order of its
// families, each with every port and what is wrong with it.
func (v *gatewayView) ingress(svc *corev1.Service) (out []corev1.LoadBalancerIngress) {
	mode := corev1.LoadBalancerIPModeVIP
	if v.proxied(svc) {
		mode = corev1.LoadBalancerIPModeProxy
	}
	for _, a := range v.outcome.Addresses {
		in := corev1.LoadBalancerIngress{Hostname: a.Value, Ports: v.portStatuses(svc)}
		if a.Type != lbmodel.AddressHostname {
			in.Hostname, in.IP, in.IPMode = "", a.Value, &mode
		}
		out = append(out, in)
	}
	if len(svc.Spec.IPFamilies) > 0 && svc.Spec.IPFamilies[0] == corev1.IPv6Protocol {
		slices.SortStableFunc(out, func(a, b corev1.LoadBalancerIngress) int {
			return strings.Count(b.IP, ":") - strings.Count(a.IP, ":")
		})
	}
	return out
}

func (v *gatewayView) proxied(svc *corev1.Service) bool {
	claim, _ := v.w.x.claimOf(svc)
	c := v.w.x.serviceClass(svc, claim)
	return c.offers(lbmodel.FeatureProxied)
}

// portStatuses tell each port's trouble by a word of ours: the API reserves words
// without a domain.
func (v *gatewayView) portStatuses(svc *corev1.Service) (out []corev1.PortStatus) {
	for i, l := range v.own() {
		p := svc.Spec.Ports[i]
		status := corev1.PortStatus{Port: p.Port, Protocol: corev1.Protocol(l.protocol())}
		if word := v.portTrouble(l); word != "" {
			word = groupGatehouse + "/" + word
			status.Error = &word
		}
		out = append(out, status)
	}
	return out
}

func (v *gatewayView) portTrouble(l *listener) string {
	if bad, refused := firstOf(v.about(l.source()), condAccepted); refused {
		return bad.reason
	}
	if !v.accepted || !l.serves() {
		return reasonInvalid
	}
	if err := v.failureOf(l.model); err != nil {
		return failureReason(lbmodel.CodeOf(err))
	}
	return ""
}
