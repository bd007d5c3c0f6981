package ec2

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

func groupMissing(id string) error {
	return wire.Refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
}

// groupBy finds a security group by its id, or by its name where only that is given.
func (s *state) groupBy(id, name string) (*Group, error) {
	if id == "" && name != "" {
		if all := s.Groups.All(func(g *Group) bool { return g.Name == name }); len(all) > 0 {
			return all[0], nil
		}
		return nil, groupMissing(name)
	}
	switch {
	case id == "":
		return nil, wire.Refuse("MissingParameter", "The request must contain the parameter groupName or groupId")
	case !strings.HasPrefix(id, "sg-"):
		return nil, wire.Refuse("InvalidGroupId.Malformed", "Invalid id: \"%s\" (expecting \"sg-...\")", id)
	}
	if g := s.Groups.Get(id); g != nil {
		return g, nil
	}
	return nil, groupMissing(id)
}

type createdGroup struct {
	ID   string `wire:"groupId"`
	Tags []tag  `wire:"tagSet"`
	ARN  string `wire:"securityGroupArn"`
}

func (s *Service) createSecurityGroup(call *account.Call, in *createSecurityGroup) (any, error) {
	tags, err := specified(in.TagSpecifications, "security-group")
	if err != nil {
		return nil, err
	}
	switch {
	case in.GroupName == "":
		return nil, wire.Refuse("MissingParameter", "The request must contain the parameter GroupName")
	case in.GroupDescription == "":
		return nil, wire.Refuse("MissingParameter", "The request must contain the parameter GroupDescription")
	case len(in.GroupName) > 255 || strings.HasPrefix(in.GroupName, "sg-"):
		return nil, wire.Refuse("InvalidParameterValue", "Value (%s) for parameter GroupName is invalid.", in.GroupName)
	}
	if _, ok := s.vpcs[in.VpcID]; !ok {
		return nil, wire.Refuse("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", in.VpcID)
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	out := createdGroup{Tags: tagsOf(tags)}
	return &out, s.change(call, func(now *state) error {
		if same := now.Groups.All(func(g *Group) bool { return g.VPC == in.VpcID && g.Name == in.GroupName }); len(same) > 0 {
			return wire.Refuse("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", in.GroupName, in.VpcID)
		}
		out.ID = "sg-0" + s.IDs.Hex(16)
		out.ARN = s.Home.ARN("ec2", "security-group/"+out.ID)
		now.Groups.Put(out.ID, Group{ID: out.ID, Name: in.GroupName, Description: in.GroupDescription, VPC: in.VpcID, Tags: tags, Egress: []Rule{s.everything()}})
		return nil
	})
}

type deletedGroup struct {
	Return bool   `wire:"return"`
	ID     string `wire:"groupId"`
}

func (s *Service) deleteSecurityGroup(call *account.Call, in *deleteSecurityGroup) (any, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	out := deletedGroup{Return: true}
	return &out, s.change(call, func(now *state) error {
		g, err := now.groupBy(in.GroupID, in.GroupName)
		switch {
		case err != nil:
			return err
		case g.Name == "default":
			return wire.Refuse("CannotDelete", "the specified group: \"%s\" name: \"default\" cannot be deleted by a user", g.ID)
		case s.used(call, now, g.ID):
			return wire.Refuse("DependencyViolation", "resource %s has a dependent object", g.ID)
		}
		out.ID = g.ID
		now.Groups.Delete(g.ID)
		return nil
	})
}

// used tells whether a network interface or another group's rule holds a group.
func (s *Service) used(call *account.Call, now *state, id string) bool {
	if slices.ContainsFunc(s.cards(call), func(i Interface) bool { return slices.Contains(i.Groups, id) }) {
		return true
	}
	for _, other := range now.Groups.All(func(g *Group) bool { return g.ID != id }) {
		if slices.ContainsFunc(slices.Concat(other.Ingress, other.Egress), func(r Rule) bool { return r.Group == id }) {
			return true
		}
	}
	return false
}

type groupsOut struct {
	Groups []groupOut `wire:"securityGroupInfo"`
	Next   string     `wire:"nextToken"`
}

func (s *Service) describeSecurityGroups(call *account.Call, in *describeSecurityGroups) (any, error) {
	now := s.view(call)
	for _, id := range in.GroupIDs {
		if _, err := now.groupBy(id, ""); err != nil {
			return nil, err
		}
	}
	var all []found[groupOut]
	for _, g := range now.Groups.All(func(g *Group) bool { return len(in.GroupNames) == 0 || slices.Contains(in.GroupNames, g.Name) }) {
		shape := groupOut{Description: g.Description, ID: g.ID, Name: g.Name, OwnerID: s.Home.Account, ARN: s.Home.ARN("ec2", "security-group/"+g.ID),
			Tags: tagsOf(g.Tags), VPC: g.VPC, Ingress: s.gather(g.Ingress), Egress: s.gather(g.Egress)}
		has := values{"group-id": {g.ID}, "group-name": {g.Name}, "vpc-id": {g.VPC}, "description": {g.Description}, "owner-id": {s.Home.Account}, "ip-permission.group-id": {}}
		for _, r := range g.Ingress {
			has["ip-permission.group-id"] = append(has["ip-permission.group-id"], r.Group)
		}
		all = append(all, found[groupOut]{g.ID, shape, has.tagged(g.Tags)})
	}
	out, next, err := pick(all, in.GroupIDs, "InvalidGroup.NotFound", in.Filters, in.paging)
	return groupsOut{out, next}, err
}

// gather is rules as they are described: together where only the other end differs.
func (s *Service) gather(rules []Rule) []permissionOut {
	out := []permissionOut{}
	at := map[string]int{}
	for _, r := range rules {
		key := r.Protocol + " " + strconv.Itoa(r.From) + " " + strconv.Itoa(r.To)
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, permissionOut{Protocol: r.Protocol, Ranges: []rangeOut{}, IPv6: []range6Out{}, Lists: []listOut{}, Groups: []groupRange{}})
			if r.Protocol != "-1" {
				out[i].From, out[i].To = new(r.From), new(r.To)
			}
		}
		switch {
		case r.Group != "":
			out[i].Groups = append(out[i].Groups, groupRange{r.Group, s.Home.Account, r.Description})
		case r.PrefixList != "":
			out[i].Lists = append(out[i].Lists, listOut{r.PrefixList, r.Description})
		case strings.Contains(r.CIDR, ":"):
			out[i].IPv6 = append(out[i].IPv6, range6Out{r.CIDR, r.Description})
		default:
			out[i].Ranges = append(out[i].Ranges, rangeOut{r.CIDR, r.Description})
		}
	}
	return out
}

