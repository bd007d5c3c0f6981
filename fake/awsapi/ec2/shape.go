package ec2

// The shapes of the API, as they are on the wire.

type paging struct {
	DryRun     *bool
	MaxResults *int
	NextToken  string
}

type filter struct {
	Name   string
	Values []string `wire:"Value"`
}

type (
	describeSubnets struct {
		paging
		Filters   []filter `wire:"Filter"`
		SubnetIDs []string `wire:"SubnetId"`
	}
	describeVPCs struct {
		paging
		Filters []filter `wire:"Filter"`
		VPCIDs  []string `wire:"VpcId"`
	}
	describeRouteTables struct {
		paging
		Filters       []filter `wire:"Filter"`
		RouteTableIDs []string `wire:"RouteTableId"`
	}
	describeInternetGateways struct {
		paging
		Filters []filter `wire:"Filter"`
		IDs     []string `wire:"InternetGatewayId"`
	}
	describeAvailabilityZones struct {
		AllAvailabilityZones *bool
		DryRun               *bool
		Filters              []filter `wire:"Filter"`
		ZoneIDs              []string `wire:"ZoneId"`
		ZoneNames            []string `wire:"ZoneName"`
	}
	describeInstances struct {
		paging
		Filters                 []filter `wire:"Filter"`
		InstanceIDs             []string `wire:"InstanceId"`
		IncludeManagedResources *bool
	}
	describeNetworkInterfaces struct {
		paging
		Filters                 []filter `wire:"Filter"`
		IDs                     []string `wire:"NetworkInterfaceId"`
		IncludeManagedResources *bool
	}
	describeSecurityGroups struct {
		paging
		Filters    []filter `wire:"Filter"`
		GroupIDs   []string `wire:"GroupId"`
		GroupNames []string `wire:"GroupName"`
	}
	createSecurityGroup struct {
		DryRun            *bool
		GroupDescription  string
		GroupName         string
		TagSpecifications []tagSpecification `wire:"TagSpecification"`
		VpcID             string             `wire:"VpcId"`
	}
	deleteSecurityGroup struct {
		DryRun    *bool
		GroupID   string `wire:"GroupId"`
		GroupName string
	}
	changeTags struct {
		DryRun      *bool
		ResourceIDs []string   `wire:"ResourceId"`
		Tags        []givenTag `wire:"Tag"`
	}
	// permissions are the input of all four actions on a group's rules.
	permissions struct {
		CidrIP                     string `wire:"CidrIp"`
		DryRun                     *bool
		FromPort                   *int
		GroupID                    string `wire:"GroupId"`
		GroupName                  string
		IPPermissions              []permission `wire:"IpPermissions"`
		IPProtocol                 string       `wire:"IpProtocol"`
		SecurityGroupRuleIDs       []string     `wire:"SecurityGroupRuleId"`
		SourceSecurityGroupName    string
		SourceSecurityGroupOwnerID string             `wire:"SourceSecurityGroupOwnerId"`
		TagSpecifications          []tagSpecification `wire:"TagSpecification"`
		ToPort                     *int
	}
)

type tagSpecification struct {
	ResourceType string
	Tags         []givenTag `wire:"Tag"`
}

type givenTag struct {
	Key   string
	Value *string
}

// permission is a rule as it is given, with any number of other ends.
type permission struct {
	FromPort      *int
	Groups        []pair
	IPProtocol    string       `wire:"IpProtocol"`
	IPRanges      []ipRange    `wire:"IpRanges"`
	IPv6Ranges    []ipv6Range  `wire:"Ipv6Ranges"`
	PrefixListIDs []prefixList `wire:"PrefixListIds"`
	ToPort        *int
}

type pair struct {
	Description, GroupName, PeeringStatus string
	GroupID                               string `wire:"GroupId"`
	UserID                                string `wire:"UserId"`
	VpcID                                 string `wire:"VpcId"`
	VpcPeeringConnectionID                string `wire:"VpcPeeringConnectionId"`
}

type ipRange struct {
	CidrIP      string `wire:"CidrIp"`
	Description string
}

