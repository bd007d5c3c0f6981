package lbmodel

import (
	"iter"
	"slices"
)

// use is a feature that a part of the model needs, and the field that needs it.
type use struct {
	feature Feature
	field   string
}

// usesIf is a row of the tables below: the use counts when it is there.
type usesIf struct {
	there   bool
	feature Feature
	field   string
}

func usesOf(table ...usesIf) []use {
	var out []use
	for _, row := range table {
		if row.there {
			out = append(out, use{row.feature, row.field})
		}
	}
	return out
}

// Uses are the features that serving the gateway needs, in the order of
// AllFeatures. ListenerIsolation, MisdirectedRequests, Proxied and BackendTLS13
// are how a provider behaves and not something that a gateway asks for, so they
// are never among them.
func Uses(g Gateway) []Feature {
	needed := map[Feature]bool{}
	add := func(uses []use) {
		for _, u := range uses {
			needed[u.feature] = true
		}
	}
	add(addressUses(g.Addresses))
	add(mixedUses(g.Listeners))
	for i := range g.Listeners {
		addListenerUses(&g.Listeners[i], add)
	}
	for i := range g.Pools {
		add(poolUses(&g.Pools[i], g.Trust))
	}
	add(identityUses(g.Pools))
	return slices.DeleteFunc(AllFeatures(), func(f Feature) bool { return !needed[f] })
}

// addListenerUses adds the uses of a listener and of all below it.
func addListenerUses(l *Listener, add func([]use)) {
	add(listenerUses(l))
	for i := range l.Rules {
		add(matchUses(&l.Rules[i].Match))
		add(actionUses(&l.Rules[i].Action))
	}
	for fw := range forwardsOf(l) {
		add(forwardUses(fw))
		for i := range fw.Backends {
			add(backendUses(&fw.Backends[i]))
		}
	}
}

// forwardsOf are all Forwards of a listener.
func forwardsOf(l *Listener) iter.Seq[*Forward] {
	return func(yield func(*Forward) bool) {
		for i := range l.Rules {
			if fw := l.Rules[i].Action.Forward; fw != nil && !yield(fw) {
				return
			}
		}
		for i := range l.SNI {
			if !yield(&l.SNI[i].Forward) {
				return
			}
		}
		if l.Forward != nil {
			yield(l.Forward)
		}
	}
}

func addressUses(addresses []AddressRequest) []use {
	static := slices.ContainsFunc(addresses, func(a AddressRequest) bool { return a.Value != "" })
	ipv6 := slices.ContainsFunc(addresses, func(a AddressRequest) bool { return a.Family == IPv6 })
	return usesOf(usesIf{static, FeatureStaticAddress, "spec.addresses or spec.loadBalancerIP"}, usesIf{ipv6, FeatureIPv6, "spec.ipFamilies"})
}

// protocolFeature of a protocol that nobody knows is a feature nobody offers.
func (l *Listener) protocolFeature() Feature {
	switch {
	case l.Protocol == ProtocolTLS && l.TLS != nil && l.TLS.Mode == TLSPassthrough:
		return FeatureTLSPassthrough
	case l.Protocol == ProtocolTLS:
		return FeatureTLSTerminate
	default:
		return Feature(l.Protocol)
	}
}

func listenerUses(l *Listener) []use {
	tls := FrontendTLS{}
	if l.TLS != nil {
		tls = *l.TLS
	}
	return usesOf(
		usesIf{true, l.protocolFeature(), "protocol"},
		usesIf{len(l.SourceRanges) > 0, FeatureSourceRanges, "loadBalancerSourceRanges"},
		usesIf{len(tls.Certificates) > 1, FeatureManyCertificates, "tls.certificateRefs"},
		usesIf{tls.Validation != nil && !tls.Validation.Insecure, FeatureClientValidation, "tls.frontend.validation"},
		usesIf{tls.Validation != nil && tls.Validation.Insecure, FeatureInsecureFallback, "tls.frontend.validation.mode"},
	)
}

// mixedUses looks at listeners side by side.
func mixedUses(listeners []Listener) []use {
	return usesOf(usesIf{slices.ContainsFunc(listeners, func(l Listener) bool { return mixesModes(listeners, &l) }), FeatureTLSMixed, "tls.mode"})
}

