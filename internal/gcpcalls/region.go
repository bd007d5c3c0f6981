package gcpcalls

import (
	"context"

	compute "cloud.google.com/go/compute/apiv1"
	"google.golang.org/api/option"
)

// addRegional adds the kinds of a region.
func (c *Client) addRegional(ctx context.Context, options ...option.ClientOption) error {
	maps, err := compute.NewRegionUrlMapsRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	backends, err := compute.NewRegionBackendServicesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	checks, err := compute.NewRegionHealthChecksRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	groups, err := compute.NewRegionNetworkEndpointGroupsRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	c.table["regions/urlMaps"] = methods{
		"get": object(maps.Get), "list": list(maps.List), "insert": changing(c, maps.Insert), "delete": changing(c, maps.Delete),
		"patch": c.patching(),
	}
	c.table["regions/backendServices"] = methods{
		"get": object(backends.Get), "list": list(backends.List), "insert": changing(c, backends.Insert), "delete": changing(c, backends.Delete),
		"patch": c.patching(),
	}
	c.table["regions/healthChecks"] = methods{
		"get": object(checks.Get), "list": list(checks.List), "insert": changing(c, checks.Insert), "delete": changing(c, checks.Delete),
		"patch": c.patching(),
	}
	c.table["regions/networkEndpointGroups"] = methods{
		"get": object(groups.Get), "list": list(groups.List), "insert": changing(c, groups.Insert), "delete": changing(c, groups.Delete),
		"attachNetworkEndpoints": changing(c, groups.AttachNetworkEndpoints), "detachNetworkEndpoints": changing(c, groups.DetachNetworkEndpoints), "listNetworkEndpoints": c.endpoints(),
	}
	return c.addRegionalFronts(ctx, options...)
}

// addRegionalFronts adds what a region listens with.
func (c *Client) addRegionalFronts(ctx context.Context, options ...option.ClientOption) error {
	addresses, err := compute.NewAddressesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	rules, err := compute.NewForwardingRulesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	http, err := compute.NewRegionTargetHttpProxiesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	https, err := compute.NewRegionTargetHttpsProxiesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	tcp, err := compute.NewRegionTargetTcpProxiesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	c.table["regions/addresses"] = methods{
		"get": object(addresses.Get), "list": list(addresses.List), "insert": changing(c, addresses.Insert), "delete": changing(c, addresses.Delete),
		"setLabels": changing(c, addresses.SetLabels),
	}
	c.table["aggregated/addresses"] = methods{"list": aggregated(addresses.AggregatedList)}
	c.table["regions/forwardingRules"] = methods{
		"get": object(rules.Get), "list": list(rules.List), "insert": changing(c, rules.Insert), "delete": changing(c, rules.Delete),
		"patch": c.patching(), "setTarget": changing(c, rules.SetTarget), "setLabels": changing(c, rules.SetLabels),
	}
	c.table["aggregated/forwardingRules"] = methods{"list": aggregated(rules.AggregatedList)}
	c.table["regions/targetHttpProxies"] = methods{
		"get": object(http.Get), "list": list(http.List), "insert": changing(c, http.Insert), "delete": changing(c, http.Delete),
		"setUrlMap": changing(c, http.SetUrlMap),
	}
	c.table["regions/targetHttpsProxies"] = methods{
		"get": object(https.Get), "list": list(https.List), "insert": changing(c, https.Insert), "delete": changing(c, https.Delete),
		"patch": c.patching(), "setUrlMap": changing(c, https.SetUrlMap), "setSslCertificates": changing(c, https.SetSslCertificates),
	}
	c.table["regions/targetTcpProxies"] = methods{
		"get": object(tcp.Get), "list": list(tcp.List), "insert": changing(c, tcp.Insert), "delete": changing(c, tcp.Delete),
	}
	return nil
}

// addSurroundings adds what is only read: quotas, networks, subnetworks, SSL policies.
func (c *Client) addSurroundings(ctx context.Context, options ...option.ClientOption) error {
	projects, err := compute.NewProjectsRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	regions, err := compute.NewRegionsRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	networks, err := compute.NewNetworksRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	subnetworks, err := compute.NewSubnetworksRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	c.table["/projects"] = methods{"get": object(projects.Get)}
	c.table["/regions"] = methods{"get": object(regions.Get), "list": list(regions.List)}
	c.table["global/networks"] = methods{"get": object(networks.Get)}
	c.table["regions/subnetworks"] = methods{"get": object(subnetworks.Get), "list": list(subnetworks.List)}
	return nil
}
