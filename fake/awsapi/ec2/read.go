package ec2

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

// named is a resource's tags: those of the world, and those that calls gave.
func (s *Service) named(now *state, id string, world map[string]string) map[string]string {
	if row := now.Tags.Get(id); row != nil {
		return row.Tags
	}
	return world
}

func (s *Service) view(call *account.Call) *state { return s.past.View(call).fork() }

func sorted[T any](byID map[string]T) []T {
	var out []T
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, byID[id])
	}
	return out
}

type vpcsOut struct {
	VPCs []vpcOut `wire:"vpcSet"`
	Next string   `wire:"nextToken"`
}

func (s *Service) describeVPCs(call *account.Call, in *describeVPCs) (any, error) {
	now := s.view(call)
	var all []found[vpcOut]
	for _, v := range sorted(s.vpcs) {
		tags := s.named(now, v.ID, v.Tags)
		shape := vpcOut{CIDR: v.CIDR.String(), OwnerID: s.Home.Account, State: "available", ID: v.ID, IsDefault: new(false), Tags: tagsOf(tags),
			DHCP: "default", Tenancy: "default", IPv6: []ipv6CIDR{}, CIDRs: []cidr{{"vpc-cidr-assoc-" + v.ID[4:], v.CIDR.String(), status{"associated"}}}}
		if v.IPv6.IsValid() {
			shape.IPv6 = []ipv6CIDR{{"vpc-cidr-assoc-6" + v.ID[4:], v.IPv6.String(), status{"associated"}}}
		}
		all = append(all, found[vpcOut]{v.ID, shape, values{"vpc-id": {v.ID}, "cidr": {v.CIDR.String()}, "state": {"available"},
			"owner-id": {s.Home.Account}, "is-default": {"false"}}.tagged(tags)})
	}
	out, next, err := pick(all, in.VPCIDs, "InvalidVpcID.NotFound", in.Filters, in.paging)
	return vpcsOut{out, next}, err
}

type subnetsOut struct {
	Subnets []subnetOut `wire:"subnetSet"`
	Next    string      `wire:"nextToken"`
}

func (s *Service) describeSubnets(call *account.Call, in *describeSubnets) (any, error) {
	now := s.view(call)
	var all []found[subnetOut]
	for _, v := range sorted(s.subnets) {
		tags := s.named(now, v.ID, v.Tags)
		shape := subnetOut{Zone: v.Zone, ZoneID: s.zoneID(v.Zone), Free: new(v.Free), CIDR: v.CIDR.String(), PublicIP: new(v.Public),
			OwnerID: s.Home.Account, State: "available", ARN: s.Home.ARN("ec2", "subnet/"+v.ID), ID: v.ID, Tags: tagsOf(tags), VPC: v.VPC, IPv6: []ipv6CIDR{}}
		if v.IPv6.IsValid() {
			shape.IPv6 = []ipv6CIDR{{"subnet-cidr-assoc-" + v.ID[7:], v.IPv6.String(), status{"associated"}}}
		}
		all = append(all, found[subnetOut]{v.ID, shape, values{"subnet-id": {v.ID}, "vpc-id": {v.VPC}, "availability-zone": {v.Zone},
			"state": {"available"}, "cidr-block": {v.CIDR.String()}, "owner-id": {s.Home.Account}, "availability-zone-id": {shape.ZoneID}}.tagged(tags)})
	}
	out, next, err := pick(all, in.SubnetIDs, "InvalidSubnetID.NotFound", in.Filters, in.paging)
	return subnetsOut{out, next}, err
}

func (s *Service) zoneID(zone string) string {
	letter := strings.TrimPrefix(zone, s.Home.Region)
	return "az" + strconv.Itoa(int(cmp.Or(letter, "a")[0]-'a')+1)
}

type zonesOut struct {
	Zones []zoneOut `wire:"availabilityZoneInfo"`
}

