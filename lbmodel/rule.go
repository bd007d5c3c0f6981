package lbmodel

// Rule is one match of one HTTPRoute or GRPCRoute rule for one hostname. A
// listener's rules stand in Gateway API's final total order, so the first that
// matches answers and a provider never sorts. A rule that could not be honoured
// keeps its place and has a Fixed action.
type Rule struct {
	Source   Source `json:"source"`            // the route; Section is rules[i].matches[j]
	Name     string `json:"name,omitzero"`     // the rule's own name, if it has one
	Hostname string `json:"hostname,omitzero"` // intersection of listener and route; "" is any
	Match    Match  `json:"match"`
	Action   Action `json:"action"`
}

// Match is the conjunction of its conditions. Conditions that the API says to
// ignore (a second header of an equivalent name) are already gone.
type Match struct {
	Path    PathMatch    `json:"path,omitzero"`
	Method  string       `json:"method,omitzero"`
	Headers []ValueMatch `json:"headers,omitempty"` // names lower case; an HTTP name is case-insensitive
	Query   []ValueMatch `json:"query,omitempty"`   // names are case-sensitive
	GRPC    *GRPCMatch   `json:"grpc,omitzero"`     // set on every rule of a GRPCRoute, instead of Path and Method
}

// MatchKind is how a value is compared.
type MatchKind string

// The kinds of match. Prefix is for paths only and by path element.
const (
	MatchExact  MatchKind = "Exact"
	MatchPrefix MatchKind = "Prefix"
	MatchRegex  MatchKind = "RegularExpression" // RE2, and it must match the whole value
)

// PathMatch compares the path, without the query. The zero value is any path.
type PathMatch struct {
	Kind  MatchKind `json:"kind,omitzero"`
	Value string    `json:"value,omitzero"`
}

// ValueMatch compares one header or query parameter.
type ValueMatch struct {
	Name  string    `json:"name"`
	Kind  MatchKind `json:"kind"`
	Value string    `json:"value"`
}

// GRPCMatch compares a gRPC call's service and method; empty is any. It is
// satisfied by gRPC requests only.
type GRPCMatch struct {
	Kind    MatchKind `json:"kind,omitzero"`
	Service string    `json:"service,omitzero"`
	Method  string    `json:"method,omitzero"`
}

// Action is what happens to a matching request: exactly one of Forward, Redirect
// and Fixed, and what is edited on the way.
type Action struct {
	Forward  *Forward  `json:"forward,omitzero"`
	Redirect *Redirect `json:"redirect,omitzero"`
	Fixed    *Fixed    `json:"fixed,omitzero"`

	Edits       Edits        `json:"edits,omitzero"`
	CORS        *CORS        `json:"cors,omitzero"`
	Timeouts    Timeouts     `json:"timeouts,omitzero"`
	Retry       *Retry       `json:"retry,omitzero"`
	Persistence *Persistence `json:"persistence,omitzero"`
}

// Fixed is an answer that the gateway gives itself.
type Fixed struct {
	Status int    `json:"status"`
	Body   string `json:"body,omitzero"`
}

// Edits are the filters that change a request or response without deciding who
// answers it. They stand on a rule or on one backend of it; the rule's come
// first.
type Edits struct {
	Request  *HeaderEdit `json:"request,omitzero"`
	Response *HeaderEdit `json:"response,omitzero"`
	Rewrite  *Rewrite    `json:"rewrite,omitzero"`
	Mirrors  []Mirror    `json:"mirrors,omitempty"`
}

// HeaderEdit changes headers in this order: remove, set, add.
type HeaderEdit struct {
	Set    []Header `json:"set,omitempty"`
	Add    []Header `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
}

// Header is a name and one value.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Rewrite changes what the backend sees.
type Rewrite struct {
	Hostname string    `json:"hostname,omitzero"`
	Path     *PathEdit `json:"path,omitzero"`
}

// PathEdit replaces the whole path, or the prefix that the rule matched. An
// empty Value is meaningful.
type PathEdit struct {
	Kind  PathEditKind `json:"kind"`
	Value string       `json:"value"`
}

// PathEditKind is which part of the path is replaced.
type PathEditKind string

// The kinds of path edit, in Gateway API's words.
const (
	ReplaceFullPath    PathEditKind = "ReplaceFullPath"
	ReplacePrefixMatch PathEditKind = "ReplacePrefixMatch"
)

// Redirect answers with a Location. Empty parts keep the request's.
type Redirect struct {
	Scheme   string    `json:"scheme,omitzero"`
	Hostname string    `json:"hostname,omitzero"`
	Port     int32     `json:"port,omitzero"`
	Path     *PathEdit `json:"path,omitzero"`
	Status   int       `json:"status"`
}

// Mirror sends a copy of Numerator in Denominator requests to a pool and drops
// the answers.
type Mirror struct {
	Source      Source `json:"source,omitzero"`
	Pool        string `json:"pool"`
	Numerator   int32  `json:"numerator"`
	Denominator int32  `json:"denominator"`
}

// CORS answers preflight requests and marks responses (HTTPRoute's CORS filter).
type CORS struct {
	AllowOrigins     []string `json:"allowOrigins,omitempty"`
	AllowCredentials bool     `json:"allowCredentials,omitzero"`
	AllowMethods     []string `json:"allowMethods,omitempty"`
	AllowHeaders     []string `json:"allowHeaders,omitempty"`
	ExposeHeaders    []string `json:"exposeHeaders,omitempty"`
	MaxAge           int32    `json:"maxAge,omitzero"` // seconds
}

// Timeouts bound a request; zero is none.
type Timeouts struct {
	Request Duration `json:"request,omitzero"` // from the request's first byte to the response's last
	Backend Duration `json:"backend,omitzero"` // one attempt
}

// Retry repeats an attempt that failed to connect or answered one of Codes.
type Retry struct {
	Codes    []int    `json:"codes,omitempty"`
	Attempts int      `json:"attempts"` // repeats after the first try
	Backoff  Duration `json:"backoff,omitzero"`
}

// Persistence keeps a client on one endpoint.
type Persistence struct {
	Kind            PersistenceKind `json:"kind"`
	Name            string          `json:"name,omitzero"` // of the cookie or header
	AbsoluteTimeout Duration        `json:"absoluteTimeout,omitzero"`
	IdleTimeout     Duration        `json:"idleTimeout,omitzero"`
	Permanent       bool            `json:"permanent,omitzero"` // the cookie outlives the browser session
}

// PersistenceKind is what carries the session.
type PersistenceKind string

// The kinds of session persistence.
const (
	PersistCookie PersistenceKind = "Cookie"
	PersistHeader PersistenceKind = "Header"
	PersistSource PersistenceKind = "SourceIP" // a Service's sessionAffinity: ClientIP
)

// Forward shares requests (HTTP, gRPC), connections (TCP, TLS) or flows (UDP)
// among backends by weight. No backend, or a sum of zero, answers 500 and closes
// a connection.
type Forward struct {
	Backends []Backend `json:"backends,omitempty"`
}

// Backend is one share of a Forward. A broken reference keeps its share: Fixed
// says what that share gets, and Pool is empty.
type Backend struct {
	Source   Source    `json:"source,omitzero"` // the route and the backendRef's place
	Pool     string    `json:"pool,omitzero"`
	Weight   int32     `json:"weight"`
	Fixed    *Fixed    `json:"fixed,omitzero"`
	Redirect *Redirect `json:"redirect,omitzero"`
	Edits    Edits     `json:"edits,omitzero"`
}
