package ec2

import (
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

// interfaceOf is an instance's own network interface.
func (s *Service) interfaceOf(i Instance) Interface {
	subnet := s.subnets[i.Subnet]
	out := Interface{ID: "eni-" + i.ID[2:], VPC: subnet.VPC, Subnet: i.Subnet, Zone: subnet.Zone, IP: i.IP.String(), Instance: i.ID, Groups: i.Groups}
	if len(out.Groups) == 0 {
		out.Groups = []string{DefaultGroup(subnet.VPC)}
	}
	for _, ip := range i.More {
		out.More = append(out.More, ip.String())
	}
	return out
}

func (s *Service) refs(now *state, ids []string) []groupRef {
	out := []groupRef{}
	for _, id := range ids {
		ref := groupRef{ID: id}
		if g := now.Groups.Get(id); g != nil {
			ref.Name = g.Name
		}
		out = append(out, ref)
	}
	return out
}

func (s *Service) card(now *state, i Interface) interfaceOut {
	out := interfaceOut{Zone: i.Zone, Description: i.Description, Groups: s.refs(now, i.Groups), Type: "interface", ID: i.ID, OwnerID: s.Home.Account,
		IP: i.IP, IPs: []privateIP{{new(true), i.IP}}, Status: "in-use", Subnet: i.Subnet, Tags: []tag{}, VPC: i.VPC, Managed: new(i.Instance == "")}
	for _, ip := range i.More {
		out.IPs = append(out.IPs, privateIP{new(false), ip})
	}
	out.Attachment = &interfaceAttachment{ID: "eni-attach-" + i.ID[4:], Index: new(0), Instance: i.Instance, Owner: s.Home.Account, Status: "attached"}
	if i.Instance == "" {
		out.Requester, out.Attachment.Owner, out.Attachment.Index = "amazon-elb", "amazon-elb", new(1)
	}
	return out
}

type reservationsOut struct {
	Reservations []reservation `wire:"reservationSet"`
	Next         string        `wire:"nextToken"`
}

func (s *Service) describeInstances(call *account.Call, in *describeInstances) (any, error) {
	now := s.view(call)
	var all []found[reservation]
	for _, i := range sorted(s.instances) {
		subnet, tags := s.subnets[i.Subnet], s.named(now, i.ID, i.Tags)
		state := instanceState{new(16), "running"}
		if i.Stopped {
			state = instanceState{new(80), "stopped"}
		}
		card := s.card(now, s.interfaceOf(i))
		shape := instanceOut{ID: i.ID, Type: "m7g.large", State: state, Placement: placement{subnet.Zone}, IP: i.IP.String(), Subnet: i.Subnet, VPC: subnet.VPC,
			DNS: "ip-" + strings.ReplaceAll(i.IP.String(), ".", "-") + "." + s.Home.Region + ".compute.internal", Groups: card.Groups,
			Interfaces: []interfaceOut{card}, Tags: tagsOf(tags)}
		addresses := []string{}
		for _, ip := range card.IPs {
			addresses = append(addresses, ip.IP)
		}
		all = append(all, found[reservation]{i.ID, reservation{"r-" + i.ID[2:], s.Home.Account, []instanceOut{shape}}, values{"instance-id": {i.ID},
			"instance-state-name": {state.Name}, "vpc-id": {subnet.VPC}, "subnet-id": {i.Subnet}, "availability-zone": {subnet.Zone},
			"private-dns-name": {shape.DNS}, "private-ip-address": {i.IP.String()}, "network-interface.addresses.private-ip-address": addresses}.tagged(tags)})
	}
	out, next, err := pick(all, in.InstanceIDs, "InvalidInstanceID.NotFound", in.Filters, in.paging)
	return reservationsOut{out, next}, err
}

type interfacesOut struct {
	Interfaces []interfaceOut `wire:"networkInterfaceSet"`
	Next       string         `wire:"nextToken"`
}

func (s *Service) describeNetworkInterfaces(call *account.Call, in *describeNetworkInterfaces) (any, error) {
	now := s.view(call)
	var all []found[interfaceOut]
	for _, i := range s.cards(call) {
		shape := s.card(now, i)
		has := values{"network-interface-id": {i.ID}, "vpc-id": {i.VPC}, "subnet-id": {i.Subnet}, "group-id": i.Groups, "description": {i.Description},
			"status": {shape.Status}, "interface-type": {shape.Type}, "availability-zone": {i.Zone}, "private-ip-address": {i.IP},
			"attachment.instance-id": {i.Instance}, "requester-id": {shape.Requester}, "attachment.status": {"attached"},
			"addresses.private-ip-address": append([]string{i.IP}, i.More...)}
		all = append(all, found[interfaceOut]{i.ID, shape, has.tagged(nil)})
	}
	out, next, err := pick(all, in.IDs, "InvalidNetworkInterfaceID.NotFound", in.Filters, in.paging)
	return interfacesOut{out, next}, err
}

// cards are all network interfaces.
func (s *Service) cards(call *account.Call) []Interface {
	var out []Interface
	for _, i := range sorted(s.instances) {
		out = append(out, s.interfaceOf(i))
	}
	if s.Interfaces != nil {
		out = append(out, s.Interfaces(call.Now)...)
	}
	return out
}
