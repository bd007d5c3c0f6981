package gcp

import (
	"time"

	"gatehouse.dev/lbmodel"
)

// The fields of the Specs here are those of the API, under its names. A field that is
// not here is at its default, and is not ours.

// URLMap says which backend service takes a request of one port. All of it can be
// changed.
type URLMap struct {
	HostRules          []HostRule    `json:"hostRules,omitempty"`
	PathMatchers       []PathMatcher `json:"pathMatchers,omitempty"`
	DefaultService     Ref           `json:"defaultService"`
	DefaultRouteAction *RouteAction  `json:"defaultRouteAction,omitzero"`

	sources []lbmodel.Source
	nobody  Ref // the backend service of requests that are answered without one
}

// HostRule sends requests for a host to a path matcher. The first that fits, in order
// of precision, takes them.
type HostRule struct {
	Hosts       []string `json:"hosts"`
	PathMatcher string   `json:"pathMatcher"`
}

// PathMatcher is a list of rules, of which the first that matches acts.
type PathMatcher struct {
	Name               string       `json:"name"`
	RouteRules         []RouteRule  `json:"routeRules,omitempty"`
	DefaultService     Ref          `json:"defaultService"`
	DefaultRouteAction *RouteAction `json:"defaultRouteAction,omitzero"`
}

// RouteRule acts on a request that one of MatchRules matches. It has one of Service,
// RouteAction.WeightedBackendServices and URLRedirect.
type RouteRule struct {
	Priority     int32         `json:"priority"`
	MatchRules   []MatchRule   `json:"matchRules"`
	Service      Ref           `json:"service,omitzero"`
	RouteAction  *RouteAction  `json:"routeAction,omitzero"`
	URLRedirect  *URLRedirect  `json:"urlRedirect,omitzero"`
	HeaderAction *HeaderAction `json:"headerAction,omitzero"`

	broken int // the status that stands in for a backend that is not there
}

// MatchRule holds when all of it does. It has one kind of path match.
type MatchRule struct {
	FullPathMatch         string       `json:"fullPathMatch,omitzero"`
	PrefixMatch           string       `json:"prefixMatch,omitzero"`
	RegexMatch            string       `json:"regexMatch,omitzero"`
	PathTemplateMatch     string       `json:"pathTemplateMatch,omitzero"`
	HeaderMatches         []ValueMatch `json:"headerMatches,omitempty"`
	QueryParameterMatches []QueryMatch `json:"queryParameterMatches,omitempty"`
}

// ValueMatch compares a header.
type ValueMatch struct {
	HeaderName  string `json:"headerName"`
	ExactMatch  string `json:"exactMatch,omitzero"`
	PrefixMatch string `json:"prefixMatch,omitzero"`
	RegexMatch  string `json:"regexMatch,omitzero"`
	InvertMatch bool   `json:"invertMatch,omitzero"`
}

// QueryMatch compares a query parameter.
type QueryMatch struct {
	Name       string `json:"name"`
	ExactMatch string `json:"exactMatch,omitzero"`
	RegexMatch string `json:"regexMatch,omitzero"`
}

// RouteAction is what is done with a request on its way.
type RouteAction struct {
	WeightedBackendServices []WeightedService `json:"weightedBackendServices,omitempty"`
	URLRewrite              *URLRewrite       `json:"urlRewrite,omitzero"`
	Timeout                 *Duration         `json:"timeout,omitzero"`
	RetryPolicy             *RetryPolicy      `json:"retryPolicy,omitzero"`
	RequestMirrorPolicy     *MirrorPolicy     `json:"requestMirrorPolicy,omitzero"`
	CORSPolicy              *CORSPolicy       `json:"corsPolicy,omitzero"`
	FaultInjectionPolicy    *FaultPolicy      `json:"faultInjectionPolicy,omitzero"`
}

// WeightedService is a share.
type WeightedService struct {
	BackendService Ref           `json:"backendService"`
	Weight         int32         `json:"weight"` // 0 to 1000
	HeaderAction   *HeaderAction `json:"headerAction,omitzero"`
}

// URLRewrite changes what the backend sees.
type URLRewrite struct {
	HostRewrite         string        `json:"hostRewrite,omitzero"`
	PathPrefixRewrite   string        `json:"pathPrefixRewrite,omitzero"`
	PathTemplateRewrite string        `json:"pathTemplateRewrite,omitzero"`
	RegexRewrite        *RegexRewrite `json:"regexRewrite,omitzero"`
}

// RegexRewrite replaces the part of the path that PathPattern matches.
type RegexRewrite struct {
	PathPattern      string `json:"pathPattern"`
	PathSubstitution string `json:"pathSubstitution"`
}

// URLRedirect builds a Location.
type URLRedirect struct {
	HostRedirect         string `json:"hostRedirect,omitzero"`
	HTTPSRedirect        bool   `json:"httpsRedirect,omitzero"`
	PathRedirect         string `json:"pathRedirect,omitzero"`
	PrefixRedirect       string `json:"prefixRedirect,omitzero"`
	RedirectResponseCode string `json:"redirectResponseCode"`
}

