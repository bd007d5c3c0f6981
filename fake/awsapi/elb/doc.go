// Package elb emulates the control plane of Elastic Load Balancing v2 in one
// account and region: load balancers, listeners, rules, target groups, targets,
// trust stores, tags, limits, with the errors, quotas, echo quirks and delays of
// the real one.
//
// Nothing here serves traffic, speaks HTTP, or runs in the background: what takes
// time is computed from the account's clock when somebody asks. It knows other
// services only by the small [Neighbours] that it asks for subnets, security
// groups, certificates and objects. It keeps no private key.
//
// Start with [New].
package elb
