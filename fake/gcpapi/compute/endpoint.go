package compute

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

// mostAtOnce is how many endpoints one call may attach or detach.
const mostAtOnce = 500

// mostEndpoints is how many endpoints a group may have.
func mostEndpoints(n store.Name, kind string) int {
	switch {
	case strings.HasPrefix(kind, "INTERNET_") && n.Location() == "global":
		return 1
	case strings.HasPrefix(kind, "INTERNET_"):
		return 256
	}
	return 10_000
}

// key is what makes an endpoint itself: instance, address or name, and port.
func key(e store.Object) string {
	port, _ := e["port"].(float64)
	instance := store.Text(e, "instance")
	return instance[strings.LastIndexByte(instance, '/')+1:] + "|" + store.Text(e, "ipAddress") + "|" + store.Text(e, "fqdn") + "|" + strconv.Itoa(int(port))
}

// group finds the group that a call is about, and what it wants attached or detached.
func (s *service) group(c *store.Call) (group store.Object, listed []any, err error) {
	n := c.Name()
	group = s.store.Newest().Get(n)
	listed = store.List(c.Body, "networkEndpoints")
	switch {
	case group == nil:
		return nil, nil, store.Missing(n)
	case len(listed) == 0:
		return nil, nil, required("resource.networkEndpoints")
	case len(listed) > mostAtOnce:
		return nil, nil, store.BadField("networkEndpoints", len(listed), "At most %d network endpoints can be specified in one request.", mostAtOnce)
	}
	kind := store.Text(group, "networkEndpointType")
	if groupFixed(kind) {
		return nil, nil, store.Bad("Network endpoint groups of type %s have no endpoints to attach or detach.", kind)
	}
	return group, listed, nil
}

func groupFixed(kind string) bool { return kind == "SERVERLESS" || kind == "PRIVATE_SERVICE_CONNECT" }

// attach adds endpoints. One that is there already stays, with the annotations that it
// now has.
func (s *service) attach(c *store.Call) (store.Object, error) {
	group, listed, err := s.group(c)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	all := slices.Clone(store.List(group, "@endpoints"))
	for i, e := range all {
		one, _ := e.(store.Object)
		at[key(one)] = i
	}
	for i, e := range listed {
		one, _ := e.(store.Object)
		one, err := s.endpoint(c.Name(), group, one, "networkEndpoints["+number(i)+"]")
		if err != nil {
			return nil, err
		}
		if place, ok := at[key(one)]; ok {
			all[place] = one
			continue
		}
		at[key(one)] = len(all)
		all = append(all, one)
	}
	if most := mostEndpoints(c.Name(), store.Text(group, "networkEndpointType")); len(all) > most {
		return nil, store.BadField("networkEndpoints", len(all), "The network endpoint group can have at most %d endpoints.", most)
	}
	return s.replaceEndpoints(c, group, all)
}

// detach removes endpoints, all of which must be there.
func (s *service) detach(c *store.Call) (store.Object, error) {
	group, listed, err := s.group(c)
	if err != nil {
		return nil, err
	}
	drop := map[string]bool{}
	for _, e := range listed {
		one, _ := e.(store.Object)
		drop[key(withPort(group, one))] = true
	}
	all := slices.DeleteFunc(slices.Clone(store.List(group, "@endpoints")), func(e any) bool {
		one, _ := e.(store.Object)
		k := key(one)
		if drop[k] {
			delete(drop, k)
			return true
		}
		return false
	})
	if len(drop) > 0 {
		missing := slices.Sorted(maps.Keys(drop))[0]
		return nil, store.BadField("networkEndpoints", missing, "The network endpoint is not in the group '%s'.", c.Name().Path())
	}
	return s.replaceEndpoints(c, group, all)
}

func (s *service) replaceEndpoints(c *store.Call, group store.Object, all []any) (store.Object, error) {
	want := maps.Clone(group)
	want["@endpoints"] = all
	return s.started(c, store.Change{Kind: s.store.KindOf(c.Name()), Name: c.Name(), Type: c.Method.Verb(), Verb: store.Update, Want: want, Beside: true})
}

