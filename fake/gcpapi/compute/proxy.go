package compute

import (
	"cmp"
	"strconv"
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

func number(i int) string { return strconv.Itoa(i) }

func (s *service) targetHTTPProxies() *store.Kind {
	return &store.Kind{Collection: "targetHttpProxies", Schema: "TargetHttpProxy", Noun: "target_http_proxy", Stamp: "fingerprint", Quota: counted("TARGET_HTTP_PROXIES"),
		Immutable: []string{"name"}, Check: needs("urlMap"), References: []store.Reference{near("urlMap", "urlMaps")}}
}

// needs refuses a resource without a field.
func needs(field string) func(store.View, store.Name, store.Object, store.Object) error {
	return func(_ store.View, _ store.Name, _, o store.Object) error {
		if o[field] == nil {
			return required("resource." + field)
		}
		return nil
	}
}

// frontCertificates are references to certificates of either service.
func (s *service) frontCertificates() []store.Reference {
	return []store.Reference{
		{Field: "sslCertificates[]", To: []string{"sslCertificates", certificates + "/certificates"}, Near: true, Link: certificate},
		{Field: "certificateMap", To: []string{certificates + "/certificateMaps"}, Link: certificate},
		near("sslPolicy", "sslPolicies"),
	}
}

func (s *service) targetHTTPSProxies() *store.Kind {
	return &store.Kind{
		Collection: "targetHttpsProxies", Schema: "TargetHttpsProxy", Noun: "target_https_proxy", Stamp: "fingerprint", Quota: counted("TARGET_HTTPS_PROXIES"),
		Immutable: []string{"name"},
		Default: func(_ store.View, _ store.Name, o store.Object) {
			o["quicOverride"] = cmp.Or(store.Text(o, "quicOverride"), "NONE")
		},
		Check: func(v store.View, n store.Name, was, o store.Object) error {
			if err := needs("urlMap")(v, n, was, o); err != nil {
				return err
			}
			if err := checkCertificates(n, o); err != nil {
				return err
			}
			if err := s.checkBehindHTTPS(v, n, o); err != nil {
				return err
			}
			return s.checkManaged(v, n, o)
		},
		References: append(s.frontCertificates(), near("urlMap", "urlMaps"), s.foreign("serverTlsPolicy", security, "serverTlsPolicies")),
	}
}

// checkCertificates looks at how many certificates there are, and of what kind.
func checkCertificates(n store.Name, o store.Object) error {
	var classic, managed int
	for _, c := range store.List(o, "sslCertificates") {
		if text, _ := c.(string); strings.HasPrefix(text, "//"+certificates) {
			managed++
		} else {
			classic++
		}
	}
	switch {
	case classic+managed == 0 && o["certificateMap"] == nil:
		return store.BadField("sslCertificates", "", "At least one SSL certificate or a certificate map must be specified.")
	case o["certificateMap"] != nil && n.Location() != "global":
		return store.BadField("certificateMap", o["certificateMap"], "Certificate maps are not supported by regional proxies.")
	case classic > 15:
		return store.BadField("sslCertificates", classic, "At most 15 SSL certificates can be specified.")
	case managed > 100:
		return store.BadField("sslCertificates", managed, "At most 100 Certificate Manager certificates can be specified.")
	case classic > 0 && managed > 0:
		return store.BadField("sslCertificates", managed, "Certificate Manager certificates and SSL certificates can't be specified together.")
	}
	return nil
}

// checkManaged wants certificates of Certificate Manager as the load balancer can take
// them: global external ones by a map, others one by one, each of the scope that is for
// them.
func (s *service) checkManaged(v store.View, n store.Name, o store.Object) error {
	scheme := s.schemeOf(v, n, o)
	external := strings.HasPrefix(scheme, "EXTERNAL")
	if o["certificateMap"] != nil && scheme != "" && !external {
		return store.BadField("certificateMap", o["certificateMap"], "Certificate maps are not supported with load balancing scheme %s.", scheme)
	}
	want := "DEFAULT"
	if n.Location() == "global" {
		want = "ALL_REGIONS"
	}
	for i, c := range store.List(o, "sslCertificates") {
		text, _ := c.(string)
		if !strings.HasPrefix(text, "//"+certificates) {
			continue
		}
		at := "sslCertificates[" + number(i) + "]"
		if n.Location() == "global" && external {
			return store.BadField(at, text, "Certificate Manager certificates must be attached to a global external proxy by a certificate map.")
		}
		certificate := v.Get(s.named(n, text))
		if scope := cmp.Or(store.Text(certificate, "scope"), "DEFAULT"); certificate != nil && scope != want {
			return store.BadField(at, text, "The certificate's scope must be %s and is %s.", want, scope)
		}
	}
	return nil
}

// schemeOf is the load balancing scheme of a proxy's backend services; "" without any.
func (s *service) schemeOf(v store.View, n store.Name, o store.Object) string {
	urlMap := s.named(n, store.Text(o, "urlMap"))
	for _, backend := range s.store.Refers(urlMap, v.Get(urlMap)) {
		if scheme := store.Text(v.Get(backend), "loadBalancingScheme"); scheme != "" {
			return scheme
		}
	}
	return ""
}

func (s *service) targetTCPProxies() *store.Kind {
	return &store.Kind{
		Collection: "targetTcpProxies", Schema: "TargetTcpProxy", Noun: "target_tcp_proxy", Quota: counted("TARGET_TCP_PROXIES"),
		Immutable: []string{"name"}, Default: plainProxy,
		Check: func(v store.View, n store.Name, was, o store.Object) error {
			// A proxy with a scheme of its own gets its backends from routes.
			if o["loadBalancingScheme"] == nil {
				if err := needs("service")(v, n, was, o); err != nil {
					return err
				}
			}
			return s.served(v, n, o, "TCP")
		},
		References: []store.Reference{near("service", "backendServices")},
	}
}

func (s *service) targetSSLProxies() *store.Kind {
	return &store.Kind{
		Collection: "targetSslProxies", Schema: "TargetSslProxy", Noun: "target_ssl_proxy", Quota: counted("TARGET_SSL_PROXIES"),
		Immutable: []string{"name"}, Default: plainProxy,
		Check: func(v store.View, n store.Name, was, o store.Object) error {
			if err := needs("service")(v, n, was, o); err != nil {
				return err
			}
			if err := checkCertificates(n, o); err != nil {
				return err
			}
			return s.served(v, n, o, "SSL", "TCP")
		},
		References: append(s.frontCertificates(), near("service", "backendServices")),
	}
}

func plainProxy(_ store.View, _ store.Name, o store.Object) {
	o["proxyHeader"] = cmp.Or(store.Text(o, "proxyHeader"), "NONE")
}

// served refuses a backend service of another protocol than the proxy can serve.
func (s *service) served(v store.View, n store.Name, o store.Object, protocols ...string) error {
	backend := v.Get(s.named(n, store.Text(o, "service")))
	if backend == nil {
		return nil // whoever looks at references refuses it
	}
	have := store.Text(backend, "protocol")
	for _, p := range protocols {
		if p == have {
			return nil
		}
	}
	return store.BadField("service", o["service"], "The backend service's protocol must be %s and is %s.", strings.Join(protocols, " or "), have)
}
