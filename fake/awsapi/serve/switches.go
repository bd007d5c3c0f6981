package serve

import "slices"

// Switches lists every switch of [Undocumented], in the order of its fields.
func Switches() []Switch { return slices.Clone(switches) }

var switches = slices.Concat(matchSwitches(), rewriteSwitches(), forwardSwitches(), answerSwitches(), networkSwitches())

func matchSwitches() []Switch {
	return []Switch{
		{"HostPort", "whether host-header sees the port of the Host header (the load balancer controller's tests say Kept)", []Position{Kept, Stripped}, func(u *Undocumented) *Position { return &u.HostPort }},
		{"HostRegexCase", "letter case in a regex of host-header", []Position{Insensitive, Sensitive}, func(u *Undocumented) *Position { return &u.HostRegexCase }},
		{"HeaderRegexCase", "letter case in a regex of http-header", []Position{Insensitive, Sensitive}, func(u *Undocumented) *Position { return &u.HeaderRegexCase }},
		{"PathRegexCase", "letter case in a regex of path-pattern", []Position{Sensitive, Insensitive}, func(u *Undocumented) *Position { return &u.PathRegexCase }},
		{"RegexExtent", "whether a regex matches a part or the whole", []Position{Search, Full}, func(u *Undocumented) *Position { return &u.RegexExtent }},
		{"RegexFlags", "whether (?i) works in a condition's regex, or makes it never hold", []Position{Honoured, Refused}, func(u *Undocumented) *Position { return &u.RegexFlags }},
		{"PathDecoding", "which percent-encoded bytes path-pattern sees decoded", []Position{Unreserved, Raw, All}, func(u *Undocumented) *Position { return &u.PathDecoding }},
		{"PathDots", "whether path-pattern sees /./ and /../", []Position{Removed, Kept}, func(u *Undocumented) *Position { return &u.PathDots }},
		{"PathSlashes", "whether path-pattern sees // as it is", []Position{Kept, Merged}, func(u *Undocumented) *Position { return &u.PathSlashes }},
		{"PathParameters", "whether path-pattern sees ;parameters", []Position{Kept, Removed}, func(u *Undocumented) *Position { return &u.PathParameters }},
		{"QueryDecoding", "whether query-string compares decoded text, and + as a blank", []Position{Decoded, Raw, DecodedPlus}, func(u *Undocumented) *Position { return &u.QueryDecoding }},
		{"GlobEscape", `whether \* and \? are literal in globs of host, path and header, as documented for queries`, []Position{Literal, Escape}, func(u *Undocumented) *Position { return &u.GlobEscape }},
		{"HeaderLists", "whether http-header compares a,b as one value or also its parts", []Position{Whole, Split}, func(u *Undocumented) *Position { return &u.HeaderLists }},
		{"InvisibleBytes", "whether a condition can hold for text with bytes that are not visible ASCII", []Position{NeverHold, Compared}, func(u *Undocumented) *Position { return &u.InvisibleBytes }},
		{"GRPCPackage", "whether /package takes the services of a gRPC package", []Position{Literal, Prefix}, func(u *Undocumented) *Position { return &u.GRPCPackage }},
		{"HostlessHTTP10", "whether an HTTP/1.0 request without Host meets the rules", []Position{NoHost, Refused}, func(u *Undocumented) *Position { return &u.HostlessHTTP10 }},
		{"DroppedHeaders", "whether rules see header fields that drop_invalid_header_fields drops", []Position{Seen, Unseen}, func(u *Undocumented) *Position { return &u.DroppedHeaders }},
		{"HeaderNames", "whether http2.enabled makes HTTP/1.1 requests with names like a_b a 400", []Position{Any, Refused}, func(u *Undocumented) *Position { return &u.HeaderNames }},
	}
}