func (s *Service) describeAvailabilityZones(_ *account.Call, in *describeAvailabilityZones) (any, error) {
	names := map[string]bool{}
	for _, v := range s.subnets {
		names[v.Zone] = true
	}
	var all []found[zoneOut]
	for _, name := range slices.Sorted(maps.Keys(names)) {
		id := s.zoneID(name)
		if len(in.ZoneIDs) > 0 && !slices.Contains(in.ZoneIDs, id) {
			continue
		}
		all = append(all, found[zoneOut]{name, zoneOut{Group: s.Home.Region, Border: s.Home.Region, OptIn: "opt-in-not-required", Region: s.Home.Region,
			State: "available", ID: id, Name: name, Type: "availability-zone"}, values{"zone-name": {name}, "zone-id": {id}, "state": {"available"},
			"region-name": {s.Home.Region}, "zone-type": {"availability-zone"}, "opt-in-status": {"opt-in-not-required"}, "group-name": {s.Home.Region}}})
	}
	out, _, err := pick(all, in.ZoneNames, "InvalidParameterValue", in.Filters, paging{})
	return zonesOut{out}, err
}

type routeTablesOut struct {
	Tables []routeTableOut `wire:"routeTableSet"`
	Next   string          `wire:"nextToken"`
}

// table is the route table of a VPC's public or private subnets. The private one is
// the main one: subnets without an association use it.
func (s *Service) table(v VPC, name string) routeTableOut {
	id := "rtb-" + name + v.ID[4:]
	out := routeTableOut{OwnerID: s.Home.Account, ID: id, VPC: v.ID, Tags: []tag{},
		Routes: []route{{CIDR: v.CIDR.String(), Gateway: "local", Origin: "CreateRouteTable", State: "active"}}}
	if name == "main" {
		out.Associations = []routeAssociation{{Main: new(true), ID: "rtbassoc-main" + v.ID[4:], Table: id}}
		if v.Internet {
			out.Routes = append(out.Routes, route{CIDR: "0.0.0.0/0", NAT: "nat-" + v.ID[4:], Origin: "CreateRoute", State: "active"})
		}
		return out
	}
	out.Routes = append(out.Routes, route{CIDR: "0.0.0.0/0", Gateway: "igw-" + v.ID[4:], Origin: "CreateRoute", State: "active"})
	for _, subnet := range sorted(s.subnets) {
		if subnet.VPC == v.ID && subnet.Public {
			out.Associations = append(out.Associations, routeAssociation{Main: new(false), ID: "rtbassoc-" + subnet.ID[7:], Table: id, Subnet: subnet.ID})
		}
	}
	return out
}

func (s *Service) describeRouteTables(_ *account.Call, in *describeRouteTables) (any, error) {
	var all []found[routeTableOut]
	for _, v := range sorted(s.vpcs) {
		for _, name := range []string{"main", "public"} {
			if name == "public" && !v.Internet {
				continue
			}
			t := s.table(v, name)
			has := values{"vpc-id": {v.ID}, "route-table-id": {t.ID}, "association.main": {strconv.FormatBool(name == "main")},
				"association.subnet-id": {}, "route.gateway-id": {}, "route.nat-gateway-id": {}, "route.destination-cidr-block": {}}
			for _, a := range t.Associations {
				has["association.subnet-id"] = append(has["association.subnet-id"], a.Subnet)
			}
			for _, r := range t.Routes {
				has["route.gateway-id"] = append(has["route.gateway-id"], r.Gateway)
				has["route.nat-gateway-id"] = append(has["route.nat-gateway-id"], r.NAT)
				has["route.destination-cidr-block"] = append(has["route.destination-cidr-block"], r.CIDR)
			}
			all = append(all, found[routeTableOut]{t.ID, t, has.tagged(nil)})
		}
	}
	out, next, err := pick(all, in.RouteTableIDs, "InvalidRouteTableID.NotFound", in.Filters, in.paging)
	return routeTablesOut{out, next}, err
}

type gatewaysOut struct {
	Gateways []gatewayOut `wire:"internetGatewaySet"`
	Next     string       `wire:"nextToken"`
}

func (s *Service) describeInternetGateways(_ *account.Call, in *describeInternetGateways) (any, error) {
	var all []found[gatewayOut]
	for _, v := range sorted(s.vpcs) {
		if v.Internet {
			id := "igw-" + v.ID[4:]
			all = append(all, found[gatewayOut]{id, gatewayOut{[]attachment{{"available", v.ID}}, id, s.Home.Account, []tag{}},
				values{"internet-gateway-id": {id}, "attachment.vpc-id": {v.ID}, "attachment.state": {"available"}}.tagged(nil)})
		}
	}
	out, next, err := pick(all, in.IDs, "InvalidInternetGatewayID.NotFound", in.Filters, in.paging)
	return gatewaysOut{out, next}, err
}