// specified are the tags that a create gives to a kind of resource.
func specified(in []tagSpecification, kind string) (map[string]string, error) {
	out := map[string]string{}
	for _, spec := range in {
		if spec.ResourceType != kind {
			return nil, wire.Refuse("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", spec.ResourceType)
		}
		for _, t := range spec.Tags {
			if _, twice := out[t.Key]; twice {
				return nil, wire.Refuse("InvalidParameterValue", "Tag key '%s' is specified more than once", t.Key)
			}
			out[t.Key] = text(t.Value)
		}
	}
	return out, fewTags(out)
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func fewTags(tags map[string]string) error {
	if len(tags) > 50 {
		return wire.Refuse("TagLimitExceeded", "The maximum number of tags per resource is 50")
	}
	for key := range tags {
		if key == "" || len(key) > 127 || strings.HasPrefix(key, "aws:") {
			return wire.Refuse("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		}
	}
	return nil
}

func (s *Service) createTags(call *account.Call, in *changeTags) (any, error) {
	return s.retag(call, in, func(tags map[string]string) {
		for _, t := range in.Tags {
			tags[t.Key] = text(t.Value)
		}
	})
}

func (s *Service) deleteTags(call *account.Call, in *changeTags) (any, error) {
	return s.retag(call, in, func(tags map[string]string) {
		if len(in.Tags) == 0 {
			clear(tags)
		}
		for _, t := range in.Tags {
			if t.Value == nil || *t.Value == tags[t.Key] {
				delete(tags, t.Key)
			}
		}
	})
}

func (s *Service) retag(call *account.Call, in *changeTags, do func(map[string]string)) (any, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	return returned{true}, s.change(call, func(now *state) error {
		for _, id := range in.ResourceIDs {
			next := map[string]string{}
			if g := now.Groups.Get(id); g != nil {
				maps.Copy(next, g.Tags)
				do(next)
				changed := *g
				changed.Tags = next
				now.Groups.Put(id, changed)
			} else {
				world, ok := s.worldTags(id)
				if !ok {
					return wire.Refuse("InvalidID", "The ID '%s' is not valid", id)
				}
				maps.Copy(next, s.named(now, id, world))
				do(next)
				now.Tags.Put(id, tagRow{id, next})
			}
			if err := fewTags(next); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) worldTags(id string) (map[string]string, bool) {
	if v, ok := s.vpcs[id]; ok {
		return v.Tags, true
	}
	if v, ok := s.subnets[id]; ok {
		return v.Tags, true
	}
	v, ok := s.instances[id]
	return v.Tags, ok
}
