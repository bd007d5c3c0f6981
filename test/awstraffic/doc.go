// Package awstraffic sends real requests through the load balancers of an emulated AWS
// account while the AWS provider changes them, and counts those that are lost.
//
// Everything in it is a test: providers/aws under an Account on one side, fake/awsapi
// with its load balancers at work on the other, pods and clients on loopback
// addresses, and all clocks faster than the machine's by the same factor. It never looks
// at what the provider believes: a request is answered by the right pods, or lost.
package awstraffic
