package serve

import (
	"net/http"
	"time"
)

// Request is what a URL map sees of an HTTP request.
type Request struct {
	Method string
	Host   string // the Host header or :authority, with its port if it has one
	Path   string // as sent, undecoded
	Query  string // as sent, without the question mark
	Header http.Header
	// Variables are values of custom header variables, such as client_cert_present,
	// without braces. One that is not here is empty.
	Variables map[string]string
}

// Answer is what becomes of a request: exactly one of Own and Forward.
type Answer struct {
	// Rule is what decided: "host rule 0, path matcher m, priority 3", "…, path rule 1",
	// "…, default" or "default".
	Rule    string
	Why     string // what made it match
	Own     *Own
	Forward *Forward
}

// Own is an answer of the load balancer's own.
type Own struct {
	Status int
	Header http.Header // Location of redirects, Access-Control-… of preflights
	// Cause is Google's statusDetails: fault_filter_abort, or this emulator's word
	// where none is documented: redirect, dot_segments, cors_preflight,
	// cors_origin_refused, no_weight.
	Cause string
	// Response are the changes to the answer's headers, as far as they are made on
	// answers of the load balancer's own.
	Response Edits
}

// Forward is a request as a backend gets it.
type Forward struct {
	Method string
	Host   string // before Share.Request
	Path   string // after rewrites, undecoded
	Query  string
	// Shares are the backend services with their weights; one without a choice.
	Shares []Share
	// Timeout is from the end of the request to the end of the response, with all
	// attempts; 0 is none.
	Timeout time.Duration
	Retry   Retry
	Mirror  *Mirror
	// CORS are response headers by the CORS policy, for this request's Origin. They
	// replace a backend's.
	CORS http.Header
	// Abort and Delay happen to a percentage; an abort at 100 % is an Own instead.
	Abort *FaultAbort
	Delay *FaultDelay
}

// Share is one backend service's part.
type Share struct {
	Service  string // as Ref has it
	Weight   int32  // of the sum of all; requests are spread by it
	Request  Edits  // in the order in which they happen
	Response Edits
}

// Retry is when a request is sent again.
type Retry struct {
	Attempts int           // after the first; 0 is never
	PerTry   time.Duration // of each attempt; 0 is none
	On       []string      // retryConditions
	// Default is the retry that happens without a policy: a request without a body is
	// sent once more after 502, 503 and 504.
	Default bool
}

// Mirror is a copy that nobody waits for.
type Mirror struct {
	Service string
	Host    string // with the suffix -shadow
	Percent float64
}

// Edits are changes to headers, one after the other.
type Edits []Edit

// Edit is one of: remove Name, set Name to Value, append Value to Name.
type Edit struct {
	Name   string
	Value  string
	Remove bool
	Append bool
}

// Apply makes the changes in h. What is meant for the Host header stands in h under
// Host, if it is there.
func (e Edits) Apply(h http.Header) {
	for _, edit := range e {
		switch {
		case edit.Remove:
			h.Del(edit.Name)
		case edit.Append:
			h.Add(edit.Name, edit.Value)
		default:
			h.Set(edit.Name, edit.Value)
		}
	}
}
