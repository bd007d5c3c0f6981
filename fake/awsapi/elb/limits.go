package elb

import (
	"maps"
	"slices"
	"strconv"

	"gatehouse.dev/fake/awsapi/account"
)

// The names of limits, as DescribeAccountLimits has them. The last block has no
// names there: AWS tells those only in its quotas.
const (
	limitALBs            = "application-load-balancers"
	limitNLBs            = "network-load-balancers"
	limitALBListeners    = "listeners-per-application-load-balancer"
	limitNLBListeners    = "listeners-per-network-load-balancer"
	limitALBCertificates = "certificates-per-application-load-balancer"
	limitNLBCertificates = "certificates-per-network-load-balancer"
	limitRules           = "rules-per-application-load-balancer"
	limitValues          = "condition-values-per-alb-rule"
	limitWildcards       = "condition-wildcards-per-alb-rule"
	limitGroups          = "target-groups"
	limitGroupsPerALB    = "target-groups-per-application-load-balancer"
	limitALBGroups       = "target-groups-per-action-on-application-load-balancer"
	limitNLBGroups       = "target-groups-per-action-on-network-load-balancer"
	limitTargetsPerALB   = "targets-per-application-load-balancer"
	limitTargetsPerNLB   = "targets-per-network-load-balancer"
	limitTargets         = "targets-per-target-group"
	limitZoneTargets     = "targets-per-availability-zone-per-network-load-balancer"
	limitStores          = "trust-stores"
	limitCAs             = "ca-certificates-per-trust-store"
	limitRevocationLists = "revocation-lists-per-trust-store"
	limitRevocations     = "revocation-entries-per-trust-store"

	limitVerifying     = "mutual-authentication-verify-listeners-per-load-balancer"
	limitRegistrations = "registrations-per-target-id"
	limitTags          = "tags-per-resource"
	limitGroupsOnLB    = "security-groups-per-load-balancer"
)

// hidden are limits that DescribeAccountLimits does not tell.
func hidden(name string) bool {
	return slices.Contains([]string{limitVerifying, limitRegistrations, limitTags, limitGroupsOnLB}, name)
}

func defaultLimits() map[string]int {
	return map[string]int{
		limitALBs: 50, limitNLBs: 50, limitALBListeners: 50, limitNLBListeners: 50,
		limitALBCertificates: 25, limitNLBCertificates: 25, limitRules: 100, limitValues: 5, limitWildcards: 5,
		limitGroups: 3000, limitGroupsPerALB: 100, limitALBGroups: 5, limitNLBGroups: 5,
		limitTargetsPerALB: 1000, limitTargetsPerNLB: 3000, limitTargets: 1000, limitZoneTargets: 500,
		limitStores: 20, limitCAs: 25, limitRevocationLists: 30, limitRevocations: 500_000,
		limitVerifying: 2, limitRegistrations: 100, limitTags: 50, limitGroupsOnLB: 5,
		"gateway-load-balancers": 100, "gateway-load-balancers-per-vpc": 10, "geneve-target-groups": 100,
		"targets-per-availability-zone-per-gateway-load-balancer": 300,
	}
}

// limit is a quota of the account.
func (s *Service) limit(name string) int {
	if set, ok := s.Limits[name]; ok {
		return set
	}
	return defaultLimits()[name]
}

type describeAccountLimits struct {
	Marker   string
	PageSize *int
}

func (s *Service) describeAccountLimits(_ *account.Call, in *describeAccountLimits) (any, error) {
	names := defaultLimits()
	maps.Copy(names, s.Limits)
	var all []limit
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !hidden(name) {
			all = append(all, limit{Max: strconv.Itoa(s.limit(name)), Name: name})
		}
	}
	out, next, err := page(all, in.Marker, in.PageSize)
	return limitsOut{out, next}, err
}

// full refuses when there are already as many as the limit allows.
func (s *Service) full(name string, have int, code, format string, args ...any) error {
	if have < s.limit(name) {
		return nil
	}
	return refuse(code, format, args...)
}
