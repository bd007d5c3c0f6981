package serve

import "slices"

// AllSwitches lists every switch of [Switches], in the order of its fields.
func AllSwitches() []Switch {
	return slices.Concat(hostSwitches(), ruleSwitches(), rewriteSwitches(), headerSwitches(), forwardSwitches(), failureSwitches(), routeSwitches())
}

func hostSwitches() []Switch {
	return []Switch{
		{"HostCase", "letter case of hosts", []Position{Insensitive, Sensitive}, func(s *Switches) *Position { return &s.HostCase }},
		{"HostPort", "whether a host without a port takes requests whose Host has one", []Position{Ignored, Compared}, func(s *Switches) *Position { return &s.HostPort }},
		{"HostWildcardPort", "whether a host of * with a port takes anything", []Position{Compared, Never}, func(s *Switches) *Position { return &s.HostWildcardPort }},
		{"HostPrecedence", "which of several wildcard hosts takes a request", []Position{Longest, Listed}, func(s *Switches) *Position { return &s.HostPrecedence }},
		{"HostWildcardExtent", "whether * stands for any text or for [a-z0-9-.]* only (not for the brackets of an IPv6 address)", []Position{Any, Listed}, func(s *Switches) *Position { return &s.HostWildcardExtent }},
	}
}

func ruleSwitches() []Switch {
	return []Switch{
		{"PathRuleCase", "letter case of pathRules", []Position{Sensitive, Insensitive}, func(s *Switches) *Position { return &s.PathRuleCase }},
		{"IgnoreCase", "whether ignoreCase means what its name or what its comment says", []Position{Name, Comment}, func(s *Switches) *Position { return &s.IgnoreCase }},
		{"PathSlashes", "whether // in a path becomes /", []Position{Kept, Merged}, func(s *Switches) *Position { return &s.PathSlashes }},
		{"PathDot", "what becomes of /./ (of /../ it is documented)", []Position{Kept, Removed, Redirected}, func(s *Switches) *Position { return &s.PathDot }},
		{"PathEscapes", "which percent-encoded bytes fullPathMatch, prefixMatch and pathRules see decoded", []Position{Kept, Unreserved, All}, func(s *Switches) *Position { return &s.PathEscapes }},
		{"EncodedDots", "whether /%2e%2e/ is treated as /../", []Position{Kept, Redirected}, func(s *Switches) *Position { return &s.EncodedDots }},
		{"RegexExtent", "whether a regex matches the whole or a part", []Position{Full, Search}, func(s *Switches) *Position { return &s.RegexExtent }},
		{"TemplateTail", "whether /a/** takes /a too", []Position{Slash, Whole}, func(s *Switches) *Position { return &s.TemplateTail }},
		{"TemplateEmptySegment", "whether * of a path template takes an empty segment", []Position{Never, Matched}, func(s *Switches) *Position { return &s.TemplateEmptySegment }},
		{"HeaderValueCase", "letter case of header values", []Position{Sensitive, Insensitive}, func(s *Switches) *Position { return &s.HeaderValueCase }},
		{"HeaderRepeats", "what a header match sees of a repeated header", []Position{Joined, Any, First}, func(s *Switches) *Position { return &s.HeaderRepeats }},
		{"HeaderInvertAbsent", "whether an inverted match holds for an absent header", []Position{Holds, Fails}, func(s *Switches) *Position { return &s.HeaderInvertAbsent }},
		{"QueryDecoding", "whether query matches compare decoded text, and + as a blank", []Position{Raw, Decoded, DecodedPlus}, func(s *Switches) *Position { return &s.QueryDecoding }},
		{"QueryRepeats", "which value of a repeated parameter counts", []Position{First, Any, Last}, func(s *Switches) *Position { return &s.QueryRepeats }},
	}
}

func rewriteSwitches() []Switch {
	return []Switch{
		{"RewriteFullPath", "what pathPrefixRewrite replaces under a fullPathMatch, regexMatch or exact path rule", []Position{Whole, Nothing}, func(s *Switches) *Position { return &s.RewriteFullPath }},
		{"RewriteDefault", "what pathPrefixRewrite replaces in a default action", []Position{Nothing, Whole, Prepended}, func(s *Switches) *Position { return &s.RewriteDefault }},
		{"RewriteQuestion", "what a ? in pathPrefixRewrite begins", []Position{Query, Escaped}, func(s *Switches) *Position { return &s.RewriteQuestion }},
		{"RedirectFullPath", "what prefixRedirect replaces under a fullPathMatch, regexMatch or exact path rule", []Position{Whole, Nothing}, func(s *Switches) *Position { return &s.RedirectFullPath }},
		{"RedirectPort", "which port Location shows without hostRedirect: :443 after httpsRedirect (seen once), the Host's, or none", []Position{HTTPSOnly, Kept, Stripped}, func(s *Switches) *Position { return &s.RedirectPort }},
		{"RedirectHostPort", "whether a port in hostRedirect is kept", []Position{Kept, Dropped}, func(s *Switches) *Position { return &s.RedirectHostPort }},
		{"RedirectDefaultSegment", "whether prefixRedirect in a default redirect is joined to the path with one /", []Position{Joined, Plain}, func(s *Switches) *Position { return &s.RedirectDefaultSegment }},
	}
}