// RetryPolicy repeats attempts.
type RetryPolicy struct {
	NumRetries      int32     `json:"numRetries"`
	PerTryTimeout   *Duration `json:"perTryTimeout,omitzero"`
	RetryConditions []string  `json:"retryConditions"`
}

// MirrorPolicy copies requests to a backend service.
type MirrorPolicy struct {
	BackendService Ref     `json:"backendService"`
	MirrorPercent  float64 `json:"mirrorPercent"`
}

// CORSPolicy answers preflights and marks responses.
type CORSPolicy struct {
	AllowOrigins     []string `json:"allowOrigins,omitempty"`
	AllowMethods     []string `json:"allowMethods,omitempty"`
	AllowHeaders     []string `json:"allowHeaders,omitempty"`
	ExposeHeaders    []string `json:"exposeHeaders,omitempty"`
	MaxAge           int32    `json:"maxAge,omitzero"`
	AllowCredentials bool     `json:"allowCredentials,omitzero"`
}

// FaultPolicy answers a share of requests by itself.
type FaultPolicy struct {
	Abort Abort `json:"abort"`
}

// Abort is the answer and how often it is given.
type Abort struct {
	HTTPStatus int32   `json:"httpStatus"`
	Percentage float64 `json:"percentage"`
}

// HeaderAction changes headers.
type HeaderAction struct {
	RequestHeadersToAdd     []HeaderOption `json:"requestHeadersToAdd,omitempty"`
	RequestHeadersToRemove  []string       `json:"requestHeadersToRemove,omitempty"`
	ResponseHeadersToAdd    []HeaderOption `json:"responseHeadersToAdd,omitempty"`
	ResponseHeadersToRemove []string       `json:"responseHeadersToRemove,omitempty"`
}

// HeaderOption sets or adds a header.
type HeaderOption struct {
	HeaderName  string `json:"headerName"`
	HeaderValue string `json:"headerValue"`
	Replace     bool   `json:"replace"`
}

// Duration is Google's: seconds are a string.
type Duration struct {
	Seconds int64 `json:"seconds,string,omitzero"`
	Nanos   int32 `json:"nanos,omitzero"`
}

func durationOf(d lbmodel.Duration) *Duration {
	if d == 0 {
		return nil
	}
	t := time.Duration(d)
	return &Duration{Seconds: int64(t / time.Second), Nanos: int32(t % time.Second)}
}

// Needs implements lbmodel.Spec.
func (u *URLMap) Needs() []lbmodel.ID {
	refs := []Ref{u.DefaultService}
	for i := range u.PathMatchers {
		m := &u.PathMatchers[i]
		refs = append(refs, m.DefaultService)
		for j := range m.RouteRules {
			refs = append(refs, m.RouteRules[j].services()...)
		}
	}
	return needs(refs...)
}

// services are the backend services that a rule names.
func (r *RouteRule) services() []Ref {
	out := []Ref{r.Service}
	if a := r.RouteAction; a != nil {
		for _, w := range a.WeightedBackendServices {
			out = append(out, w.BackendService)
		}
		if a.RequestMirrorPolicy != nil {
			out = append(out, a.RequestMirrorPolicy.BackendService)
		}
	}
	return out
}

// Sources implements lbmodel.Sourced.
func (u *URLMap) Sources() []lbmodel.Source { return u.sources }

// TLSRoute sends TLS connections of one target proxy on by their server name, without
// decrypting them.
type TLSRoute struct {
	TargetProxies []LocatedRef `json:"targetProxies"`
	Rules         []TLSRule    `json:"rules"`

	sources []lbmodel.Source
	nobody  Ref
}

// TLSRule is what is done with a server name.
type TLSRule struct {
	Matches []TLSMatch `json:"matches"`
	Action  TLSAction  `json:"action"`
}

// TLSMatch has the server names.
type TLSMatch struct {
	SNIHost []string `json:"sniHost"`
}

// TLSAction shares connections.
type TLSAction struct {
	Destinations []Destination `json:"destinations"`
}

// Destination is a share.
type Destination struct {
	ServiceName LocatedRef `json:"serviceName"`
	Weight      int32      `json:"weight"`
}

// Needs implements lbmodel.Spec.
func (r *TLSRoute) Needs() []lbmodel.ID {
	var refs []Ref
	for _, p := range r.TargetProxies {
		refs = append(refs, Ref(p))
	}
	for i := range r.Rules {
		for _, d := range r.Rules[i].Action.Destinations {
			refs = append(refs, Ref(d.ServiceName))
		}
	}
	return needs(refs...)
}

// Sources implements lbmodel.Sourced.
func (r *TLSRoute) Sources() []lbmodel.Source { return r.sources }
