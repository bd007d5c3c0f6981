package serve

import (
	"encoding/json"
	"strconv"
	"time"
)

// URLMap is a compute UrlMap as the v1 REST API has it, with the fields that decide
// over requests (reference: compute/docs/reference/rest/v1/urlMaps).
type URLMap struct {
	Name               string            `json:"name,omitempty"`
	HostRules          []HostRule        `json:"hostRules,omitempty"`
	PathMatchers       []PathMatcher     `json:"pathMatchers,omitempty"`
	DefaultService     string            `json:"defaultService,omitempty"`
	DefaultRouteAction *RouteAction      `json:"defaultRouteAction,omitempty"`
	DefaultURLRedirect *RedirectAction   `json:"defaultUrlRedirect,omitempty"`
	HeaderAction       *HeaderAction     `json:"headerAction,omitempty"`
	Tests              []json.RawMessage `json:"tests,omitempty"`
}

// HostRule sends hosts to a path matcher.
type HostRule struct {
	Hosts       []string `json:"hosts,omitempty"`
	PathMatcher string   `json:"pathMatcher,omitempty"`
}

// PathMatcher has PathRules or RouteRules.
type PathMatcher struct {
	Name               string          `json:"name,omitempty"`
	PathRules          []PathRule      `json:"pathRules,omitempty"`
	RouteRules         []RouteRule     `json:"routeRules,omitempty"`
	DefaultService     string          `json:"defaultService,omitempty"`
	DefaultRouteAction *RouteAction    `json:"defaultRouteAction,omitempty"`
	DefaultURLRedirect *RedirectAction `json:"defaultUrlRedirect,omitempty"`
	HeaderAction       *HeaderAction   `json:"headerAction,omitempty"`
}

// PathRule takes paths, the longest first.
type PathRule struct {
	Paths       []string        `json:"paths,omitempty"`
	Service     string          `json:"service,omitempty"`
	RouteAction *RouteAction    `json:"routeAction,omitempty"`
	URLRedirect *RedirectAction `json:"urlRedirect,omitempty"`
}

// RouteRule takes what one of its MatchRules does. The lowest Priority is asked
// first.
type RouteRule struct {
	Priority     int32           `json:"priority"`
	MatchRules   []MatchRule     `json:"matchRules,omitempty"`
	Service      string          `json:"service,omitempty"`
	RouteAction  *RouteAction    `json:"routeAction,omitempty"`
	URLRedirect  *RedirectAction `json:"urlRedirect,omitempty"`
	HeaderAction *HeaderAction   `json:"headerAction,omitempty"`
}

// MatchRule (HttpRouteRuleMatch) holds when all of it does.
type MatchRule struct {
	FullPathMatch         string        `json:"fullPathMatch,omitempty"`
	PrefixMatch           string        `json:"prefixMatch,omitempty"`
	RegexMatch            string        `json:"regexMatch,omitempty"`
	PathTemplateMatch     string        `json:"pathTemplateMatch,omitempty"`
	IgnoreCase            bool          `json:"ignoreCase,omitempty"`
	HeaderMatches         []HeaderMatch `json:"headerMatches,omitempty"`
	QueryParameterMatches []QueryMatch  `json:"queryParameterMatches,omitempty"`
}

// HeaderMatch (HttpHeaderMatch) has exactly one kind of match.
type HeaderMatch struct {
	HeaderName   string      `json:"headerName,omitempty"` // also :authority, :method and PORT
	ExactMatch   *string     `json:"exactMatch,omitempty"`
	PrefixMatch  *string     `json:"prefixMatch,omitempty"`
	SuffixMatch  *string     `json:"suffixMatch,omitempty"`
	RegexMatch   *string     `json:"regexMatch,omitempty"`
	PresentMatch *bool       `json:"presentMatch,omitempty"`
	RangeMatch   *Int64Range `json:"rangeMatch,omitempty"`
	InvertMatch  bool        `json:"invertMatch,omitempty"`
}

// Int64Range is [Start, End).
type Int64Range struct {
	Start Int64 `json:"rangeStart,omitempty"`
	End   Int64 `json:"rangeEnd,omitempty"`
}

// QueryMatch (HttpQueryParameterMatch) has exactly one kind of match.
type QueryMatch struct {
	Name         string  `json:"name,omitempty"`
	ExactMatch   *string `json:"exactMatch,omitempty"`
	RegexMatch   *string `json:"regexMatch,omitempty"`
	PresentMatch *bool   `json:"presentMatch,omitempty"`
}

// RouteAction (HttpRouteAction) is what becomes of a request beside its service.
type RouteAction struct {
	WeightedBackendServices []WeightedService `json:"weightedBackendServices,omitempty"`
	URLRewrite              *URLRewrite       `json:"urlRewrite,omitempty"`
	Timeout                 *Duration         `json:"timeout,omitempty"`
	RetryPolicy             *RetryPolicy      `json:"retryPolicy,omitempty"`
	RequestMirrorPolicy     *MirrorPolicy     `json:"requestMirrorPolicy,omitempty"`
	CORSPolicy              *CORSPolicy       `json:"corsPolicy,omitempty"`
	FaultInjectionPolicy    *FaultInjection   `json:"faultInjectionPolicy,omitempty"`
	MaxStreamDuration       *Duration         `json:"maxStreamDuration,omitempty"`
}

