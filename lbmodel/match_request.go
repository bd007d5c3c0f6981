package lbmodel

import "net/netip"

// Request is what of an HTTP request decides which rule answers it.
type Request struct {
	Scheme  string // http or https, as the client spoke to the listener
	Method  string
	Host    string              // the Host header or :authority as it was sent, with its port
	Path    string              // escaped, as on the wire, without the query; see isPlainPath for how it is read
	Query   string              // raw, without the question mark
	Headers map[string][]string // keys in net/http's canonical form
	SNI     string              // the server name of the TLS handshake; "" without TLS or name
	Source  netip.AddrPort      // the client
	Port    int32               // the listener's port that the client connected to
}

// Answer is the rule that takes a request.
type Answer struct {
	Listener *Listener // the listener that was asked; nil when none takes the host: 404
	Index    int       // of the rule in Listener.Rules; -1 when there is none
	Rule     *Rule     // nil: 404, or 400 when Refused is set
	Prefix   string    // the prefix that the rule matched, without its trailing slash; "/" is the root, "" is none
	Refused  string    // why the path may not be matched by any rule; answer 400
}

// Attempt is a rule that was asked and did not match.
type Attempt struct {
	Index  int
	Rule   *Rule
	Failed string // the condition that did not hold, in words
}

// Explanation is an Answer and how it came about.
type Explanation struct {
	Answer
	Tried []Attempt // in the order of the rules, up to the one that answers
}
