package elb

import "gatehouse.dev/fake/awsapi/account"

// The token buckets of the documented classes. Every action also takes a token from
// BucketAccount.
const (
	BucketAccount     = "account"
	BucketHeavy       = "resource-intensive"
	BucketTargets     = "registration"
	BucketDescribe    = "describe"
	BucketMutate      = "mutating"
	BucketCreateTrust = "create-trust-store"
	BucketModifyTrust = "modify-trust-store"
	BucketGetTrust    = "get-trust-store"
	BucketTrust       = "describe-trust-store"
)

// Buckets are the documented sizes.
func Buckets() map[string]account.Bucket {
	return map[string]account.Bucket{
		BucketAccount: {Capacity: 40, Refill: 10}, BucketHeavy: {Capacity: 10, Refill: 0.2},
		BucketTargets: {Capacity: 20, Refill: 4}, BucketDescribe: {Capacity: 40, Refill: 10},
		BucketMutate: {Capacity: 20, Refill: 3}, BucketCreateTrust: {Capacity: 10, Refill: 0.2},
		BucketModifyTrust: {Capacity: 10, Refill: 0.2}, BucketGetTrust: {Capacity: 20, Refill: 4},
		BucketTrust: {Capacity: 40, Refill: 10},
	}
}

// Actions are everything that can be asked for.
func (s *Service) Actions() map[string]account.Action {
	return account.Table(
		account.Write("AddListenerCertificates", BucketMutate, s.addListenerCertificates),
		account.Write("AddTags", BucketMutate, s.addTags),
		account.Write("AddTrustStoreRevocations", BucketModifyTrust, s.addTrustStoreRevocations),
		account.Write("CreateListener", BucketMutate, s.createListener),
		account.Write("CreateLoadBalancer", BucketHeavy, s.createLoadBalancer),
		account.Write("CreateRule", BucketMutate, s.createRule),
		account.Write("CreateTargetGroup", BucketMutate, s.createTargetGroup),
		account.Write("CreateTrustStore", BucketCreateTrust, s.createTrustStore),
		account.Write("DeleteListener", BucketMutate, s.deleteListener),
		account.Write("DeleteLoadBalancer", BucketMutate, s.deleteLoadBalancer),
		account.Write("DeleteRule", BucketMutate, s.deleteRule),
		account.Write("DeleteSharedTrustStoreAssociation", BucketModifyTrust, s.deleteSharedTrustStoreAssociation),
		account.Write("DeleteTargetGroup", BucketMutate, s.deleteTargetGroup),
		account.Write("DeleteTrustStore", BucketModifyTrust, s.deleteTrustStore),
		account.Write("DeregisterTargets", BucketTargets, s.deregisterTargets),
		account.Read("DescribeAccountLimits", BucketDescribe, s.describeAccountLimits),
		account.Read("DescribeCapacityReservation", BucketDescribe, s.describeCapacityReservation),
		account.Read("DescribeListenerAttributes", BucketDescribe, s.describeListenerAttributes),
		account.Read("DescribeListenerCertificates", BucketDescribe, s.describeListenerCertificates),
		account.Read("DescribeListeners", BucketDescribe, s.describeListeners),
		account.Read("DescribeLoadBalancerAttributes", BucketDescribe, s.describeLoadBalancerAttributes),
		account.Read("DescribeLoadBalancers", BucketDescribe, s.describeLoadBalancers),
		account.Read("DescribeRules", BucketDescribe, s.describeRules),
		account.Read("DescribeSSLPolicies", BucketDescribe, s.describeSSLPolicies),
		account.Read("DescribeTags", BucketDescribe, s.describeTags),
		account.Read("DescribeTargetGroupAttributes", BucketDescribe, s.describeTargetGroupAttributes),
		account.Read("DescribeTargetGroups", BucketDescribe, s.describeTargetGroups),
		account.Read("DescribeTargetHealth", BucketDescribe, s.describeTargetHealth),
		account.Read("DescribeTrustStoreAssociations", BucketTrust, s.describeTrustStoreAssociations),
		account.Read("DescribeTrustStoreRevocations", BucketTrust, s.describeTrustStoreRevocations),
		account.Read("DescribeTrustStores", BucketTrust, s.describeTrustStores),
		account.Read("GetResourcePolicy", BucketGetTrust, s.getResourcePolicy),
		account.Read("GetTrustStoreCaCertificatesBundle", BucketGetTrust, s.getTrustStoreCaCertificatesBundle),
		account.Read("GetTrustStoreRevocationContent", BucketGetTrust, s.getTrustStoreRevocationContent),
		account.Write("ModifyCapacityReservation", BucketMutate, s.modifyCapacityReservation),
		account.Write("ModifyIpPools", BucketMutate, s.modifyIPPools),
		account.Write("ModifyListener", BucketMutate, s.modifyListener),
		account.Write("ModifyListenerAttributes", BucketMutate, s.modifyListenerAttributes),
		account.Write("ModifyLoadBalancerAttributes", BucketMutate, s.modifyLoadBalancerAttributes),
		account.Write("ModifyRule", BucketMutate, s.modifyRule),
		account.Write("ModifyTargetGroup", BucketMutate, s.modifyTargetGroup),
		account.Write("ModifyTargetGroupAttributes", BucketMutate, s.modifyTargetGroupAttributes),
		account.Write("ModifyTrustStore", BucketModifyTrust, s.modifyTrustStore),
		account.Write("RegisterTargets", BucketTargets, s.registerTargets),
		account.Write("RemoveListenerCertificates", BucketMutate, s.removeListenerCertificates),
		account.Write("RemoveTags", BucketMutate, s.removeTags),
		account.Write("RemoveTrustStoreRevocations", BucketModifyTrust, s.removeTrustStoreRevocations),
		account.Write("SetIpAddressType", BucketMutate, s.setIPAddressType),
		account.Write("SetRulePriorities", BucketMutate, s.setRulePriorities),
		account.Write("SetSecurityGroups", BucketMutate, s.setSecurityGroups),
		account.Write("SetSubnets", BucketHeavy, s.setSubnets),
	)
}
