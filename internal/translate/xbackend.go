package translate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/lbmodel"
)

// followXBackend resolves a reference to an XBackend, which says itself how it
// is reached: a BackendTLSPolicy has no say in it, and neither has the Gateway's
// client certificate.
func (t *translation) followXBackend(u backendUse) resolution {
	b, ok := lookup[*gwxv1alpha1.XBackend](t.x, KindXBackend, u.to.namespace, u.to.name)
	if !ok {
		return refused(string(gwv1.RouteReasonBackendNotFound), "XBackend %s/%s does not exist", u.to.namespace, u.to.name)
	}
	key := Key{KindXBackend, b.Namespace, b.Name}
	t.backends[key] = true
	if u.port != 0 {
		return refused(reasonUnsupportedValue, "a reference to an XBackend must not have a port; XBackend %s says it itself", key.path())
	}
	if problem := xbackendProblem(b); problem != "" {
		t.aboutXBackend(key, reasonInvalid, problem)
		return refused(reasonInvalidBackend, "XBackend %s: %s", key.path(), problem)
	}
	tls, reason, problem := t.xbackendTLS(key, b)
	if problem != "" {
		t.aboutXBackend(key, reason, problem)
		r := refused(reasonInvalidBackendTLS, "XBackend %s: %s", key.path(), problem)
		r.tls = reasonInvalidBackendTLS
		return r
	}
	protocol, unfit := xbackendProtocol(u, b, tls)
	if unfit != "" {
		return refused(string(gwv1.RouteReasonUnsupportedProtocol), "XBackend %s: %s", key.path(), unfit)
	}
	persist, problem := persistenceOfXBackend(b, key)
	if problem != "" {
		t.aboutXBackend(key, reasonUnsupportedValue, problem)
		return refused(reasonInvalidBackend, "XBackend %s: %s", key.path(), problem)
	}
	group := t.group(u, key, int32(b.Spec.Port.Number))
	pool := lbmodel.Pool{Source: key.source(""), Protocol: protocol, TLS: tls, Persistence: persist, Group: group.String()}
	if len(t.members) > 0 && u.joinable() && b.Spec.EndpointSelector != nil {
		return t.meshPool(u, pool, group)
	}
	return t.pool(u, pool, func() endpointSet { return t.finder.endpoints(group) })
}

func (t *translation) aboutXBackend(key Key, reason, detail string) {
	t.find(lbmodel.Finding{About: key.source(""), Parent: t.key.source(""), Condition: condAccepted, Reason: reason, Detail: detail, Code: lbmodel.CodeInvalid})
}

// xbackendProblem checks what its schema would, and names that no gateway may be
// sent to.
func xbackendProblem(b *gwxv1alpha1.XBackend) string {
	if n := b.Spec.Port.Number; n < 1 || n > 65535 {
		return fmt.Sprintf("spec.port.number %d is not between 1 and 65535", n)
	}
	switch {
	case b.Spec.Type == gwxv1alpha1.BackendTypeExternalHostname && b.Spec.ExternalHostname != nil:
		if rule, bad := lbmodel.ForbiddenName(string(b.Spec.ExternalHostname.Hostname)); bad {
			return fmt.Sprintf("spec.externalHostname.hostname is refused: %s", rule)
		}
		return ""
	case b.Spec.Type == gwxv1alpha1.BackendTypeEndpointSelector && b.Spec.EndpointSelector != nil:
		if len(b.Spec.EndpointSelector.MatchLabels) == 0 {
			return "spec.endpointSelector.matchLabels is empty and would select every pod"
		}
		return ""
	default:
		return fmt.Sprintf("spec.type %q is not one of ExternalHostname, EndpointSelector, or the field of that name is missing", b.Spec.Type)
	}
}

// xbackendTLS is the TLS of an XBackend's hop; nil is mode None.
func (t *translation) xbackendTLS(key Key, b *gwxv1alpha1.XBackend) (tls *lbmodel.BackendTLS, reason, problem string) {
	in := b.Spec.TLS
	if in == nil || in.Mode == gwxv1alpha1.BackendTLSModeNone {
		return nil, "", ""
	}
	mutual := in.Mode == gwxv1alpha1.BackendTLSModeClientAndServer
	switch {
	case !mutual && in.Mode != gwxv1alpha1.BackendTLSModeServerOnly:
		return nil, reasonUnsupportedValue, fmt.Sprintf("spec.tls.mode %q is not one of None, ServerOnly, ClientAndServer", in.Mode)
	case in.Validation == nil:
		return nil, reasonInvalid, fmt.Sprintf("spec.tls.validation is missing, which mode %s needs", in.Mode)
	case mutual && in.ClientCertificateRef == nil:
		return nil, reasonInvalid, "spec.tls.clientCertificateRef is missing, which mode ClientAndServer needs"
	}
	from := referrer{KindXBackend, b.Namespace}
	v := validation{t: t, from: from, source: key.source("spec.tls")}
	if tls, problem = v.tls(in.Validation); problem != "" || !mutual {
		return tls, reasonInvalid, problem
	}
	id, reason, problem := t.certificate(from, *in.ClientCertificateRef, string(gwv1.GatewayReasonInvalidClientCertificateRef))
	if problem != "" {
		return nil, reason, "spec.tls.clientCertificateRef: " + problem
	}
	tls.Identity = id.Name
	return tls, "", ""
}

func xbackendProtocol(u backendUse, b *gwxv1alpha1.XBackend, tls *lbmodel.BackendTLS) (lbmodel.PoolProtocol, string) {
	s := saidByXBackend(b.Spec.Protocol)
	name := deref(b.Spec.Protocol, "")
	l4 := u.from.kind != KindHTTPRoute && u.from.kind != KindGRPCRoute
	switch {
	case s.app == appUnsupported:
		return "", fmt.Sprintf("spec.protocol %s is not supported", name)
	case s.tls && tls == nil:
		return "", fmt.Sprintf("spec.protocol %s needs spec.tls.mode ServerOnly or ClientAndServer", name)
	case s.app == appH2C && tls != nil:
		return "", "spec.protocol H2C is without TLS; use HTTP2"
	case l4 && s.app != appUnsaid && s.app != appTCP:
		return "", fmt.Sprintf("a %s passes bytes on and cannot speak %s", u.from.kind, name)
	case tls != nil && (u.from.kind == KindUDPRoute || u.from.kind == KindTLSRoute && !u.terminated):
		return "", fmt.Sprintf("a %s passes the client's bytes on; spec.tls cannot be added to them", u.from.kind)
	}
	return s.poolProtocol(u.from.kind, hopTLS(tls != nil))
}

func persistenceOfXBackend(b *gwxv1alpha1.XBackend, key Key) (*lbmodel.Persistence, string) {
	if b.Spec.SessionPersistence == nil {
		return nil, ""
	}
	return persistence(b.Spec.SessionPersistence, key.source(""))
}

// selectsPod says whether an XBackend's selector matches a pod.
func selectsPod(b *gwxv1alpha1.XBackend, obj any) bool {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod == nil || b.Spec.EndpointSelector == nil || len(b.Spec.EndpointSelector.MatchLabels) == 0 {
		return false
	}
	for k, v := range b.Spec.EndpointSelector.MatchLabels {
		if have, ok := pod.Labels[string(k)]; !ok || have != string(v) {
			return false
		}
	}
	return true
}
