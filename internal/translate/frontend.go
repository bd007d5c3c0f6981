package translate

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// frontendValidations are all client validations of a gateway: the default, then
// those of single ports.
func frontendValidations(f *gwv1.FrontendTLSConfig) []*gwv1.FrontendTLSValidation {
	if f == nil {
		return nil
	}
	var out []*gwv1.FrontendTLSValidation
	if f.Default.Validation != nil {
		out = append(out, f.Default.Validation)
	}
	for _, p := range f.PerPort {
		if p.TLS.Validation != nil {
			out = append(out, p.TLS.Validation)
		}
	}
	return out
}

// validationOf is what holds for a port: its own configuration instead of the
// default, also when that configuration validates nothing.
func validationOf(f *gwv1.FrontendTLSConfig, port int32) *gwv1.FrontendTLSValidation {
	for _, p := range f.PerPort {
		if p.Port == port {
			return p.TLS.Validation
		}
	}
	return f.Default.Validation
}

// validateClients gives an HTTPS listener the client validation of its port.
// Bad references cost themselves; without a single good one the listener is
// refused, because serving it would mean validating nobody.
func (t *translation) validateClients(l *listener) {
	tls := t.gateway.Spec.TLS
	if tls == nil || tls.Frontend == nil || l.protocol() != lbmodel.ProtocolHTTPS {
		return
	}
	v := validationOf(tls.Frontend, l.spec.Port)
	if v == nil {
		return
	}
	insecure := v.Mode == gwv1.AllowInsecureFallback
	if need := clientFeature(v.Mode); !t.class.offers(need) {
		t.refuse(l, string(gwv1.ListenerReasonUnsupportedValue),
			fmt.Sprintf("provider %s cannot validate client certificates in mode %s; it lacks %s", t.class.provider, v.Mode, need), lbmodel.CodeUnsupported)
		return
	}
	keys, roots := t.clientRoots(l, v)
	if len(keys) == 0 {
		t.refuse(l, string(gwv1.ListenerReasonNoValidCACertificate),
			"no reference in the Gateway's spec.tls.frontend gives a CA certificate to validate clients with", lbmodel.CodeUnresolved)
		return
	}
	trust := t.addTrust(t.key.source("spec.tls.frontend"), keys, roots)
	l.model.TLS.Validation = &lbmodel.ClientValidation{Trust: trust, Insecure: insecure}
}

func clientFeature(mode gwv1.FrontendValidationModeType) lbmodel.Feature {
	if mode == gwv1.AllowInsecureFallback {
		return lbmodel.FeatureInsecureFallback
	}
	return lbmodel.FeatureClientValidation
}

func (t *translation) clientRoots(l *listener, v *gwv1.FrontendTLSValidation) (keys []Key, roots []lbmodel.Root) {
	from := referrer{KindGateway, t.key.Namespace}
	for i, ref := range v.CACertificateRefs {
		key, found, problem := t.caBundle(from, string(ref.Group), string(ref.Kind), ref.Namespace, string(ref.Name))
		if problem != nil {
			t.find(lbmodel.Finding{About: l.source(), Condition: condResolvedRefs, Reason: frontendReason(problem.kind),
				Detail: fmt.Sprintf("Gateway spec.tls.frontend caCertificateRefs[%d]: %s", i, problem.detail), Code: lbmodel.CodeUnresolved})
			continue
		}
		keys, roots = append(keys, key), append(roots, found...)
	}
	return keys, roots
}

func frontendReason(f caFault) string {
	switch f {
	case caBadKind:
		return string(gwv1.ListenerReasonInvalidCACertificateKind)
	case caDenied:
		return reasonRefNotPermitted
	default:
		return string(gwv1.ListenerReasonInvalidCACertificateRef)
	}
}
