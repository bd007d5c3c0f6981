package serve

// Position is one way in which something that AWS does not document may be.
type Position string

// Undocumented is what AWS does not document, or documents in two ways, and what
// therefore must not decide whether a configuration is right. Each field is a
// switch; "" is its first position. [Switches] lists all of them with what they
// decide, for tests that try every one.
type Undocumented struct {
	// Matching (Application Load Balancers).
	HostPort        Position // Kept, Stripped
	HostRegexCase   Position // Insensitive, Sensitive
	HeaderRegexCase Position // Insensitive, Sensitive
	PathRegexCase   Position // Sensitive, Insensitive
	RegexExtent     Position // Search, Full
	RegexFlags      Position // Honoured, Refused
	PathDecoding    Position // Unreserved, Raw, All
	PathDots        Position // Removed, Kept
	PathSlashes     Position // Kept, Merged
	PathParameters  Position // Kept, Removed
	QueryDecoding   Position // Decoded, Raw, DecodedPlus
	GlobEscape      Position // Literal, Escape
	HeaderLists     Position // Whole, Split
	InvisibleBytes  Position // NeverHold, Compared
	GRPCPackage     Position // Literal, Prefix
	HostlessHTTP10  Position // NoHost, Refused
	DroppedHeaders  Position // Seen, Unseen
	HeaderNames     Position // Any, Refused

	// Transforms.
	RewriteOccurrence   Position // First, Every
	RewriteQuery        Position // Seen, Unseen
	RewriteInput        Position // Raw, Normalised
	RewriteMissingGroup Position // Empty, Literal, Fails
	RewriteDollar       Position // Literal, Doubled, Dropped
	RewriteEmpty        Position // Tolerated, Fails
	RewriteHostInput    Position // WithPort, WithoutPort
	RewriteHostPort     Position // AsRewritten, PortAppended
	RedirectPath        Position // Rewritten, Original

	// Forwarding.
	AllWeightsZero   Position // Unavailable, Evenly, Error
	WeightSpread     Position // Random, Smooth
	Retries          Position // Never, Connect, LostConnection
	BackendSNI       Position // None, Host
	TargetTLSTimeout Position // GatewayTimeout, BadGateway
	StickyRenewal    Position // EveryResponse, Once
	ForwardedProto   Position // Replaced, Kept
	SpoofedAmazon    Position // Stripped, Kept
	HealthTimeout    Position // Guide, API
	PassthroughEmpty Position // Allowed, Refused

	// Answers of an Application Load Balancer's own.
	TooLarge        Position // BadRequest, TooLarge
	ErrorBody       Position // HTML, Empty
	FixedType       Position // Plain, None
	FixedGRPCStatus Position // None, Mapped
	OwnHeaders      Position // Every, TargetsOnly

	// Network Load Balancers.
	NetworkEmptyGroup Position // Refused, Others
	NetworkZeroWeight Position // Closed, Kept
	NetworkStickyLost Position // SameGroup, Anew
}

// The positions, in the order of the fields. Positions of several switches with
// one name share it.
const (
	Kept             Position = "Kept"
	Stripped         Position = "Stripped"
	Insensitive      Position = "Insensitive"
	Sensitive        Position = "Sensitive"
	Search           Position = "Search"
	Full             Position = "Full"
	Honoured         Position = "Honoured"
	Refused          Position = "Refused"
	Unreserved       Position = "Unreserved"
	Raw              Position = "Raw"
	All              Position = "All"
	Removed          Position = "Removed"
	Merged           Position = "Merged"
	Decoded          Position = "Decoded"
	DecodedPlus      Position = "DecodedPlus"
	Literal          Position = "Literal"
	Escape           Position = "Escape"
	Whole            Position = "Whole"
	Split            Position = "Split"
	NeverHold        Position = "NeverHold"
	Compared         Position = "Compared"
	Prefix           Position = "Prefix"
	NoHost           Position = "NoHost"
	Seen             Position = "Seen"
	Unseen           Position = "Unseen"
	Any              Position = "Any"
	First            Position = "First"
	Every            Position = "Every"
	Normalised       Position = "Normalised"
	Empty            Position = "Empty"
	Fails            Position = "Fails"
	Doubled          Position = "Doubled"
	Dropped          Position = "Dropped"
	Tolerated        Position = "Tolerated"
	WithPort         Position = "WithPort"
	WithoutPort      Position = "WithoutPort"
	AsRewritten      Position = "AsRewritten"
	PortAppended     Position = "PortAppended"
	Rewritten        Position = "Rewritten"
	Original         Position = "Original"
	Unavailable      Position = "Unavailable"
	Evenly           Position = "Evenly"
	Error            Position = "Error"
	Random           Position = "Random"
	Smooth           Position = "Smooth"
	Never            Position = "Never"
	Connect          Position = "Connect"
	LostConnection   Position = "LostConnection"
	None             Position = "None"
	Host             Position = "Host"
	GatewayTimeout   Position = "GatewayTimeout"
	BadGateway       Position = "BadGateway"
	EveryResponse    Position = "EveryResponse"
	Once             Position = "Once"
	Replaced         Position = "Replaced"
	Guide            Position = "Guide"
	API              Position = "API"
	Allowed          Position = "Allowed"
	BadRequest       Position = "BadRequest"
	EntityTooLarge   Position = "TooLarge"
	HTML             Position = "HTML"
	Plain            Position = "Plain"
	MappedGRPCStatus Position = "Mapped"
	TargetsOnly      Position = "TargetsOnly"
	Others           Position = "Others"
	Closed           Position = "Closed"
	SameGroup        Position = "SameGroup"
	Anew             Position = "Anew"
)

// Switch is one field of [Undocumented].
type Switch struct {
	Name      string
	Decides   string
	Positions []Position // the first is the default
	field     func(*Undocumented) *Position
}

// Set returns u with the switch in a position.
func (s Switch) Set(u Undocumented, p Position) Undocumented {
	*s.field(&u) = p
	return u
}

// Get is the position of the switch in u.
func (s Switch) Get(u Undocumented) Position {
	if p := *s.field(&u); p != "" {
		return p
	}
	return s.Positions[0]
}

// EachPosition calls f with u as it is and then with each switch in each of its
// other positions, one at a time. What is right under all of them does not depend
// on any one of the undocumented facts; pairs of them are the caller's to try.
func (u Undocumented) EachPosition(f func(name string, u Undocumented)) {
	f("as given", u)
	for _, s := range switches {
		for _, p := range s.Positions {
			if p != s.Get(u) {
				f(s.Name+"="+string(p), s.Set(u, p))
			}
		}
	}
}

func (u Undocumented) withDefaults() *Undocumented {
	for _, s := range switches {
		if p := s.field(&u); *p == "" {
			*p = s.Positions[0]
		}
	}
	return &u
}
