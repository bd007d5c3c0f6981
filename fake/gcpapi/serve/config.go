package serve

import "strings"

// Flavour is which Application Load Balancer a URL map serves.
type Flavour string

// The flavours: scheme and scope. Classic Application Load Balancers are not
// emulated.
const (
	GlobalExternal      Flavour = "GlobalExternal"      // EXTERNAL_MANAGED, global
	RegionalExternal    Flavour = "RegionalExternal"    // EXTERNAL_MANAGED, regional
	RegionalInternal    Flavour = "RegionalInternal"    // INTERNAL_MANAGED, regional
	CrossRegionInternal Flavour = "CrossRegionInternal" // INTERNAL_MANAGED, global
)

// FlavourOf is the flavour of a forwarding rule's scheme and scope; false for a
// scheme that has none.
func FlavourOf(scheme, region string) (Flavour, bool) {
	switch {
	case scheme == "EXTERNAL_MANAGED" && region == "":
		return GlobalExternal, true
	case scheme == "EXTERNAL_MANAGED":
		return RegionalExternal, true
	case scheme == "INTERNAL_MANAGED" && region == "":
		return CrossRegionInternal, true
	case scheme == "INTERNAL_MANAGED":
		return RegionalInternal, true
	}
	return "", false
}

// Config is one forwarding rule's way from a request to backend services. It must not
// be changed after it was given to [New].
type Config struct {
	Flavour Flavour
	Scheme  string // of requests: http (a target HTTP proxy) or https
	Port    int32  // the forwarding rule's, for PORT in header matches and for Location
	URLMap  URLMap
	Bytes   int // see [Limits]
	// Services are the backend services, by any form of reference (see [Ref]). One that
	// is missing has the API's defaults.
	Services map[string]BackendService
}

// Ref is a reference in its short form, in which all forms of it are equal:
// "global/backendServices/b" and "regions/r/urlMaps/m", whether it was written as a
// full URL, from "projects/" on or so already. networkservices has backend services as
// projects/p/locations/global/backendServices/b.
func Ref(reference string) string {
	_, rest, found := strings.Cut("/"+reference, "/projects/")
	if !found {
		return strings.TrimPrefix(reference, "/")
	}
	_, rest, _ = strings.Cut(rest, "/")
	return strings.TrimPrefix(rest, "locations/") // of services that write compute's scopes like their own
}
