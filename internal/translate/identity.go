package translate

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// certificate follows a reference to a certificate and its key. The Snapshot
// holds the public half and whether the key fits; the key itself is read by the
// Keyring when it is applied. reason is "" when the reference is good, and
// "RefNotPermitted" or invalid otherwise.
func (t *translation) certificate(from referrer, ref gwv1.SecretObjectReference, invalid string) (id lbmodel.Identity, reason, detail string) {
	group, kind := string(deref(ref.Group, groupCore)), string(deref(ref.Kind, KindSecret))
	if group != groupCore || kind != KindSecret {
		return id, invalid, fmt.Sprintf("%s %s is not supported; name a Secret", qualified(group, kind), ref.Name)
	}
	key := Key{KindSecret, string(deref(ref.Namespace, gwv1.Namespace(from.namespace))), string(ref.Name)}
	if !t.x.permitted(from, target{groupCore, KindSecret, key.Namespace, key.Name}) {
		return id, reasonRefNotPermitted, fmt.Sprintf(
			"Secret %s: no ReferenceGrant in namespace %s lets a %s of namespace %s refer to it", key.path(), key.Namespace, from.kind, from.namespace)
	}
	s, ok := lookup[*Secret](t.x, key.Kind, key.Namespace, key.Name)
	switch {
	case !ok:
		return id, invalid, fmt.Sprintf("Secret %s does not exist", key.path())
	case s.Problem != "":
		return id, invalid, fmt.Sprintf("Secret %s: %s", key.path(), s.Problem)
	case s.Leaf == nil:
		return id, invalid, fmt.Sprintf("Secret %s has no certificate in tls.crt", key.path())
	}
	id = lbmodel.Identity{Name: key.path(), Source: key.source(""), Issuer: lbmodel.IssuerSecret, Leaf: s.Leaf}
	t.identities[id.Name] = id
	return id, "", ""
}

func qualified(group, kind string) string {
	if group == "" {
		return kind
	}
	return kind + "." + group
}

// resolveCertificates gives a terminating listener its certificates. Bad
// references cost themselves; a listener without any good one is not served.
func (t *translation) resolveCertificates(l *listener) {
	from := referrer{l.owner.Kind, l.owner.Namespace}
	l.model.TLS = &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Options: tlsOptions(l.spec.TLS)}
	if l.passthrough() {
		l.model.TLS.Mode = lbmodel.TLSPassthrough
		return
	}
	for i, ref := range l.spec.TLS.CertificateRefs {
		id, reason, detail := t.certificate(from, ref, string(gwv1.ListenerReasonInvalidCertificateRef))
		if reason != "" {
			t.find(lbmodel.Finding{About: l.source(), Condition: condResolvedRefs, Reason: reason,
				Detail: fmt.Sprintf("tls.certificateRefs[%d]: %s", i, detail), Code: lbmodel.CodeUnresolved})
			continue
		}
		l.model.TLS.Certificates = appendNew(l.model.TLS.Certificates, id.Name)
	}
	if len(l.model.TLS.Certificates) > 0 {
		return
	}
	l.dropped = true
	if len(l.spec.TLS.CertificateRefs) == 0 {
		t.find(lbmodel.Finding{About: l.source(), Condition: condResolvedRefs, Reason: string(gwv1.ListenerReasonInvalidCertificateRef),
			Detail: "tls.certificateRefs is empty; a listener that ends TLS needs a certificate", Code: lbmodel.CodeInvalid})
	}
}

func tlsOptions(c *gwv1.ListenerTLSConfig) map[string]string {
	if len(c.Options) == 0 {
		return nil
	}
	out := make(map[string]string, len(c.Options))
	for k, v := range c.Options {
		out[string(k)] = string(v)
	}
	return out
}

func appendNew(list []string, v string) []string {
	for _, have := range list {
		if have == v {
			return list
		}
	}
	return append(list, v)
}

// resolveClientCertificate finds what the gateway shows to TLS backends
// (Gateway.spec.tls.backend.clientCertificateRef). A bad reference is the
// Gateway's ResolvedRefs=False and changes nothing else: backends are then
// reached without a client certificate, which minimumBackendTLS can forbid.
func (t *translation) resolveClientCertificate() {
	tls := t.gateway.Spec.TLS
	if tls == nil || tls.Backend == nil || tls.Backend.ClientCertificateRef == nil {
		return
	}
	from := referrer{KindGateway, t.key.Namespace}
	id, reason, detail := t.certificate(from, *tls.Backend.ClientCertificateRef, string(gwv1.GatewayReasonInvalidClientCertificateRef))
	if reason != "" {
		t.find(lbmodel.Finding{About: t.key.source(""), Condition: condResolvedRefs, Reason: reason,
			Detail: "spec.tls.backend.clientCertificateRef: " + detail, Code: lbmodel.CodeUnresolved})
		return
	}
	t.clientIdentity = id.Name
}
