package elb

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// protocols are what listeners of a kind of load balancer speak.
func protocols(kind string) []string {
	if kind == network {
		return []string{"TCP", "TLS", "UDP", "TCP_UDP", "QUIC", "TCP_QUIC"}
	}
	return []string{"HTTP", "HTTPS"}
}

func secure(protocol string) bool { return protocol == "HTTPS" || protocol == "TLS" }

// checkListener refuses what can't be, and fills in the defaults. self is the ARN of
// a listener that exists already.
func (s *Service) checkListener(now *state, lb *lbRow, l *listener, self string) error {
	if allowed := protocols(lb.Type); !slices.Contains(allowed, l.Protocol) {
		return invalid("Listener protocol '%s' must be one of '%s'", l.Protocol, strings.Join(allowed, ", "))
	}
	return then(
		func() error {
			if l.Port < 1 || l.Port > 65535 {
				return breaks(l.Port, "port", "have value between 1 and 65535")
			}
			return nil
		},
		func() error { return s.checkTLS(l) },
		func() error { return checkALPN(l) },
		func() error { return s.checkMutual(now, lb, l, self) },
	)
}

func (s *Service) checkTLS(l *listener) error {
	if !secure(l.Protocol) {
		switch {
		case len(l.Certificates) > 0:
			return refuse("InvalidConfigurationRequest", "Certificates cannot be specified for %s listeners", l.Protocol)
		case l.SslPolicy != "":
			return refuse("InvalidConfigurationRequest", "An SSL policy cannot be specified for %s listeners", l.Protocol)
		}
		return nil
	}
	l.SslPolicy = cmp.Or(l.SslPolicy, "ELBSecurityPolicy-2016-08")
	switch {
	case !knownPolicy(l.SslPolicy):
		return refuse("SSLPolicyNotFound", "SSL policy '%s' not found", l.SslPolicy)
	case len(l.Certificates) == 0:
		return invalid("A certificate must be specified for %s listeners", l.Protocol)
	case len(l.Certificates) > 1:
		return refuse("TooManyCertificates", "Up to '1' certificate can be specified, but '%d' were specified", len(l.Certificates))
	case l.Certificates[0].IsDefault != nil:
		return invalid("You cannot set the isDefault field of a listener certificate")
	}
	return s.certificateExists(l.Certificates[0].CertificateArn)
}

func (s *Service) certificateExists(arn string) error {
	switch {
	case arn == "":
		return missing("certificateArn")
	case !s.Certificate(arn):
		return refuse("CertificateNotFound", "Certificate '%s' not found", arn)
	}
	return nil
}

func checkALPN(l *listener) error {
	if len(l.AlpnPolicy) == 0 {
		return nil
	}
	switch {
	case l.Protocol != "TLS":
		return refuse("InvalidConfigurationRequest", "ALPN policies are only supported for TLS listeners")
	case len(l.AlpnPolicy) > 1:
		return invalid("Only one ALPN policy can be specified")
	case !slices.Contains([]string{"HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred", "None"}, l.AlpnPolicy[0]):
		return refuse("ALPNPolicyNotFound", "ALPN policy '%s' is not supported", l.AlpnPolicy[0])
	}
	return nil
}

func (s *Service) checkMutual(now *state, lb *lbRow, l *listener, self string) error {
	m := l.MutualAuthentication
	if m == nil {
		if l.Protocol == "HTTPS" {
			l.MutualAuthentication = &mutualAuthentication{Mode: "off"}
		}
		return nil
	}
	modes := map[string][]string{"HTTPS": {"off", "passthrough", "verify"}, "TLS": {"off", "verify"}}[l.Protocol]
	switch {
	case modes == nil:
		return refuse("InvalidConfigurationRequest", "Mutual authentication is not supported for %s listeners", l.Protocol)
	case !slices.Contains(modes, m.Mode):
		return invalid("Mutual authentication mode '%s' must be one of '%s'", m.Mode, strings.Join(modes, ", "))
	}
	l.MutualAuthentication = &mutualAuthentication{Mode: m.Mode}
	if m.Mode != "verify" {
		if m.TrustStoreArn != "" {
			return invalid("A trust store cannot be specified for mutual authentication mode '%s'", m.Mode)
		}
		return nil
	}
	return s.checkVerify(now, lb, l, m, self)
}

func (s *Service) checkVerify(now *state, lb *lbRow, l *listener, m *mutualAuthentication, self string) error {
	if m.TrustStoreArn == "" {
		return invalid("A trust store ARN must be specified for mutual authentication mode 'verify'")
	}
	store, err := now.trustStore(m.TrustStoreArn)
	switch {
	case err != nil:
		return err
	case s.clock(store.Ready):
		return refuse("TrustStoreNotReady", "Trust store '%s' is not ready", m.TrustStoreArn)
	}
	have := 0
	for _, other := range now.listenersOf(lb.LoadBalancerArn) {
		if other.ListenerArn != self && other.Port != l.Port && other.MutualAuthentication != nil && other.MutualAuthentication.Mode == "verify" {
			have++
		}
	}
	if err := s.full(limitVerifying, have, "InvalidConfigurationRequest",
		"The maximum number of listeners with mutual authentication mode 'verify' has been reached on load balancer '%s'", lb.LoadBalancerArn); err != nil {
		return err
	}
	l.MutualAuthentication = &mutualAuthentication{Mode: m.Mode, TrustStoreArn: m.TrustStoreArn,
		IgnoreClientCertificateExpiry: new(deref(m.IgnoreClientCertificateExpiry, false)),
		AdvertiseTrustStoreCaNames:    cmp.Or(m.AdvertiseTrustStoreCaNames, "off"), TrustStoreAssociationStatus: "active"}
	return nil
}

// clock tells whether a time is still to come.
func (s *Service) clock(at time.Time) bool { return s.Clock.Now().Before(at) }
