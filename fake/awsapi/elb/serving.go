package elb

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/ec2"
	"gatehouse.dev/fake/awsapi/serve"
)

// Sources are what a [serve.Config] needs from elsewhere.
type Sources struct {
	Pair   func(arn string) (tls.Certificate, bool) // a certificate with its key
	Bind   func(loadBalancer string, port int) []netip.AddrPort
	Bound  func(loadBalancer string, port int) netip.AddrPort // zero if it is not bound
	Reach  func(ip netip.Addr, port int) netip.AddrPort
	Groups []ec2.Group
}

// Serving is what should be served now: load balancers that are provisioned, by their
// ARNs, with everything that they lead to.
func (s *Service) Serving(from Sources) serve.Config {
	now := s.past.Now().fork()
	var out serve.Config
	for _, lb := range now.LoadBalancers.All(nil) {
		if s.clock(lb.Ready) {
			continue
		}
		one := serve.LoadBalancer{Name: lb.LoadBalancerArn, Kind: serve.Kind(lb.Type), Attributes: lb.Attributes, SecurityGroups: lb.SecurityGroups}
		for _, l := range now.listenersOf(lb.LoadBalancerArn) {
			one.Listeners = append(one.Listeners, now.front(from, l))
		}
		out.LoadBalancers = append(out.LoadBalancers, one)
	}
	for _, g := range now.TargetGroups.All(nil) {
		out.TargetGroups = append(out.TargetGroups, s.pool(now, from, g))
	}
	for _, store := range now.TrustStores.All(nil) {
		out.TrustStores = append(out.TrustStores, store.verifier())
	}
	for _, g := range from.Groups {
		out.SecurityGroups = append(out.SecurityGroups, wall(g))
	}
	return out
}

// Named finds a load balancer's ARN by its DNS name, in lower case.
func (s *Service) Named(dns string) (arn string, ok bool) {
	now := s.past.Now()
	for _, lb := range now.LoadBalancers.All(nil) {
		if strings.ToLower(lb.DNSName) == dns {
			return lb.LoadBalancerArn, true
		}
	}
	return "", false
}

func (s *state) front(from Sources, l *listenerRow) serve.Listener {
	out := serve.Listener{Name: l.ListenerArn, Port: int32(l.Port), Protocol: serve.Protocol(l.Protocol), Addresses: from.Bind(l.LoadBalancerArn, l.Port),
		TLSPolicy: l.SslPolicy, Attributes: l.Attributes}
	if len(l.AlpnPolicy) > 0 {
		out.ALPN = l.AlpnPolicy[0]
	}
	var arns []string
	for _, c := range l.Certificates {
		arns = append(arns, c.CertificateArn)
	}
	for _, arn := range append(arns, l.Extra...) {
		if pair, ok := from.Pair(arn); ok {
			out.Certificates = append(out.Certificates, pair)
		}
	}
	if m := l.MutualAuthentication; m != nil && m.Mode != "off" {
		out.MutualTLS = &serve.MutualTLS{Mode: m.Mode, TrustStore: m.TrustStoreArn, IgnoreExpiry: deref(m.IgnoreClientCertificateExpiry, false),
			AdvertiseCANames: m.AdvertiseTrustStoreCaNames == "on"}
	}
	for _, r := range s.rulesOf(l.ListenerArn) {
		if r.Number == lastNumber {
			out.Default = served(r.Actions)
			continue
		}
		out.Rules = append(out.Rules, serve.Rule{Name: r.RuleArn, Priority: int32(r.Number), Conditions: matches(r.Conditions),
			Transforms: transforms(r.Transforms), Actions: served(r.Actions)})
	}
	return out
}

func matches(in []condition) []serve.Condition {
	var out []serve.Condition
	for _, c := range in {
		one := serve.Condition{Field: serve.Field(c.Field), Values: c.Values, Regex: c.RegexValues}
		switch c.Field {
		case httpHeader:
			one.Header, one.Values, one.Regex = c.HttpHeaderConfig.HttpHeaderName, c.HttpHeaderConfig.Values, c.HttpHeaderConfig.RegexValues
		case httpMethod:
			one.Values = c.HttpRequestMethodConfig.Values
		case sourceIP:
			one.Values, one.IPAddressType = c.SourceIpConfig.Values, c.SourceIpConfig.IpAddressType
		case queryString:
			for _, pair := range c.QueryStringConfig.Values {
				one.Query = append(one.Query, serve.QueryPair{Key: pair.Key, Value: pair.Value})
			}
		}
		out = append(out, one)
	}
	return out
}

func transforms(in []transform) []serve.Transform {
	var out []serve.Transform
	for _, t := range in {
		for _, config := range []*rewrites{t.HostHeaderRewriteConfig, t.UrlRewriteConfig} {
			if config != nil {
				out = append(out, serve.Transform{Type: t.Type, Regex: config.Rewrites[0].Regex, Replace: config.Rewrites[0].Replace})
			}
		}
	}
	return out
}

