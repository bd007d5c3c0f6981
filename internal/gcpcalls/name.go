package gcpcalls

import (
	"net/http"
	"strings"
)

// Name is what a request is called by who paces and counts it: the service, the verb, the
// collection and, of Compute's, whose quota it takes from: global, or the region, as in
// compute:patch/backendServices/global and
// compute:zone.attachNetworkEndpoints/networkEndpointGroups/europe-west1. A zone's quotas
// are its region's.
func Name(r *http.Request) string {
	_, path, _ := strings.Cut(r.URL.Path, "/projects/")
	_, path, _ = strings.Cut(path, "/") // without the project
	parts := strings.Split(path, "/")
	if strings.HasPrefix(r.URL.Path, "/compute/") {
		return "compute:" + computeName(r.Method, parts)
	}
	if len(parts) < 3 { // locations/l/trustConfigs/t, and maps have entries
		return "locations:" + verbOf(r.Method, len(parts)%2 != 0)
	}
	whole, collection := len(parts)%2 != 0, parts[len(parts)-2]
	if whole {
		collection = parts[len(parts)-1]
	}
	return service(r.URL.Host, parts[2]) + ":" + verbOf(r.Method, whole) + "/" + collection
}

// computeName names a request by what stands behind the project.
func computeName(method string, parts []string) string {
	place, zone := "global", ""
	switch {
	case len(parts) > 1 && parts[0] == "aggregated":
		return "aggregatedList/" + parts[1] + "/global"
	case len(parts) > 1 && parts[0] == "global":
		parts = parts[1:]
	case len(parts) > 2 && parts[0] == "regions":
		place, parts = parts[1], parts[2:]
	case len(parts) > 2 && parts[0] == "zones":
		place, zone, parts = regionOf(parts[1]), "zone.", parts[2:]
	}
	verb := verbOf(method, len(parts) == 1)
	if len(parts) == 3 {
		verb = parts[2]
	}
	collection := parts[0]
	if collection == "" {
		collection, verb = "projects", "get"
	}
	return zone + verb + "/" + collection + "/" + place
}

// regionOf is the region of a zone: europe-west1 of europe-west1-b.
func regionOf(zone string) string {
	if at := strings.LastIndexByte(zone, '-'); at > 0 {
		return zone[:at]
	}
	return zone
}

// service is who has a collection. Whose operations are asked for, only the host tells.
func service(host, collection string) string {
	if name, ours := strings.CutSuffix(host, ".googleapis.com"); ours {
		return name
	}
	switch collection {
	case "trustConfigs", "certificates", "certificateMaps":
		return "certificatemanager"
	case "tlsRoutes":
		return "networkservices"
	case "backendAuthenticationConfigs", "serverTlsPolicies":
		return "networksecurity"
	default:
		return collection
	}
}

// verbOf is what a request does, as clients name it.
func verbOf(method string, whole bool) string {
	switch {
	case method == http.MethodGet && whole:
		return "list"
	case method == http.MethodGet:
		return "get"
	case method == http.MethodPost:
		return "insert"
	case method == http.MethodPut:
		return "update"
	case method == http.MethodDelete:
		return "delete"
	default:
		return "patch"
	}
}
