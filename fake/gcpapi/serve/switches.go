package serve

// Position is one way in which something that Google does not document may be.
type Position string

// Switches is what Google does not document, or documents in two ways, and what
// therefore must not decide whether a configuration is right. Each field is a switch;
// "" is its first position. [AllSwitches] lists them with what they decide.
type Switches struct {
	// Which host rule.
	HostCase           Position // Insensitive, Sensitive
	HostPort           Position // Ignored, Compared
	HostWildcardPort   Position // Compared, Never
	HostPrecedence     Position // Longest, Listed
	HostWildcardExtent Position // Any, Listed

	// Which rule.
	PathRuleCase         Position // Sensitive, Insensitive
	IgnoreCase           Position // Name, Comment
	PathSlashes          Position // Kept, Merged
	PathDot              Position // Kept, Removed, Redirected
	PathEscapes          Position // Kept, Unreserved, All
	EncodedDots          Position // Kept, Redirected
	RegexExtent          Position // Full, Search
	TemplateTail         Position // Slash, Whole
	TemplateEmptySegment Position // Never, Matched
	HeaderValueCase      Position // Sensitive, Insensitive
	HeaderRepeats        Position // Joined, Any, First
	HeaderInvertAbsent   Position // Holds, Fails
	QueryDecoding        Position // Raw, Decoded, DecodedPlus
	QueryRepeats         Position // First, Any, Last

	// Rewrites and redirects.
	RewriteFullPath        Position // Whole, Nothing
	RewriteDefault         Position // Nothing, Whole, Prepended
	RewriteQuestion        Position // Query, Escaped
	RedirectFullPath       Position // Whole, Nothing
	RedirectPort           Position // HTTPSOnly, Kept, Stripped
	RedirectHostPort       Position // Kept, Dropped
	RedirectDefaultSegment Position // Joined, Plain

	// Headers.
	HeaderOrder        Position // RemoveFirst, AddFirst
	HeaderHost         Position // Changed, Ignored
	HeaderOwnAnswers   Position // Unchanged, Changed
	CustomHeadersOrder Position // Last, First

	// Forwarding.
	AllWeightsZero Position // Unavailable, Evenly
	TimeoutZero    Position // None, Default
	DefaultRetry   Position // Once, InternalOnly
	RetryPolicy    Position // Replaces, Adds
	MirrorHost     Position // Rewritten, Original

	// CORS.
	CORSPreflight       Position // Balancer, Backend
	CORSPreflightStatus Position // OK, NoContent
	CORSForeign         Position // Forwarded, Forbidden
	CORSStar            Position // Literal, Any

	// Failures, as the client sees them.
	NoBackendStatus Position // Unavailable, BadGateway
	ConnectStatus   Position // Unavailable, BadGateway
	TimeoutStatus   Position // GatewayTimeout, Unavailable, BadGateway
	TLSStatus       Position // BadGateway, Unavailable
	ForwardedProto  Position // Replaced, Kept
	AbortGRPC       Position // Status, Mapped

	// TlsRoutes.
	RouteOrder   Position // Listed, Specific
	RouteNoMatch Position // Closed, Reset

	// Probes.
	WeightSpread Position // Random, Smooth
}

// The positions. Positions of several switches with one name share it.
const (
	Insensitive    Position = "Insensitive"
	Sensitive      Position = "Sensitive"
	Ignored        Position = "Ignored"
	Compared       Position = "Compared"
	Never          Position = "Never"
	Longest        Position = "Longest"
	Listed         Position = "Listed"
	Any            Position = "Any"
	Name           Position = "Name"
	Comment        Position = "Comment"
	Kept           Position = "Kept"
	Merged         Position = "Merged"
	Removed        Position = "Removed"
	Redirected     Position = "Redirected"
	Unreserved     Position = "Unreserved"
	All            Position = "All"
	Full           Position = "Full"
	Search         Position = "Search"
	Slash          Position = "Slash"
	Whole          Position = "Whole"
	Matched        Position = "Matched"
	Joined         Position = "Joined"
	First          Position = "First"
	Last           Position = "Last"
	Holds          Position = "Holds"
	Fails          Position = "Fails"
	Raw            Position = "Raw"
	Decoded        Position = "Decoded"
	DecodedPlus    Position = "DecodedPlus"
	Nothing        Position = "Nothing"
	Prepended      Position = "Prepended"
	Query          Position = "Query"
	Escaped        Position = "Escaped"
	HTTPSOnly      Position = "HTTPSOnly"
	Stripped       Position = "Stripped"
	Dropped        Position = "Dropped"
	Plain          Position = "Plain"
	RemoveFirst    Position = "RemoveFirst"
	AddFirst       Position = "AddFirst"
	Changed        Position = "Changed"
	Unchanged      Position = "Unchanged"
	Unavailable    Position = "Unavailable"
	Evenly         Position = "Evenly"
	None           Position = "None"
	Default        Position = "Default"
	Once           Position = "Once"
	InternalOnly   Position = "InternalOnly"
	Replaces       Position = "Replaces"
	Adds           Position = "Adds"
	Rewritten      Position = "Rewritten"
	Original       Position = "Original"
	Balancer       Position = "Balancer"
	ByBackend      Position = "Backend"
	OK             Position = "OK"
	NoContent      Position = "NoContent"
	Forwarded      Position = "Forwarded"
	Forbidden      Position = "Forbidden"
	Literal        Position = "Literal"
	BadGateway     Position = "BadGateway"
	GatewayTimeout Position = "GatewayTimeout"
	Replaced       Position = "Replaced"
	Status         Position = "Status"
	Mapped         Position = "Mapped"
	Specific       Position = "Specific"
	Closed         Position = "Closed"
	Reset          Position = "Reset"
	Random         Position = "Random"
	Smooth         Position = "Smooth"
)

// Switch is one field of [Switches].
type Switch struct {
	Name      string
	Decides   string
	Positions []Position // the first is the default
	field     func(*Switches) *Position
}

// Get is the position in s.
func (w Switch) Get(s Switches) Position {
	if p := *w.field(&s); p != "" {
		return p
	}
	return w.Positions[0]
}

// Set is s with this switch in a position.
func (w Switch) Set(s Switches, p Position) Switches {
	*w.field(&s) = p
	return s
}

// EachPosition calls f with s itself and then with each switch in each of its other
// positions, one at a time; the name says which, as "HostPort=Compared".
func (s Switches) EachPosition(f func(name string, s Switches)) {
	f("as given", s)
	for _, w := range AllSwitches() {
		for _, p := range w.Positions {
			if p != w.Get(s) {
				f(w.Name+"="+string(p), w.Set(s, p))
			}
		}
	}
}

func (s Switches) withDefaults() *Switches {
	for _, w := range AllSwitches() {
		*w.field(&s) = w.Get(s)
	}
	return &s
}
