// Package live is the AWS emulator with its load balancers at work: what the control
// plane of awsapi holds, serve serves from this machine, and the health that serve
// sees is what DescribeTargetHealth tells.
//
// It decides nothing: it ties the two together, and lets time pass for both. Start
// with [Start].
package live
