package gcpcalls

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/option"
	"google.golang.org/protobuf/encoding/protojson"
)

// addCompute adds what has no proxies' and no region's variants.
func (c *Client) addCompute(ctx context.Context, options ...option.ClientOption) error {
	firewalls, err := compute.NewFirewallsRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	groups, err := compute.NewNetworkEndpointGroupsRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	globalGroups, err := compute.NewGlobalNetworkEndpointGroupsRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	c.table["global/firewalls"] = methods{
		"get": object(firewalls.Get), "list": list(firewalls.List), "insert": changing(c, firewalls.Insert),
		"patch": c.patching(), "delete": changing(c, firewalls.Delete),
	}
	c.table["zones/networkEndpointGroups"] = methods{
		"get": object(groups.Get), "list": list(groups.List), "insert": changing(c, groups.Insert), "delete": changing(c, groups.Delete),
		"attachNetworkEndpoints": changing(c, groups.AttachNetworkEndpoints), "detachNetworkEndpoints": changing(c, groups.DetachNetworkEndpoints),
		"listNetworkEndpoints": c.endpoints(),
	}
	c.table["global/networkEndpointGroups"] = methods{
		"get": object(globalGroups.Get), "list": list(globalGroups.List), "insert": changing(c, globalGroups.Insert), "delete": changing(c, globalGroups.Delete),
		"attachNetworkEndpoints": changing(c, globalGroups.AttachNetworkEndpoints), "detachNetworkEndpoints": changing(c, globalGroups.DetachNetworkEndpoints),
		"listNetworkEndpoints": c.endpoints(),
	}
	c.table["aggregated/networkEndpointGroups"] = methods{"list": aggregated(groups.AggregatedList)}
	if err := c.addShared(ctx, options...); err != nil {
		return err
	}
	return c.addSurroundings(ctx, options...)
}

// addShared adds the global kinds that are not proxies.
func (c *Client) addShared(ctx context.Context, options ...option.ClientOption) error {
	addresses, err := compute.NewGlobalAddressesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	checks, err := compute.NewHealthChecksRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	backends, err := compute.NewBackendServicesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	maps, err := compute.NewUrlMapsRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	c.table["global/addresses"] = methods{
		"get": object(addresses.Get), "list": list(addresses.List), "insert": changing(c, addresses.Insert),
		"setLabels": changing(c, addresses.SetLabels), "delete": changing(c, addresses.Delete),
	}
	c.table["global/healthChecks"] = methods{
		"get": object(checks.Get), "list": list(checks.List), "insert": changing(c, checks.Insert),
		"patch": c.patching(), "delete": changing(c, checks.Delete),
	}
	c.table["global/backendServices"] = methods{
		"get": object(backends.Get), "list": list(backends.List), "insert": changing(c, backends.Insert),
		"patch": c.patching(), "delete": changing(c, backends.Delete),
	}
	c.table["global/urlMaps"] = methods{
		"get": object(maps.Get), "list": list(maps.List), "insert": changing(c, maps.Insert),
		"patch": c.patching(), "delete": changing(c, maps.Delete),
	}
	c.table["aggregated/backendServices"] = methods{"list": aggregated(backends.AggregatedList)}
	c.table["aggregated/urlMaps"] = methods{"list": aggregated(maps.AggregatedList)}
	c.table["aggregated/healthChecks"] = methods{"list": aggregated(checks.AggregatedList)}
	return nil
}

// addProxies adds the global proxies and forwarding rules.
func (c *Client) addProxies(ctx context.Context, options ...option.ClientOption) error {
	http, err := compute.NewTargetHttpProxiesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	https, err := compute.NewTargetHttpsProxiesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	tcp, err := compute.NewTargetTcpProxiesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	rules, err := compute.NewGlobalForwardingRulesRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	c.table["global/targetHttpProxies"] = methods{
		"get": object(http.Get), "list": list(http.List), "insert": changing(c, http.Insert),
		"patch": c.patching(), "setUrlMap": changing(c, http.SetUrlMap), "delete": changing(c, http.Delete),
	}
	c.table["global/targetHttpsProxies"] = methods{
		"get": object(https.Get), "list": list(https.List), "insert": changing(c, https.Insert),
		"patch": c.patching(), "setUrlMap": changing(c, https.SetUrlMap), "setSslCertificates": changing(c, https.SetSslCertificates),
		"setCertificateMap": changing(c, https.SetCertificateMap), "setSslPolicy": changing(c, https.SetSslPolicy), "delete": changing(c, https.Delete),
	}
	c.table["global/targetTcpProxies"] = methods{
		"get": object(tcp.Get), "list": list(tcp.List), "insert": changing(c, tcp.Insert),
		"setBackendService": changing(c, tcp.SetBackendService), "setProxyHeader": changing(c, tcp.SetProxyHeader), "delete": changing(c, tcp.Delete),
	}
	c.table["global/forwardingRules"] = methods{
		"get": object(rules.Get), "list": list(rules.List), "insert": changing(c, rules.Insert), "patch": c.patching(),
		"setTarget": changing(c, rules.SetTarget), "setLabels": changing(c, rules.SetLabels), "delete": changing(c, rules.Delete),
	}
	c.table["aggregated/targetHttpProxies"] = methods{"list": aggregated(http.AggregatedList)}
	c.table["aggregated/targetHttpsProxies"] = methods{"list": aggregated(https.AggregatedList)}
	c.table["aggregated/targetTcpProxies"] = methods{"list": aggregated(tcp.AggregatedList)}
	return nil
}

// patching is a PATCH of Compute's, as it is written: compute/apiv1 leaves nulls out.
func (c *Client) patching() method {
	return c.operating(func(ctx context.Context, what call) (*computepb.Operation, error) {
		text, err := c.send(ctx, http.MethodPatch, what.path, url.Values{"requestId": {what.id}}, what.body)
		if err != nil {
			return nil, err
		}
		op := &computepb.Operation{}
		if err := (protojson.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}).Unmarshal(text, op); err != nil {
			return nil, fmt.Errorf("the answer is no operation: %w", err)
		}
		return op, nil
	})
}