// withPort is an endpoint with the port that it has without being told.
func withPort(group, e store.Object) store.Object {
	out := maps.Clone(e)
	if out["port"] == nil && group["defaultPort"] != nil && group["networkEndpointType"] != "GCE_VM_IP" {
		out["port"] = group["defaultPort"]
	}
	return out
}

// endpoint looks at an endpoint by its group's type, and makes it whole.
func (s *service) endpoint(n store.Name, group, e store.Object, at string) (store.Object, error) {
	kind := store.Text(group, "networkEndpointType")
	e = withPort(group, e)
	port, has := e["port"].(float64)
	switch {
	case kind == "GCE_VM_IP" && has:
		return nil, store.BadField(at+".port", port, "The port can't be specified for endpoints of type GCE_VM_IP.")
	case kind != "GCE_VM_IP" && (!has || port < 1 || port > 65535):
		return nil, store.BadField(at+".port", e["port"], "Must be between 1 and 65535, or the group must have a default port.")
	case kind == "INTERNET_FQDN_PORT":
		if store.Text(e, "fqdn") == "" || e["ipAddress"] != nil || e["instance"] != nil {
			return nil, store.BadField(at+".fqdn", e["fqdn"], "Endpoints of type INTERNET_FQDN_PORT must have a fully qualified domain name, and neither an IP address nor an instance.")
		}
		return e, nil
	case strings.HasPrefix(kind, "GCE_VM_IP"):
		return s.onInstance(n, group, e, at)
	}
	if _, err := netip.ParseAddr(store.Text(e, "ipAddress")); err != nil || e["instance"] != nil || e["fqdn"] != nil {
		return nil, store.BadField(at+".ipAddress", e["ipAddress"], "Endpoints of type %s must have an IP address, and neither an instance nor a domain name.", kind)
	}
	return e, nil
}

// onInstance looks at an endpoint that an instance has to have.
func (s *service) onInstance(n store.Name, group, e store.Object, at string) (store.Object, error) {
	name := store.Text(e, "instance")
	if name == "" {
		return nil, required("resource." + at + ".instance")
	}
	id := name[strings.LastIndexByte(name, '/')+1:]
	where := store.NameOf(Host, n.Scope()+"/instances/"+id)
	instance := s.store.Newest().Get(where)
	if instance == nil {
		return nil, store.BadField("instance", name, "The instance '%s' was not found in the zone %s.", id, n.Location())
	}
	e["instance"] = link(where)
	addresses := instanceIPs(instance)
	if e["ipAddress"] == nil && len(addresses) > 0 {
		e["ipAddress"] = addresses[0]
	}
	ip, err := netip.ParseAddr(store.Text(e, "ipAddress"))
	if err != nil || !slices.Contains(addresses, ip.String()) && !aliased(instance, ip) {
		subnet := store.Text(group, "subnetwork")
		if subnet == "" {
			subnet = store.Text(group, "network")
		}
		return nil, store.Bad("Invalid value for field 'resource.ipAddress': '%s'. Specified IP address %s doesn't belong to the (sub)network %s or to the instance %s.",
			store.Text(e, "ipAddress"), store.Text(e, "ipAddress"), subnet[strings.LastIndexByte(subnet, '/')+1:], id)
	}
	return e, nil
}

func instanceIPs(instance store.Object) []string {
	var out []string
	for _, i := range store.List(instance, "networkInterfaces") {
		one, _ := i.(store.Object)
		out = append(out, store.Text(one, "networkIP"))
	}
	return out
}

// aliased tells whether an address is of an instance's alias ranges, as pods' are.
func aliased(instance store.Object, ip netip.Addr) bool {
	found := false
	store.Each(instance, "networkInterfaces[].aliasIpRanges[].ipCidrRange", func(_ string, value any) {
		text, _ := value.(string)
		if p, err := netip.ParsePrefix(text); err == nil && p.Contains(ip) {
			found = true
		}
	})
	return found
}