type ipv6Range struct{ CidrIpv6, Description string }

type prefixList struct {
	Description  string
	PrefixListID string `wire:"PrefixListId"`
}

// Answers, with EC2's lower case.

type tag struct {
	Key   string `wire:"key"`
	Value string `wire:"value,always"`
}

type returned struct {
	Return bool `wire:"return"`
}

type (
	vpcOut struct {
		CIDR      string     `wire:"cidrBlock"`
		CIDRs     []cidr     `wire:"cidrBlockAssociationSet"`
		IPv6      []ipv6CIDR `wire:"ipv6CidrBlockAssociationSet"`
		IsDefault *bool      `wire:"isDefault"`
		OwnerID   string     `wire:"ownerId"`
		State     string     `wire:"state"`
		Tags      []tag      `wire:"tagSet"`
		ID        string     `wire:"vpcId"`
		DHCP      string     `wire:"dhcpOptionsId"`
		Tenancy   string     `wire:"instanceTenancy"`
	}
	cidr struct {
		Association string `wire:"associationId"`
		CIDR        string `wire:"cidrBlock"`
		State       status `wire:"cidrBlockState"`
	}
	ipv6CIDR struct {
		Association string `wire:"associationId"`
		CIDR        string `wire:"ipv6CidrBlock"`
		State       status `wire:"ipv6CidrBlockState"`
	}
	status struct {
		State string `wire:"state"`
	}
	subnetOut struct {
		Zone     string     `wire:"availabilityZone"`
		ZoneID   string     `wire:"availabilityZoneId"`
		Free     *int       `wire:"availableIpAddressCount"`
		CIDR     string     `wire:"cidrBlock"`
		IPv6     []ipv6CIDR `wire:"ipv6CidrBlockAssociationSet"`
		PublicIP *bool      `wire:"mapPublicIpOnLaunch"`
		OwnerID  string     `wire:"ownerId"`
		State    string     `wire:"state"`
		ARN      string     `wire:"subnetArn"`
		ID       string     `wire:"subnetId"`
		Tags     []tag      `wire:"tagSet"`
		VPC      string     `wire:"vpcId"`
	}
	routeTableOut struct {
		Associations []routeAssociation `wire:"associationSet"`
		OwnerID      string             `wire:"ownerId"`
		Routes       []route            `wire:"routeSet"`
		ID           string             `wire:"routeTableId"`
		Tags         []tag              `wire:"tagSet"`
		VPC          string             `wire:"vpcId"`
	}
	routeAssociation struct {
		Main   *bool  `wire:"main"`
		ID     string `wire:"routeTableAssociationId"`
		Table  string `wire:"routeTableId"`
		Subnet string `wire:"subnetId"`
	}
	route struct {
		CIDR    string `wire:"destinationCidrBlock"`
		IPv6    string `wire:"destinationIpv6CidrBlock"`
		Gateway string `wire:"gatewayId"`
		NAT     string `wire:"natGatewayId"`
		Origin  string `wire:"origin"`
		State   string `wire:"state"`
	}
	gatewayOut struct {
		Attachments []attachment `wire:"attachmentSet"`
		ID          string       `wire:"internetGatewayId"`
		OwnerID     string       `wire:"ownerId"`
		Tags        []tag        `wire:"tagSet"`
	}
	attachment struct {
		State string `wire:"state"`
		VPC   string `wire:"vpcId"`
	}
	zoneOut struct {
		Group  string `wire:"groupName"`
		Border string `wire:"networkBorderGroup"`
		OptIn  string `wire:"optInStatus"`
		Region string `wire:"regionName"`
		State  string `wire:"zoneState"`
		ID     string `wire:"zoneId"`
		Name   string `wire:"zoneName"`
		Type   string `wire:"zoneType"`
	}
	reservation struct {
		ID        string        `wire:"reservationId"`
		OwnerID   string        `wire:"ownerId"`
		Instances []instanceOut `wire:"instancesSet"`
	}
	instanceOut struct {
		ID         string         `wire:"instanceId"`
		Type       string         `wire:"instanceType"`
		State      instanceState  `wire:"instanceState"`
		Placement  placement      `wire:"placement"`
		IP         string         `wire:"privateIpAddress"`
		DNS        string         `wire:"privateDnsName"`
		Subnet     string         `wire:"subnetId"`
		VPC        string         `wire:"vpcId"`
		Groups     []groupRef     `wire:"groupSet"`
		Interfaces []interfaceOut `wire:"networkInterfaceSet"`
		Tags       []tag          `wire:"tagSet"`
	}
	instanceState struct {
		Code *int   `wire:"code"`
		Name string `wire:"name"`
	}
	placement struct {
		Zone string `wire:"availabilityZone"`
	}
	groupRef struct {
		ID   string `wire:"groupId"`
		Name string `wire:"groupName"`
	}
	interfaceOut struct {
		Attachment  *interfaceAttachment `wire:"attachment"`
		Zone        string               `wire:"availabilityZone"`
		Description string               `wire:"description"`
		Groups      []groupRef           `wire:"groupSet"`
		Type        string               `wire:"interfaceType"`
		ID          string               `wire:"networkInterfaceId"`
		OwnerID     string               `wire:"ownerId"`
		IP          string               `wire:"privateIpAddress"`
		IPs         []privateIP          `wire:"privateIpAddressesSet"`
		Requester   string               `wire:"requesterId"`
		Managed     *bool                `wire:"requesterManaged"`
		Status      string               `wire:"status"`
		Subnet      string               `wire:"subnetId"`
		Tags        []tag                `wire:"tagSet"`
		VPC         string               `wire:"vpcId"`
	}
	interfaceAttachment struct {
		ID       string `wire:"attachmentId"`
		Index    *int   `wire:"deviceIndex"`
		Instance string `wire:"instanceId"`
		Owner    string `wire:"instanceOwnerId"`
		Status   string `wire:"status"`
	}
	privateIP struct {
		Primary *bool  `wire:"primary"`
		IP      string `wire:"privateIpAddress"`
	}
	groupOut struct {
		Description string          `wire:"groupDescription"`
		ID          string          `wire:"groupId"`
		Name        string          `wire:"groupName"`
		Ingress     []permissionOut `wire:"ipPermissions"`
		Egress      []permissionOut `wire:"ipPermissionsEgress"`
		OwnerID     string          `wire:"ownerId"`
		ARN         string          `wire:"securityGroupArn"`
		Tags        []tag           `wire:"tagSet"`
		VPC         string          `wire:"vpcId"`
	}
	permissionOut struct {
		From     *int         `wire:"fromPort"`
		Protocol string       `wire:"ipProtocol"`
		Ranges   []rangeOut   `wire:"ipRanges"`
		IPv6     []range6Out  `wire:"ipv6Ranges"`
		Lists    []listOut    `wire:"prefixListIds"`
		To       *int         `wire:"toPort"`
		Groups   []groupRange `wire:"groups"`
	}
	rangeOut struct {
		CIDR        string `wire:"cidrIp"`
		Description string `wire:"description"`
	}
	range6Out struct {
		CIDR        string `wire:"cidrIpv6"`
		Description string `wire:"description"`
	}
	listOut struct {
		ID          string `wire:"prefixListId"`
		Description string `wire:"description"`
	}
	groupRange struct {
		ID          string `wire:"groupId"`
		User        string `wire:"userId"`
		Description string `wire:"description"`
	}
	ruleOut struct {
		ID          string    `wire:"securityGroupRuleId"`
		Group       string    `wire:"groupId"`
		Owner       string    `wire:"groupOwnerId"`
		Egress      *bool     `wire:"isEgress"`
		Protocol    string    `wire:"ipProtocol"`
		From        *int      `wire:"fromPort"`
		To          *int      `wire:"toPort"`
		CIDR        string    `wire:"cidrIpv4"`
		IPv6        string    `wire:"cidrIpv6"`
		List        string    `wire:"prefixListId"`
		Referenced  *groupRef `wire:"referencedGroupInfo"`
		Description string    `wire:"description"`
	}
)
