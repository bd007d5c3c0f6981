package elb

import "time"

// The results of the actions.

type (
	loadBalancersOut struct {
		LoadBalancers []loadBalancer
		NextMarker    string
	}
	listenersOut struct {
		Listeners  []listener
		NextMarker string
	}
	rulesOut struct {
		NextMarker string
		Rules      []rule
	}
	targetGroupsOut struct {
		NextMarker   string
		TargetGroups []targetGroup
	}
	targetHealthOut struct{ TargetHealthDescriptions []targetHealth }
	certificatesOut struct {
		Certificates []certificate
		NextMarker   string
	}
	attributesOut struct{ Attributes []attribute }
	tagsOut       struct{ TagDescriptions []tagDescription }
	limitsOut     struct {
		Limits     []limit
		NextMarker string
	}
	sslPoliciesOut struct {
		NextMarker  string
		SslPolicies []sslPolicy
	}
	trustStoresOut struct {
		NextMarker  string
		TrustStores []trustStore
	}
	revocationsOut struct {
		NextMarker            string
		TrustStoreRevocations []revocation
	}
	associationsOut struct {
		NextMarker             string
		TrustStoreAssociations []association
	}
	locationOut struct{ Location string }
	policyOut   struct{ Policy string }
	ipTypeOut   struct{ IpAddressType string }
	ipPoolsOut  struct{ IpamPools *ipamPools }
	subnetsOut  struct {
		AvailabilityZones            []zone
		EnablePrefixForIpv6SourceNat string
		IpAddressType                string
	}
	securityGroupsOut struct {
		EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic string
		SecurityGroupIds                                     []string
	}
	capacityOut struct {
		CapacityReservationState    []zonalCapacity
		DecreaseRequestsRemaining   *int
		LastModifiedTime            *time.Time
		MinimumLoadBalancerCapacity *capacityUnits
	}
	nothing struct{}
)
