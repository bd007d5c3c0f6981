package compute

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"gatehouse.dev/fake/gcpapi/store"
)

// World is the network that is there before anybody calls, in the first project.
type World struct {
	Regions     map[string][]string // zones by region
	Networks    []string            // "default" is what resources are in that name none
	Subnetworks []Subnetwork
	Instances   []Instance
}

// Subnetwork is a subnetwork of a network.
type Subnetwork struct {
	Name, Region string
	Network      string // default
	Range        string // CIDR
	Purpose      string // PRIVATE; REGIONAL_MANAGED_PROXY and GLOBAL_MANAGED_PROXY are proxy-only
}

// Instance is a virtual machine: a node of a cluster.
type Instance struct {
	Name, Zone string
	Network    string   // default
	IP         string   // of its first interface
	Aliases    []string // ranges of its pods, in CIDR notation
	Tags       []string
}

// Small is two regions with three zones each, the default network with a subnetwork and
// both kinds of proxy-only subnetworks in each region, and a node with pods in each zone
// of the first one.
func Small() World {
	w := World{Regions: map[string][]string{"us-central1": {"us-central1-a", "us-central1-b", "us-central1-c"}, "europe-west1": {"europe-west1-b", "europe-west1-c", "europe-west1-d"}},
		Networks: []string{"default"}}
	for i, region := range []string{"us-central1", "europe-west1"} {
		w.Subnetworks = append(w.Subnetworks,
			Subnetwork{Name: "default", Region: region, Range: fmt.Sprintf("10.%d.0.0/20", 128+4*i)},
			Subnetwork{Name: "proxies", Region: region, Range: fmt.Sprintf("10.%d.0.0/23", 129+4*i), Purpose: "REGIONAL_MANAGED_PROXY"},
			Subnetwork{Name: "proxies-global", Region: region, Range: fmt.Sprintf("10.%d.2.0/23", 129+4*i), Purpose: "GLOBAL_MANAGED_PROXY"})
	}
	for i, zone := range w.Regions["us-central1"] {
		w.Instances = append(w.Instances, Instance{Name: "node-" + zone[len(zone)-1:], Zone: zone, IP: fmt.Sprintf("10.128.0.%d", 10+i),
			Aliases: []string{fmt.Sprintf("10.%d.0.0/16", 4+i)}, Tags: []string{"node"}})
	}
	return w
}

// seed puts the network into the projects.
func (s *service) seed(w World) {
	for _, p := range s.store.Projects {
		at := "projects/" + p.ID
		s.put("projects", store.NameOf(Host, at), store.Object{"kind": "compute#project", "defaultServiceAccount": p.Number + "-compute@developer.gserviceaccount.com"})
		for region, zones := range w.Regions {
			var links []any
			for _, z := range zones {
				zone := store.NameOf(Host, at+"/zones/"+z)
				links = append(links, link(zone))
				s.put("zones", zone, store.Object{"kind": "compute#zone", "status": "UP", "region": link(store.NameOf(Host, at+"/regions/"+region))})
			}
			s.put("regions", store.NameOf(Host, at+"/regions/"+region), store.Object{"kind": "compute#region", "status": "UP", "zones": links})
		}
	}
	s.seedNetwork(w, "projects/"+s.store.Projects[0].ID)
}

func (s *service) seedNetwork(w World, at string) {
	network := func(name string) string {
		return link(store.NameOf(Host, at+"/global/networks/"+cmp.Or(name, "default")))
	}
	for _, n := range w.Networks {
		s.put("networks", store.NameOf(Host, at+"/global/networks/"+n), store.Object{"kind": "compute#network", "autoCreateSubnetworks": false})
	}
	for _, n := range w.Subnetworks {
		name := store.NameOf(Host, at+"/regions/"+n.Region+"/subnetworks/"+n.Name)
		o := store.Object{"kind": "compute#subnetwork", "network": network(n.Network), "ipCidrRange": n.Range, "purpose": cmp.Or(n.Purpose, "PRIVATE"), "state": "READY"}
		if n.Purpose != "" && n.Purpose != "PRIVATE" {
			o["role"] = "ACTIVE"
		}
		s.put("subnetworks", name, o)
	}
	for _, i := range w.Instances {
		var aliases, tags []any
		for _, a := range i.Aliases {
			aliases = append(aliases, store.Object{"ipCidrRange": a})
		}
		for _, t := range i.Tags {
			tags = append(tags, t)
		}
		s.put("instances", store.NameOf(Host, at+"/zones/"+i.Zone+"/instances/"+i.Name), store.Object{
			"kind": "compute#instance", "status": "RUNNING", "tags": store.Object{"items": tags},
			"networkInterfaces": []any{store.Object{"name": "nic0", "network": network(i.Network), "networkIP": i.IP, "aliasIpRanges": aliases}},
		})
	}
}

// put seeds a resource with what all resources have.
func (s *service) put(collection string, n store.Name, o store.Object) {
	o["name"], o["id"], o["selfLink"], o["creationTimestamp"] = n.ID(), s.store.Number(), link(n), "2026-01-01T00:00:00.000-00:00"
	switch collection {
	case "subnetworks", "instances":
		place(n, o)
	}
	s.store.Seed(s.store.KindOf(store.NameOf(Host, n.Scope()+"/"+collection+"/x")), n, o)
}

// usage shows the quotas of a project or of a region.
func (s *service) usage(v store.View, n store.Name, o store.Object) {
	where := n.ID()
	if n.Collection() == "projects" {
		where = "global"
	}
	var list []any
	for _, metric := range slices.Sorted(maps.Keys(s.store.Limits)) {
		list = append(list, store.Object{"metric": metric, "limit": float64(s.store.Limits[metric]), "usage": float64(s.store.Count(metric, where))})
	}
	if list != nil {
		o["quotas"] = list
	}
}

// Check finds what a description of a network lacks.
func (w World) Check() error {
	if len(w.Regions) == 0 {
		return errors.New("there is no region in it")
	}
	var zones []string
	for _, list := range w.Regions {
		zones = append(zones, list...)
	}
	for _, n := range w.Subnetworks {
		if w.Regions[n.Region] == nil {
			return fmt.Errorf("region %s of subnetwork %s is not there", n.Region, n.Name)
		}
		if network := cmp.Or(n.Network, "default"); !slices.Contains(w.Networks, network) {
			return fmt.Errorf("network %s of subnetwork %s is not there", network, n.Name)
		}
		if _, err := netip.ParsePrefix(n.Range); err != nil {
			return fmt.Errorf("range of subnetwork %s: %w", n.Name, err)
		}
	}
	for _, i := range w.Instances {
		if !slices.Contains(zones, i.Zone) {
			return fmt.Errorf("zone %s of instance %s is not there", i.Zone, i.Name)
		}
		if network := cmp.Or(i.Network, "default"); !slices.Contains(w.Networks, network) {
			return fmt.Errorf("network %s of instance %s is not there", network, i.Name)
		}
		if _, err := netip.ParseAddr(i.IP); err != nil {
			return fmt.Errorf("address of instance %s: %w", i.Name, err)
		}
	}
	return nil
}
