package ec2

import (
	"cmp"
	"encoding/json/v2"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

// Interface is a network interface.
type Interface struct {
	ID, VPC, Subnet, Zone, IP, Description string
	Groups                                 []string
	Instance                               string
	More                                   []string // further addresses
}

// Config is what New needs.
type Config struct {
	Home  account.Home
	IDs   *account.IDs
	World World
	// Interfaces are the network interfaces of load balancers.
	Interfaces func(now time.Time) []Interface
	// Rules is how many rules a security group may have, each way; 0 is AWS's 60.
	Rules int
	Keep  time.Duration // how old a state a read may ask for
}

// Service is the emulated service.
type Service struct {
	Config
	vpcs      map[string]VPC
	subnets   map[string]Subnet
	instances map[string]Instance
	past      account.History[state]
}

// state is what calls can change.
type state struct {
	Groups account.Rows[Group]
	Tags   account.Rows[tagRow] // of what is not a security group, by id
}

type tagRow struct {
	ID   string
	Tags map[string]string
}

func (s state) fork() *state { return &state{s.Groups.Fork(), s.Tags.Fork()} }

// DefaultGroup is the id of a VPC's default security group.
func DefaultGroup(vpc string) string { return "sg-" + strings.TrimPrefix(vpc, "vpc-") }

// New makes a service over a world.
func New(config Config) *Service {
	s := &Service{Config: config, vpcs: map[string]VPC{}, subnets: map[string]Subnet{}, instances: map[string]Instance{},
		past: account.History[state]{Keep: config.Keep}}
	s.Rules = cmp.Or(s.Rules, 60)
	var first state
	for _, v := range config.World.VPCs {
		s.vpcs[v.ID] = v
		id := DefaultGroup(v.ID)
		first.Groups.Put(id, Group{ID: id, Name: "default", Description: "default VPC security group", VPC: v.ID,
			Ingress: []Rule{{ID: s.ruleID(), Protocol: "-1", From: -1, To: -1, Group: id}}, Egress: []Rule{s.everything()}})
	}
	for _, v := range config.World.Subnets {
		v.Free = cmp.Or(v.Free, 1<<min(20, v.CIDR.Addr().BitLen()-v.CIDR.Bits())-5)
		s.subnets[v.ID] = v
	}
	for _, v := range config.World.Instances {
		s.instances[v.ID] = v
	}
	for _, g := range config.World.Groups {
		first.Groups.Put(g.ID, g)
	}
	s.past.Commit(time.Time{}, first)
	return s
}

func (s *Service) ruleID() string { return "sgr-0" + s.IDs.Hex(16) }

func (s *Service) everything() Rule {
	return Rule{ID: s.ruleID(), Protocol: "-1", From: -1, To: -1, CIDR: "0.0.0.0/0"}
}

// Protocol is how the service is spoken to.
func Protocol() wire.Protocol {
	return wire.XML{Dialect: wire.EC2, Namespace: "http://ec2.amazonaws.com/doc/2016-11-15/"}
}

func (s *Service) change(call *account.Call, do func(*state) error) error {
	next := s.past.Now().fork()
	if err := do(next); err != nil {
		return err
	}
	s.past.Commit(call.Now, *next)
	return nil
}

// FindVPC finds a VPC.
func (s *Service) FindVPC(id string) (VPC, bool) { v, ok := s.vpcs[id]; return v, ok }

// FindSubnet finds a subnet.
func (s *Service) FindSubnet(id string) (Subnet, bool) { v, ok := s.subnets[id]; return v, ok }

// FindInstance finds an instance.
func (s *Service) FindInstance(id string) (Instance, bool) { v, ok := s.instances[id]; return v, ok }

// FindGroup finds a security group.
func (s *Service) FindGroup(id string) (Group, bool) {
	now := s.past.Now()
	if g := now.Groups.Get(id); g != nil {
		return *g, true
	}
	return Group{}, false
}

// AllGroups are the security groups, oldest first.
func (s *Service) AllGroups() []Group {
	now := s.past.Now()
	var out []Group
	for _, g := range now.Groups.All(nil) {
		out = append(out, *g)
	}
	return out
}

// SubnetAt finds the subnet of a VPC that an address is in.
func (s *Service) SubnetAt(vpc string, ip netip.Addr) (Subnet, bool) {
	for _, id := range slices.Sorted(maps.Keys(s.subnets)) {
		v := s.subnets[id]
		if v.VPC == vpc && (v.CIDR.Contains(ip) || v.IPv6.Contains(ip)) {
			return v, true
		}
	}
	return Subnet{}, false
}

// MarshalJSON writes what calls have made: the world is left out, and so are the
// VPCs' default security groups while they are as they were.
func (s *Service) MarshalJSON() ([]byte, error) {
	now := s.past.Now()
	var out struct {
		SecurityGroups []Group
		Tags           account.Rows[tagRow]
	}
	for _, g := range now.Groups.All(nil) {
		untouched := g.Name == "default" && len(g.Tags) == 0 && len(g.Ingress) == 1 && len(g.Egress) == 1
		if !untouched && !s.given(g.ID) {
			out.SecurityGroups = append(out.SecurityGroups, *g)
		}
	}
	out.Tags = now.Tags
	return json.Marshal(out, json.OmitZeroStructFields(true))
}

// given tells whether a security group was there before anybody called.
func (s *Service) given(id string) bool {
	return slices.ContainsFunc(s.World.Groups, func(g Group) bool { return g.ID == id })
}