// served are actions as they act. With authentication before them they answer 500:
// it is not emulated, and must not be taken for passed.
func served(in []action) []serve.Action {
	if len(in) != 1 {
		return []serve.Action{{}}
	}
	a := in[0]
	switch {
	case a.ForwardConfig != nil:
		out := &serve.Forward{}
		for _, g := range a.ForwardConfig.TargetGroups {
			out.Groups = append(out.Groups, serve.WeightedGroup{Group: g.TargetGroupArn, Weight: int32(*g.Weight)})
		}
		if sticky := a.ForwardConfig.TargetGroupStickinessConfig; sticky != nil && deref(sticky.Enabled, false) {
			out.Stickiness = time.Duration(deref(sticky.DurationSeconds, 1)) * time.Second
		}
		return []serve.Action{{Forward: out}}
	case a.RedirectConfig != nil:
		r := a.RedirectConfig
		status, _ := strconv.Atoi(strings.TrimPrefix(r.StatusCode, "HTTP_")) // checked when it was made
		return []serve.Action{{Redirect: &serve.Redirect{Status: status, Protocol: r.Protocol, Host: r.Host, Port: r.Port, Path: r.Path, Query: r.Query}}}
	}
	f := a.FixedResponseConfig
	status, _ := strconv.Atoi(f.StatusCode) // checked when it was made
	return []serve.Action{{Fixed: &serve.FixedResponse{Status: status, ContentType: f.ContentType, Body: f.MessageBody}}}
}

func (s *Service) pool(now *state, from Sources, g *groupRow) serve.TargetGroup {
	port, _ := strconv.Atoi(g.HealthCheckPort) // traffic-port is 0
	out := serve.TargetGroup{Name: g.TargetGroupArn, Type: g.TargetType, Protocol: serve.Protocol(g.Protocol), Version: g.ProtocolVersion, Attributes: g.Attributes,
		Health: serve.HealthCheck{Disabled: !deref(g.HealthCheckEnabled, true), Protocol: serve.Protocol(g.HealthCheckProtocol), Port: int32(port), Path: g.HealthCheckPath,
			Interval: time.Duration(g.HealthCheckIntervalSeconds) * time.Second, Timeout: time.Duration(g.HealthCheckTimeoutSeconds) * time.Second,
			Healthy: int32(g.HealthyThresholdCount), Unhealthy: int32(g.UnhealthyThresholdCount)}}
	if g.Matcher != nil {
		out.Health.Matcher = cmp.Or(g.Matcher.GrpcCode, g.Matcher.HttpCode)
	}
	for _, t := range g.present(s.Clock.Now()) {
		one := serve.Target{ID: TargetName(t.Id, t.Port), Address: s.reach(from, g, t.Id, t.Port)}
		if !one.Address.IsValid() || now.outOfZone(g, t) {
			continue
		}
		if port != 0 {
			one.Check = s.reach(from, g, t.Id, port)
		}
		switch {
		case !t.Draining.IsZero():
			one.State = serve.StateDraining
		case t.Forced != nil:
			one.State = serve.State(t.Forced.State)
		}
		out.Targets = append(out.Targets, one)
	}
	return out
}

// TargetName is what a target is called in its group.
func TargetName(id string, port int) string { return id + ":" + strconv.Itoa(port) }

// reach is where a target really listens; zero if that is not known.
func (s *Service) reach(from Sources, g *groupRow, id string, port int) netip.AddrPort {
	switch g.TargetType {
	case "ip":
		if ip, err := netip.ParseAddr(id); err == nil {
			return from.Reach(ip, port)
		}
	case "instance":
		if machine, ok := s.Network.FindInstance(id); ok {
			return from.Reach(machine.IP, port)
		}
	case "alb":
		return from.Bound(id, port)
	}
	return netip.AddrPort{}
}

func (r *trustRow) verifier() serve.TrustStore {
	out := serve.TrustStore{Name: r.TrustStoreArn}
	for block, rest := pem.Decode(r.Bundle); block != nil; block, rest = pem.Decode(rest) {
		if ca, err := x509.ParseCertificate(block.Bytes); err == nil {
			out.Roots = append(out.Roots, ca)
		}
	}
	for _, v := range r.Revocations {
		der := v.Content
		if block, _ := pem.Decode(der); block != nil {
			der = block.Bytes
		}
		if list, err := x509.ParseRevocationList(der); err == nil {
			out.Revocation = append(out.Revocation, list)
		}
	}
	return out
}

// wall is a security group's inbound side.
func wall(g ec2.Group) serve.SecurityGroup {
	out := serve.SecurityGroup{Name: g.ID}
	for _, r := range g.Ingress {
		one := serve.SecurityRule{Protocol: r.Protocol, From: int32(max(0, r.From)), To: int32(max(0, r.To))}
		if prefix, err := netip.ParsePrefix(r.CIDR); err == nil {
			one.Sources = append(one.Sources, prefix)
		}
		if r.Group != "" {
			one.Groups = append(one.Groups, r.Group)
		}
		out.Ingress = append(out.Ingress, one)
	}
	return out
}
