package ec2

import (
	"fmt"
	"net/netip"
)

// World is a network as it was before anybody called.
type World struct {
	VPCs      []VPC
	Subnets   []Subnet
	Instances []Instance
	Groups    []Group // security groups; every VPC has its default one besides
}

// VPC is a virtual network.
type VPC struct {
	ID       string
	CIDR     netip.Prefix
	IPv6     netip.Prefix // zero for none
	Internet bool         // an internet gateway is attached
	Tags     map[string]string
}

// Subnet is a part of a VPC in one zone.
type Subnet struct {
	ID     string
	VPC    string
	Zone   string
	CIDR   netip.Prefix
	IPv6   netip.Prefix
	Public bool // its route table leads to the internet gateway
	Free   int  // addresses; 0 is as many as a new subnet has
	Tags   map[string]string
}

// Instance is a machine.
type Instance struct {
	ID      string
	Subnet  string
	IP      netip.Addr
	More    []netip.Addr // of its network interface: pods
	Groups  []string     // ids of security groups
	Stopped bool
	Tags    map[string]string
}

// Group is a security group.
type Group struct {
	ID, Name, Description, VPC string
	Tags                       map[string]string
	Ingress, Egress            []Rule
}

// Rule is one permission of a security group, with exactly one other end.
type Rule struct {
	ID          string
	Protocol    string // tcp, udp, icmp, -1 …
	From, To    int    // -1 is all
	CIDR        string // IPv4 or IPv6
	Group       string // a security group's id
	PrefixList  string
	Description string
}

// Small is a world of one VPC with a public and a private subnet in each of three
// zones, and two instances.
func Small(region string) World {
	vpc := VPC{ID: "vpc-0a1b2c3d4e5f60718", CIDR: netip.MustParsePrefix("10.0.0.0/16"),
		IPv6: netip.MustParsePrefix("2001:db8:1200::/56"), Internet: true}
	out := World{VPCs: []VPC{vpc}}
	for i, zone := range []string{"a", "b", "c"} {
		for j, role := range []string{"elb", "internal-elb"} {
			n := 3*j + i
			out.Subnets = append(out.Subnets, Subnet{
				ID: fmt.Sprintf("subnet-%017x", n+1), VPC: vpc.ID, Zone: region + zone, Public: j == 0,
				CIDR: netip.MustParsePrefix(fmt.Sprintf("10.0.%d.0/20", 16*n)),
				IPv6: netip.MustParsePrefix(fmt.Sprintf("2001:db8:1200:%x::/64", n)),
				Tags: map[string]string{"kubernetes.io/role/" + role: "1"},
			})
		}
	}
	for i := range 2 {
		out.Instances = append(out.Instances, Instance{ID: fmt.Sprintf("i-%017x", i+1), Subnet: fmt.Sprintf("subnet-%017x", i+4),
			IP: netip.MustParseAddr(fmt.Sprintf("10.0.%d.10", 48+16*i))})
	}
	return out
}
