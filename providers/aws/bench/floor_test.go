package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/elb"
)

// tally counts calls by action.
type tally map[string]int

// total is how many there are.
func (t tally) total() (n int) {
	for _, c := range t {
		n += c
	}
	return n
}

// writes is how many change something.
func (t tally) writes() (n int) {
	for action, c := range t {
		if !reads(action) {
			n += c
		}
	}
	return n
}

func reads(action string) bool {
	return strings.HasPrefix(action, "Describe") || strings.HasPrefix(action, "List") || strings.HasPrefix(action, "Get")
}

// byBucket counts the calls by the token bucket that each takes from.
func (t tally) byBucket() tally {
	out, actions := tally{}, elb.New(elb.Config{}).Actions()
	for action, n := range t {
		if a, known := actions[action]; known {
			out[a.Bucket] += n
		} else {
			out["other services"] += n
		}
	}
	return out
}

// text is "b 2, a 1", sorted by name.
func (t tally) text() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, t[name]))
	}
	return strings.Join(parts, ", ")
}

// floor is the least time that calls take: all at once, as far as AWS's full token
// buckets have tokens, and then as they are refilled. Calls take no time themselves.
func (t tally) floor() time.Duration {
	used := t.byBucket()
	delete(used, "other services")
	used[elb.BucketAccount] = used.total()
	var most float64
	for name, n := range used {
		if b := awsapi.Buckets()[name]; b.Refill > 0 {
			most = max(most, (float64(n)-b.Capacity)/b.Refill)
		}
	}
	return time.Duration(most * float64(time.Second))
}

// count is what a gateway of n routes to so many services needs at least.
func count(routes, services int) tally {
	return tally{
		"CreateSecurityGroup": 1, "AuthorizeSecurityGroupIngress": 1, "CreateLoadBalancer": 1, "ModifyLoadBalancerAttributes": 1, "CreateListener": 1,
		"CreateTargetGroup": services, "RegisterTargets": services, "CreateRule": routes,
	}
}
