package translate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// classes writes the status of our classes.
func (w *statusWriter) classes() {
	for _, class := range w.x.classes() {
		obj := class.obj
		want := obj.Status.DeepCopy()
		c := newConditions(obj.Status.Conditions, obj.Generation, w.now)
		accepted := yes(string(gwv1.GatewayClassReasonAccepted), "")
		if class.problem != "" {
			accepted = no(string(gwv1.GatewayClassReasonInvalidParameters), class.problem)
		}
		c.set(condAccepted, accepted)
		version := yes(string(gwv1.GatewayClassReasonSupportedVersion), "")
		if problem := w.x.options.VersionProblem; problem != "" {
			version = no(string(gwv1.GatewayClassReasonUnsupportedVersion), problem)
		}
		c.set(condVersion, version)
		want.Conditions = c.list
		want.SupportedFeatures = w.x.options.supportedFeatures(&class)
		w.patch(Key{Kind: KindGatewayClass, Name: obj.Name}, obj, &obj.Status, want)
	}
}