// mixesModes says whether l has another TLS mode than the first TLS listener of
// its port.
func mixesModes(listeners []Listener, l *Listener) bool {
	i := slices.IndexFunc(listeners, func(o Listener) bool { return o.Protocol == ProtocolTLS && o.Port == l.Port })
	return l.Protocol == ProtocolTLS && i >= 0 && listeners[i].protocolFeature() != l.protocolFeature()
}

func matchUses(m *Match) []use {
	regex := func(v ValueMatch) bool { return v.Kind == MatchRegex }
	return usesOf(
		usesIf{m.GRPC != nil, FeatureGRPC, "matches.method"},
		usesIf{m.GRPC != nil && m.GRPC.Kind == MatchRegex, FeaturePathRegex, "matches.method.type"},
		usesIf{m.Path.Kind == MatchRegex, FeaturePathRegex, "matches.path.type"},
		usesIf{m.Method != "", FeatureMethodMatch, "matches.method"},
		usesIf{len(m.Headers) > 0, FeatureHeaderMatch, "matches.headers"},
		usesIf{slices.ContainsFunc(m.Headers, regex), FeatureHeaderRegex, "matches.headers.type"},
		usesIf{len(m.Query) > 0, FeatureQueryMatch, "matches.queryParams"},
		usesIf{slices.ContainsFunc(m.Query, regex), FeatureQueryRegex, "matches.queryParams.type"},
	)
}

func actionUses(a *Action) []use {
	retry := Retry{}
	if a.Retry != nil && a.Retry.Attempts > 0 {
		retry = *a.Retry
	}
	return slices.Concat(
		redirectUses(a.Redirect),
		editUses(&a.Edits),
		persistenceUses(a.Persistence),
		usesOf(
			usesIf{a.CORS != nil, FeatureCORS, "filters.cors"},
			usesIf{a.Timeouts.Request != 0, FeatureRequestTimeout, "timeouts.request"},
			usesIf{a.Timeouts.Backend != 0, FeatureBackendTimeout, "timeouts.backendRequest"},
			usesIf{retry.Attempts > 0, FeatureRetryConnect, "retry"},
			usesIf{len(retry.Codes) > 0, FeatureRetryCodes, "retry.codes"},
			usesIf{retry.Backoff != 0, FeatureRetryBackoff, "retry.backoff"},
		),
	)
}

func redirectUses(r *Redirect) []use {
	if r == nil {
		return nil
	}
	return usesOf(
		usesIf{r.Scheme != "", FeatureRedirectScheme, "filters.requestRedirect.scheme"},
		usesIf{r.Hostname != "", FeatureRedirectHost, "filters.requestRedirect.hostname"},
		usesIf{r.Port != 0, FeatureRedirectPort, "filters.requestRedirect.port"},
		usesIf{r.Path != nil, FeatureRedirectPath, "filters.requestRedirect.path"},
		usesIf{r.Status == 303, FeatureRedirect303, "filters.requestRedirect.statusCode"},
		usesIf{r.Status == 307, FeatureRedirect307, "filters.requestRedirect.statusCode"},
		usesIf{r.Status == 308, FeatureRedirect308, "filters.requestRedirect.statusCode"},
	)
}

func editUses(e *Edits) []use {
	return append(usesOf(
		usesIf{e.Request != nil, FeatureRequestHeaders, "filters.requestHeaderModifier"},
		usesIf{e.Response != nil, FeatureResponseHeaders, "filters.responseHeaderModifier"},
		usesIf{len(e.Mirrors) > 0, FeatureMirror, "filters.requestMirror"},
	), commonEditUses(e)...)
}

// commonEditUses are those that a rule and a single backend have alike.
func commonEditUses(e *Edits) []use {
	rewrite := Rewrite{}
	if e.Rewrite != nil {
		rewrite = *e.Rewrite
	}
	return usesOf(
		usesIf{rewrite.Hostname != "", FeatureRewriteHost, "filters.urlRewrite.hostname"},
		usesIf{rewrite.Path != nil, FeatureRewritePath, "filters.urlRewrite.path"},
		usesIf{len(e.Mirrors) > 1, FeatureManyMirrors, "filters.requestMirror"},
		usesIf{slices.ContainsFunc(e.Mirrors, Mirror.isShare), FeatureMirrorShare, "filters.requestMirror.fraction"},
	)
}

func (m Mirror) isShare() bool { return m.Numerator != m.Denominator }

