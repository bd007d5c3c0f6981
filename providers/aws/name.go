package aws

import (
	"strings"

	"gatehouse.dev/providers/naming"
)

// nameLimit is the greatest length of the name of a load balancer, a target group
// or a trust store, in bytes [API_CreateLoadBalancer].
const nameLimit = 32

// nameOf makes a name that every AWS service takes: see naming.Hashed. It does not
// begin with what AWS keeps to itself, "internal-" in names of load balancers.
func nameOf(readable string, parts ...string) string {
	if strings.HasPrefix(naming.Label(readable, nameLimit)+"-", "internal-") {
		readable = "x" + naming.Label(readable, nameLimit)
	}
	return naming.Hashed(readable, nameLimit, parts...)
}
