// Package ec2 emulates the part of EC2 that a load balancer's controller uses:
// VPCs, subnets, route tables, zones, instances and network interfaces to read, and
// security groups with their rules and tags to write.
//
// The network is a [World] that a test describes; nothing creates or removes its
// VPCs, subnets and instances afterwards. Load balancers' network interfaces are
// asked for from whoever has them. It routes no packet. Start with [New].
package ec2
