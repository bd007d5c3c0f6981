package gcp

import (
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
)

// The kinds of resources.
const (
	KindAddress                     = "Address"
	KindForwardingRule              = "ForwardingRule"
	KindTargetHTTPProxy             = "TargetHttpProxy"
	KindTargetHTTPSProxy            = "TargetHttpsProxy"
	KindTargetTCPProxy              = "TargetTcpProxy"
	KindURLMap                      = "UrlMap"
	KindBackendService              = "BackendService"
	KindHealthCheck                 = "HealthCheck"
	KindNetworkEndpointGroup        = "NetworkEndpointGroup"
	KindNetworkEndpoints            = "NetworkEndpoints"
	KindFirewall                    = "Firewall"
	KindTrustConfig                 = "TrustConfig"
	KindCertificate                 = "Certificate"
	KindCertificateMap              = "CertificateMap"
	KindCertificateMapEntry         = "CertificateMapEntry"
	KindBackendAuthenticationConfig = "BackendAuthenticationConfig"
	KindServerTLSPolicy             = "ServerTlsPolicy"
	KindTLSRoute                    = "TlsRoute"
)

// global is the location of what has no region.
const global = "global"

// collections are the API's words for the kinds that others refer to.
func collection(kind string) string {
	switch kind {
	case KindAddress:
		return "addresses"
	case KindForwardingRule:
		return "forwardingRules"
	case KindTargetHTTPProxy:
		return "targetHttpProxies"
	case KindTargetHTTPSProxy:
		return "targetHttpsProxies"
	case KindTargetTCPProxy:
		return "targetTcpProxies"
	case KindURLMap:
		return "urlMaps"
	case KindBackendService:
		return "backendServices"
	case KindHealthCheck:
		return "healthChecks"
	case KindNetworkEndpointGroup, KindNetworkEndpoints:
		return "networkEndpointGroups"
	case KindFirewall:
		return "firewalls"
	default:
		return inLocations(kind)
	}
}

// inLocations are the collections of the APIs in which everything has a location;
// "" is no such kind.
func inLocations(kind string) string {
	switch kind {
	case KindTrustConfig:
		return "trustConfigs"
	case KindCertificate:
		return "certificates"
	case KindCertificateMap:
		return "certificateMaps"
	case KindBackendAuthenticationConfig:
		return "backendAuthenticationConfigs"
	case KindServerTLSPolicy:
		return "serverTlsPolicies"
	case KindTLSRoute:
		return "tlsRoutes"
	case KindCertificateMapEntry:
		return "certificateMapEntries"
	default:
		return ""
	}
}

// Ref names another resource in a Spec: the text of its ID, or what is no resource of
// ours, such as an address by value. The API gets projects/….
type Ref string

// NamedRef is a Ref that the API wants with the name of its service in front, as in
// //certificatemanager.googleapis.com/projects/….
type NamedRef string

// LocatedRef is a Ref to something of Compute that another API wants as
// projects/…/locations/….
type LocatedRef string

// Foreign stands for an object of somebody else's while it was not seen. It has no
// fields of ours, and nothing stands in for it.
type Foreign struct{}

// Needs implements lbmodel.Spec.
func (*Foreign) Needs() []lbmodel.ID { return nil }

func refTo(id lbmodel.ID) Ref { return Ref(id.String()) }

// id is what the reference names; false for what is no resource. Kinds and locations
// have no dots; names may.
func (r Ref) id() (lbmodel.ID, bool) {
	parts := strings.SplitN(string(r), ".", 3)
	if len(parts) != 3 || collection(parts[0]) == "" {
		return lbmodel.ID{}, false
	}
	return lbmodel.ID{Kind: parts[0], Location: parts[1], Name: parts[2]}, true
}

// needs are the IDs of the references that are resources, each once.
func needs(refs ...Ref) []lbmodel.ID {
	var out []lbmodel.ID
	seen := map[Ref]bool{}
	for _, r := range refs {
		if id, ok := r.id(); ok && !seen[r] {
			seen[r] = true
			out = append(out, id)
		}
	}
	return out
}

// sources drops the empty ones and the repeated ones.
func sources(all ...lbmodel.Source) []lbmodel.Source {
	var out []lbmodel.Source
	for _, s := range all {
		if s != (lbmodel.Source{}) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