func persistenceUses(p *Persistence) []use {
	if p == nil {
		return nil
	}
	return usesOf(usesIf{true, "Persist" + Feature(p.Kind), "sessionPersistence.type"})
}

func forwardUses(fw *Forward) []use {
	return usesOf(
		usesIf{len(fw.Backends) > 1, FeatureWeights, "backendRefs.weight"},
		usesIf{slices.ContainsFunc(fw.Backends, Backend.answersItself), FeatureFixedShare, "backendRefs"},
	)
}

// answersItself says whether the gateway answers the backend's share.
func (b Backend) answersItself() bool { return b.Fixed != nil || b.Redirect != nil }

func backendUses(b *Backend) []use {
	return slices.Concat(
		redirectUses(b.Redirect),
		commonEditUses(&b.Edits),
		usesOf(
			usesIf{b.Edits.Request != nil, FeatureBackendRequestHeaders, "backendRefs.filters.requestHeaderModifier"},
			usesIf{b.Edits.Response != nil, FeatureBackendResponseHeaders, "backendRefs.filters.responseHeaderModifier"},
			usesIf{b.Edits.Rewrite != nil, FeatureBackendRewrite, "backendRefs.filters.urlRewrite"},
			usesIf{len(b.Edits.Mirrors) > 0, FeatureBackendMirror, "backendRefs.filters.requestMirror"},
		),
	)
}

// poolUses are the pool's own; identityUses looks at pools side by side.
func poolUses(p *Pool, trust []Trust) []use {
	return slices.Concat(
		protocolUses(p),
		backendTLSUses(p.TLS, trust),
		degradableUses(p),
	)
}

func protocolUses(p *Pool) []use {
	fqdn := slices.ContainsFunc(p.Endpoints, func(e Endpoint) bool { return e.FQDN != "" })
	plain := p.Protocol == PoolHTTP1 || p.Protocol == PoolTCP || p.Protocol == PoolUDP // as their listeners
	return usesOf(
		usesIf{!plain, Feature(p.Protocol), "appProtocol"},
		usesIf{fqdn, FeatureFQDN, "endpoints"},
	)
}

// degradableUses are those that a pool can do without: it still serves, to the
// right backends and as well protected.
func degradableUses(p *Pool) []use {
	return append(persistenceUses(p.Persistence), usesOf(usesIf{p.Health != nil, FeatureHealth, "healthCheck"})...)
}

func backendTLSUses(t *BackendTLS, trust []Trust) []use {
	if t == nil {
		return nil
	}
	system := slices.ContainsFunc(trust, func(tr Trust) bool { return tr.Name == t.Trust && tr.System })
	has := func(kind SANKind) bool {
		return slices.ContainsFunc(t.SANs, func(s SAN) bool { return s.Kind == kind })
	}
	return usesOf(
		usesIf{t.Trust == "", FeatureBackendTLSUnverified, "validation"},
		usesIf{t.Trust != "" && !system, FeatureBackendTLSTrust, "validation.caCertificateRefs"},
		usesIf{t.Trust != "" && system, FeatureBackendTLSSystem, "validation.wellKnownCACertificates"},
		usesIf{t.SNI != "", FeatureBackendTLSSNI, "validation.hostname"},
		usesIf{has(SANDNS), FeatureBackendTLSDNSSAN, "validation.subjectAltNames.hostname"},
		usesIf{has(SANURI), FeatureBackendTLSURISAN, "validation.subjectAltNames.uri"},
		usesIf{t.Identity != "", FeatureBackendTLSIdentity, "clientCertificateRef"},
		usesIf{t.MinVersion == "1.3", FeatureBackendTLSMin13, "options.minVersion"},
		usesIf{t.ALPN != nil || t.NoALPN, FeatureBackendTLSALPN, "options.alpn"},
	)
}

// identityUses looks at all pools: one client certificate for every TLS backend
// is less than one for each.
func identityUses(pools []Pool) []use {
	one := commonIdentity(pools)
	other := slices.ContainsFunc(pools, func(p Pool) bool { return p.TLS != nil && p.TLS.Identity != one })
	return usesOf(usesIf{other, FeatureBackendTLSPerBackend, "clientCertificateRef"})
}

// commonIdentity is the identity of the first pool that has one.
func commonIdentity(pools []Pool) string {
	for i := range pools {
		if t := pools[i].TLS; t != nil && t.Identity != "" {
			return t.Identity
		}
	}
	return ""
}