// WeightedService (WeightedBackendService) is a share of the requests.
type WeightedService struct {
	BackendService string        `json:"backendService,omitempty"`
	Weight         int32         `json:"weight"`
	HeaderAction   *HeaderAction `json:"headerAction,omitempty"`
}

// URLRewrite (UrlRewrite) changes what the backend sees.
type URLRewrite struct {
	HostRewrite         string        `json:"hostRewrite,omitempty"`
	PathPrefixRewrite   string        `json:"pathPrefixRewrite,omitempty"`
	PathTemplateRewrite string        `json:"pathTemplateRewrite,omitempty"`
	RegexRewrite        *RegexRewrite `json:"regexRewrite,omitempty"`
}

// RegexRewrite replaces what PathPattern finds.
type RegexRewrite struct {
	PathPattern      string `json:"pathPattern,omitempty"`
	PathSubstitution string `json:"pathSubstitution,omitempty"`
}

// RedirectAction (HttpRedirectAction) answers with a Location.
type RedirectAction struct {
	HostRedirect         string `json:"hostRedirect,omitempty"`
	HTTPSRedirect        bool   `json:"httpsRedirect,omitempty"`
	PathRedirect         string `json:"pathRedirect,omitempty"`
	PrefixRedirect       string `json:"prefixRedirect,omitempty"`
	RedirectResponseCode string `json:"redirectResponseCode,omitempty"` // MOVED_PERMANENTLY_DEFAULT, FOUND, SEE_OTHER, TEMPORARY_REDIRECT, PERMANENT_REDIRECT
	StripQuery           bool   `json:"stripQuery,omitempty"`
}

// RetryPolicy (HttpRetryPolicy): NumRetries counts attempts after the first.
type RetryPolicy struct {
	NumRetries      *int32    `json:"numRetries,omitempty"`
	PerTryTimeout   *Duration `json:"perTryTimeout,omitempty"`
	RetryConditions []string  `json:"retryConditions,omitempty"`
}

// MirrorPolicy (RequestMirrorPolicy) copies requests.
type MirrorPolicy struct {
	BackendService string   `json:"backendService,omitempty"`
	MirrorPercent  *float64 `json:"mirrorPercent,omitempty"` // nil is 100
}

// CORSPolicy (CorsPolicy).
type CORSPolicy struct {
	AllowOrigins       []string `json:"allowOrigins,omitempty"`
	AllowOriginRegexes []string `json:"allowOriginRegexes,omitempty"`
	AllowMethods       []string `json:"allowMethods,omitempty"`
	AllowHeaders       []string `json:"allowHeaders,omitempty"`
	ExposeHeaders      []string `json:"exposeHeaders,omitempty"`
	MaxAge             *int32   `json:"maxAge,omitempty"` // seconds
	AllowCredentials   bool     `json:"allowCredentials,omitempty"`
	Disabled           bool     `json:"disabled,omitempty"`
}

// FaultInjection (HttpFaultInjection).
type FaultInjection struct {
	Abort *FaultAbort `json:"abort,omitempty"`
	Delay *FaultDelay `json:"delay,omitempty"`
}

// FaultAbort (HttpFaultAbort) answers a percentage of requests at once.
type FaultAbort struct {
	HTTPStatus int32   `json:"httpStatus,omitempty"`
	Percentage float64 `json:"percentage,omitempty"`
}

// FaultDelay (HttpFaultDelay) holds a percentage of requests back.
type FaultDelay struct {
	FixedDelay *Duration `json:"fixedDelay,omitempty"`
	Percentage float64   `json:"percentage,omitempty"`
}

// HeaderAction (HttpHeaderAction) changes headers of requests and responses.
type HeaderAction struct {
	RequestHeadersToAdd     []HeaderOption `json:"requestHeadersToAdd,omitempty"`
	RequestHeadersToRemove  []string       `json:"requestHeadersToRemove,omitempty"`
	ResponseHeadersToAdd    []HeaderOption `json:"responseHeadersToAdd,omitempty"`
	ResponseHeadersToRemove []string       `json:"responseHeadersToRemove,omitempty"`
}

// HeaderOption (HttpHeaderOption) sets or, with Replace false, appends. Without
// Replace it sets, unless the value holds a variable.
type HeaderOption struct {
	HeaderName  string `json:"headerName,omitempty"`
	HeaderValue string `json:"headerValue,omitempty"`
	Replace     *bool  `json:"replace,omitempty"`
}

// Duration is the API's: seconds as a string, and nanoseconds.
type Duration struct {
	Seconds Int64 `json:"seconds,omitempty"`
	Nanos   int32 `json:"nanos,omitempty"`
}

// Time is the duration.
func (d *Duration) Time() time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(d.Seconds)*time.Second + time.Duration(d.Nanos)
}

// Int64 is a number that JSON has as a string (or, from hand-written input, as a
// number).
type Int64 int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *Int64) UnmarshalJSON(b []byte) error {
	text := string(b)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	v, err := strconv.ParseInt(text, 10, 64)
	*n = Int64(v)
	return err
}

// MarshalJSON implements json.Marshaler.
func (n Int64) MarshalJSON() ([]byte, error) {
	return []byte(strconv.Quote(strconv.FormatInt(int64(n), 10))), nil
}
