package compute

import (
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

// Quotas are numbers of the size that a new project gets; a project's own are in its
// console. Those of regional resources count by region.
func Quotas() map[string]int {
	out := map[string]int{"STATIC_ADDRESSES": 8, "NETWORKS": 15, "NETWORK_ENDPOINT_GROUPS": 300, "INTERNAL_ADDRESSES": 200, "GLOBAL_INTERNAL_ADDRESSES": 200}
	for _, metric := range []string{
		"BACKEND_SERVICES", "EXTERNAL_MANAGED_FORWARDING_RULES", "EXTERNAL_NETWORK_LB_FORWARDING_RULES", "FIREWALLS", "FORWARDING_RULES", "GLOBAL_EXTERNAL_MANAGED_BACKEND_SERVICES",
		"GLOBAL_EXTERNAL_MANAGED_FORWARDING_RULES", "GLOBAL_INTERNAL_MANAGED_BACKEND_SERVICES", "HEALTH_CHECKS", "REGIONAL_EXTERNAL_MANAGED_BACKEND_SERVICES",
		"REGIONAL_EXTERNAL_NETWORK_LB_BACKEND_SERVICES", "REGIONAL_INTERNAL_LB_BACKEND_SERVICES", "REGIONAL_INTERNAL_MANAGED_BACKEND_SERVICES", "SSL_CERTIFICATES",
		"SSL_POLICIES", "SUBNETWORKS", "TARGET_HTTPS_PROXIES", "TARGET_HTTP_PROXIES", "TARGET_SSL_PROXIES", "TARGET_TCP_PROXIES", "URL_MAPS",
	} {
		out[metric] = 100
	}
	return out
}

// The quota groups of calls (https://cloud.google.com/compute/api-quota).
const (
	globalReads          = "global_reads"
	globalWrites         = "global_writes"
	regionReads          = "reads_per_region"
	regionWrites         = "writes_per_region"
	heavyReads           = "heavy_weight_reads"
	operationReads       = "operation_reads_per_region"
	endpointWrites       = "network_endpoint_write_requests_per_region"
	endpointLists        = "network_endpoint_list_requests_per_region"
	regionEndpointWrites = "regional_network_endpoint_write_requests_per_region"
	regionEndpointLists  = "regional_network_endpoint_list_requests_per_region"
)

// Rates are calls a minute by quota group: the numbers that every project has got.
func Rates() map[string]int {
	rates := map[string]int{}
	for _, group := range []string{globalReads, globalWrites, regionReads, regionWrites, heavyReads, operationReads, endpointWrites, endpointLists, regionEndpointWrites, regionEndpointLists} {
		rates[group] = 1500
	}
	return rates
}

// group is a call's quota group.
func group(c *store.Call) string {
	parts := strings.Split(c.Scope, "/")
	regional := len(parts) > 3
	where := ""
	if regional {
		where = "/" + region(parts[3])
	}
	switch verb := c.Method.Verb(); {
	case verb == "aggregatedList":
		return heavyReads
	case verb == "attachNetworkEndpoints" || verb == "detachNetworkEndpoints":
		return endpointGroup(c, where, endpointWrites, regionEndpointWrites, globalWrites)
	case verb == "listNetworkEndpoints":
		return endpointGroup(c, where, endpointLists, regionEndpointLists, globalReads)
	case c.Collection == "operations" && regional:
		return operationReads + where
	case c.Method.Reads() && regional:
		return regionReads + where
	case c.Method.Reads():
		return globalReads
	case regional:
		return regionWrites + where
	}
	return globalWrites
}

func endpointGroup(c *store.Call, where, zonal, regional, global string) string {
	switch {
	case strings.Contains(c.Scope, "/zones/"):
		return zonal + where
	case where != "":
		return regional + where
	}
	return global
}