func rewriteSwitches() []Switch {
	return []Switch{
		{"RewriteOccurrence", "which matches a transform replaces", []Position{First, Every}, func(u *Undocumented) *Position { return &u.RewriteOccurrence }},
		{"RewriteQuery", "whether the regex of url-rewrite sees ?query", []Position{Seen, Unseen}, func(u *Undocumented) *Position { return &u.RewriteQuery }},
		{"RewriteInput", "whether url-rewrite sees the path as sent or as path-pattern does", []Position{Raw, Normalised}, func(u *Undocumented) *Position { return &u.RewriteInput }},
		{"RewriteMissingGroup", "what $n is for a group that took no part or does not exist", []Position{Empty, Literal, Fails}, func(u *Undocumented) *Position { return &u.RewriteMissingGroup }},
		{"RewriteDollar", "what a $ without a number is, and $$", []Position{Literal, Doubled, Dropped}, func(u *Undocumented) *Position { return &u.RewriteDollar }},
		{"RewriteEmpty", "whether an empty result is tolerated (path /, host as it was) or 500", []Position{Tolerated, Fails}, func(u *Undocumented) *Position { return &u.RewriteEmpty }},
		{"RewriteHostInput", "whether the regex of host-header-rewrite sees the port", []Position{WithPort, WithoutPort}, func(u *Undocumented) *Position { return &u.RewriteHostInput }},
		{"RewriteHostPort", "whether a rewritten host gets the listener's port appended like an original one", []Position{AsRewritten, PortAppended}, func(u *Undocumented) *Position { return &u.RewriteHostPort }},
		{"RedirectPath", "whether #{path}, #{query} and #{host} of a redirect are the rewritten ones (seen for the path)", []Position{Rewritten, Original}, func(u *Undocumented) *Position { return &u.RedirectPath }},
	}
}

func forwardSwitches() []Switch {
	return []Switch{
		{"AllWeightsZero", "what happens when every weight is 0", []Position{Unavailable, Evenly, Error}, func(u *Undocumented) *Position { return &u.AllWeightsZero }},
		{"WeightSpread", "whether weights are kept to by chance or evenly", []Position{Random, Smooth}, func(u *Undocumented) *Position { return &u.WeightSpread }},
		{"Retries", "whether a request is repeated: after a refused connect, or on a kept connection that was lost", []Position{Never, Connect, LostConnection}, func(u *Undocumented) *Position { return &u.Retries }},
		{"BackendSNI", "the server name sent to HTTPS targets", []Position{None, Host}, func(u *Undocumented) *Position { return &u.BackendSNI }},
		{"TargetTLSTimeout", "the status when a target's TLS handshake takes too long: 504 today, 502 in the guide of 2023", []Position{GatewayTimeout, BadGateway}, func(u *Undocumented) *Position { return &u.TargetTLSTimeout }},
		{"StickyRenewal", "whether every response renews a stickiness cookie's time", []Position{EveryResponse, Once}, func(u *Undocumented) *Position { return &u.StickyRenewal }},
		{"ForwardedProto", "what becomes of a client's own X-Forwarded-Proto and -Port", []Position{Replaced, Kept}, func(u *Undocumented) *Position { return &u.ForwardedProto }},
		{"SpoofedAmazon", "what becomes of a client's own X-Amzn-Mtls-… and X-Amzn-Tls-…", []Position{Stripped, Kept}, func(u *Undocumented) *Position { return &u.SpoofedAmazon }},
		{"HealthTimeout", "the default timeout of HTTP checks: the guide's 5 s, or the API's 6 s (HTTP) and 10 s (HTTPS)", []Position{Guide, API}, func(u *Undocumented) *Position { return &u.HealthTimeout }},
		{"PassthroughEmpty", "whether mTLS passthrough admits clients without a certificate", []Position{Allowed, Refused}, func(u *Undocumented) *Position { return &u.PassthroughEmpty }},
	}
}

func answerSwitches() []Switch {
	return []Switch{
		{"TooLarge", "the status for headers and URLs that are too long: 400, or 413 and 414", []Position{BadRequest, EntityTooLarge}, func(u *Undocumented) *Position { return &u.TooLarge }},
		{"ErrorBody", "the body of error answers", []Position{HTML, Empty}, func(u *Undocumented) *Position { return &u.ErrorBody }},
		{"FixedType", "the content type of a fixed response that names none", []Position{Plain, None}, func(u *Undocumented) *Position { return &u.FixedType }},
		{"FixedGRPCStatus", "whether fixed responses to gRPC clients carry grpc-status", []Position{None, MappedGRPCStatus}, func(u *Undocumented) *Position { return &u.FixedGRPCStatus }},
		{"OwnHeaders", "whether a listener's response headers are on the load balancer's own answers", []Position{Every, TargetsOnly}, func(u *Undocumented) *Position { return &u.OwnHeaders }},
	}
}

func networkSwitches() []Switch {
	return []Switch{
		{"NetworkEmptyGroup", "whether an empty group's share of connections is refused or goes to the other groups", []Position{Refused, Others}, func(u *Undocumented) *Position { return &u.NetworkEmptyGroup }},
		{"NetworkZeroWeight", "whether existing connections to a group are closed when its weight becomes 0 (the guide says both)", []Position{Closed, Kept}, func(u *Undocumented) *Position { return &u.NetworkZeroWeight }},
		{"NetworkStickyLost", "where a sticky client goes whose target is gone", []Position{SameGroup, Anew}, func(u *Undocumented) *Position { return &u.NetworkStickyLost }},
	}
}