func headerSwitches() []Switch {
	return []Switch{
		{"HeaderOrder", "which comes first in one headerAction", []Position{RemoveFirst, AddFirst}, func(s *Switches) *Position { return &s.HeaderOrder }},
		{"HeaderHost", "whether a headerAction can change Host", []Position{Changed, Ignored}, func(s *Switches) *Position { return &s.HeaderHost }},
		{"HeaderOwnAnswers", "whether response headers are changed on the load balancer's own answers", []Position{Unchanged, Changed}, func(s *Switches) *Position { return &s.HeaderOwnAnswers }},
		{"CustomHeadersOrder", "when a backend service's custom headers come: after or before headerActions", []Position{Last, First}, func(s *Switches) *Position { return &s.CustomHeadersOrder }},
	}
}

func forwardSwitches() []Switch {
	return []Switch{
		{"AllWeightsZero", "what happens when every weight is 0", []Position{Unavailable, Evenly}, func(s *Switches) *Position { return &s.AllWeightsZero }},
		{"TimeoutZero", "whether a timeout of 0 is none, or as if there were none set", []Position{None, Default}, func(s *Switches) *Position { return &s.TimeoutZero }},
		{"DefaultRetry", "whether external load balancers too send a request without a body again after 502, 503, 504", []Position{Once, InternalOnly}, func(s *Switches) *Position { return &s.DefaultRetry }},
		{"RetryPolicy", "whether a retryPolicy replaces the retry that happens without one", []Position{Replaces, Adds}, func(s *Switches) *Position { return &s.RetryPolicy }},
		{"MirrorHost", "whether a copy's Host is the rewritten one, before -shadow", []Position{Rewritten, Original}, func(s *Switches) *Position { return &s.MirrorHost }},
		{"CORSPreflight", "who answers the preflight of an allowed origin", []Position{Balancer, ByBackend}, func(s *Switches) *Position { return &s.CORSPreflight }},
		{"CORSPreflightStatus", "the status of a preflight's answer", []Position{OK, NoContent}, func(s *Switches) *Position { return &s.CORSPreflightStatus }},
		{"CORSForeign", "what becomes of requests from an origin that is not allowed", []Position{Forwarded, Forbidden}, func(s *Switches) *Position { return &s.CORSForeign }},
		{"CORSStar", "whether * in allowOrigins is every origin", []Position{Literal, Any}, func(s *Switches) *Position { return &s.CORSStar }},
	}
}

func failureSwitches() []Switch {
	return []Switch{
		{"NoBackendStatus", "the status of failed_to_pick_backend", []Position{Unavailable, BadGateway}, func(s *Switches) *Position { return &s.NoBackendStatus }},
		{"ConnectStatus", "the status of failed_to_connect_to_backend and of a broken connection", []Position{Unavailable, BadGateway}, func(s *Switches) *Position { return &s.ConnectStatus }},
		{"TimeoutStatus", "the status of backend_timeout: 504 by third parties' captures, 502 and 503 by the log table", []Position{GatewayTimeout, Unavailable, BadGateway}, func(s *Switches) *Position { return &s.TimeoutStatus }},
		{"TLSStatus", "the status of a failed TLS handshake with a backend", []Position{BadGateway, Unavailable}, func(s *Switches) *Position { return &s.TLSStatus }},
		{"ForwardedProto", "what becomes of a client's own X-Forwarded-Proto", []Position{Replaced, Kept}, func(s *Switches) *Position { return &s.ForwardedProto }},
		{"AbortGRPC", "whether an abort tells gRPC clients a grpc-status beside an HTTP status", []Position{Status, Mapped}, func(s *Switches) *Position { return &s.AbortGRPC }},
	}
}

func routeSwitches() []Switch {
	return []Switch{
		{"RouteOrder", "which TlsRoute rule takes a connection: the first that matches, or the one with the most specific name", []Position{Listed, Specific}, func(s *Switches) *Position { return &s.RouteOrder }},
		{"RouteNoMatch", "how a connection ends that no TlsRoute takes", []Position{Closed, Reset}, func(s *Switches) *Position { return &s.RouteNoMatch }},
		{"WeightSpread", "whether weights are kept to by chance or evenly", []Position{Random, Smooth}, func(s *Switches) *Position { return &s.WeightSpread }},
	}
}
