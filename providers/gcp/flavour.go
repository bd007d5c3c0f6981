package gcp

import (
	"gatehouse.dev/providers/gcp/settings"
)

// The load balancing schemes.
const (
	schemeExternal        = "EXTERNAL_MANAGED"
	schemeInternal        = "INTERNAL_MANAGED"
	schemePassthrough     = "EXTERNAL"
	schemePassthroughHere = "INTERNAL"
)

// flavour is what a kind of load balancer is like.
type flavour struct {
	scheme      string
	global      bool // its proxies are
	internal    bool // its addresses are
	passthrough bool
	regexes     bool // matches by regular expression
}

func flavourOf(f settings.Flavour) flavour {
	switch f {
	case settings.GlobalExternal:
		return flavour{scheme: schemeExternal, global: true}
	case settings.RegionalExternal:
		return flavour{scheme: schemeExternal, regexes: true}
	case settings.CrossRegionInternal:
		return flavour{scheme: schemeInternal, global: true, internal: true, regexes: true}
	case settings.PassthroughExternal:
		return flavour{scheme: schemePassthrough, passthrough: true}
	case settings.PassthroughInternal:
		return flavour{scheme: schemePassthroughHere, internal: true, passthrough: true}
	default:
		return flavour{scheme: schemeInternal, internal: true, regexes: true}
	}
}

// globalExternal says whether certificates come in maps, and what else only that
// flavour does.
func (f flavour) globalExternal() bool { return f.global && !f.internal }
