package compute

import (
	"slices"
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

// groupTypes are the types of network endpoint groups by where they are.
var groupTypes = map[string][]string{
	"global":  {"INTERNET_FQDN_PORT", "INTERNET_IP_PORT"},
	"regions": {"INTERNET_FQDN_PORT", "INTERNET_IP_PORT", "PRIVATE_SERVICE_CONNECT", "SERVERLESS", "GCE_VM_IP_PORTMAP"},
	"zones":   {"GCE_VM_IP", "GCE_VM_IP_PORT", "NON_GCP_PRIVATE_IP_PORT"},
}

// groups are network endpoint groups. Their endpoints are kept in them as @endpoints.
func (s *service) groups() *store.Kind {
	return &store.Kind{
		Collection: "networkEndpointGroups", Schema: "NetworkEndpointGroup", Noun: "network_endpoint_group", Quota: counted("NETWORK_ENDPOINT_GROUPS"),
		Default: s.completeGroup, Check: s.checkGroup,
		Show: func(v store.View, n store.Name, o store.Object) {
			o["size"] = float64(len(store.List(v.Get(n), "@endpoints")))
		},
		References: []store.Reference{to("network", "networks"), to("subnetwork", "subnetworks")},
	}
}

func scopeKind(n store.Name) string {
	parts := strings.Split(n.Scope(), "/")
	return parts[2]
}

func (s *service) completeGroup(_ store.View, n store.Name, o store.Object) {
	if scopeKind(n) == "zones" && o["network"] == nil {
		o["network"] = link(s.defaultNetwork(n))
	}
}

func (s *service) checkGroup(v store.View, n store.Name, was, o store.Object) error {
	if was != nil {
		return nil
	}
	kind := store.Text(o, "networkEndpointType")
	if allowed := groupTypes[scopeKind(n)]; !slices.Contains(allowed, kind) {
		return store.BadField("networkEndpointType", kind, "Must be one of %s in %s.", strings.Join(allowed, ", "), strings.TrimPrefix(n.Scope(), "projects/"+n.Project()+"/"))
	}
	port, has := o["defaultPort"].(float64)
	switch {
	case has && (kind == "GCE_VM_IP" || kind == "SERVERLESS" || kind == "PRIVATE_SERVICE_CONNECT"):
		return store.BadField("defaultPort", port, "The default port can't be specified for network endpoint groups of type %s.", kind)
	case has && (port < 1 || port > 65535):
		return store.BadField("defaultPort", port, "Must be between 1 and 65535.")
	case n.Location() == "global" && o["network"] != nil:
		return store.BadField("network", o["network"], "The network can't be specified for global network endpoint groups.")
	case kind == "GCE_VM_IP" && o["subnetwork"] == nil:
		return store.BadField("subnetwork", "", "The subnetwork must be specified for network endpoint groups of type GCE_VM_IP.")
	case kind == "NON_GCP_PRIVATE_IP_PORT" && o["subnetwork"] != nil:
		return store.BadField("subnetwork", o["subnetwork"], "The subnetwork can't be specified for network endpoint groups of type NON_GCP_PRIVATE_IP_PORT.")
	}
	if subnet := v.Get(s.named(n, store.Text(o, "subnetwork"))); subnet != nil && subnet["network"] != o["network"] {
		return store.BadField("subnetwork", o["subnetwork"], "The subnetwork is not in the network %s.", store.Text(o, "network"))
	}
	return nil
}
