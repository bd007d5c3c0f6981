package awsapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/fake/awsapi"
)

// A caller that calls as soon as it may needs exactly the time that AWS's buckets
// impose: a burst, and then the refill.
func TestFloors(t *testing.T) {
	for _, c := range []struct {
		name, why string
		n         int
		call      func(w *world, i int) string
		want      time.Duration
	}{
		{"rules", "one mutating call made the listener, so 19 at once, and 81 at three a second", 100, func(w *world, i int) string {
			listener := w.kept["listener"]
			return code(w, w.elb.CreateRule, &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(int32(i + 1)), Conditions: path("/a"), Actions: notFound()})
		}, 27 * time.Second},
		{"load balancers", "one is there, so nine at once, and 91 at one in five seconds", 100, func(w *world, i int) string {
			return code(w, w.elb.CreateLoadBalancer, &elb.CreateLoadBalancerInput{Name: aws.String(fmt.Sprint("lb", i)), Subnets: []string{publicA, publicB}})
		}, 455 * time.Second},
		{"targets", "20 at once, and 30 at four a second", 50, func(w *world, i int) string {
			group := w.kept["group"]
			var many []types.TargetDescription
			for port := range 20 {
				many = append(many, types.TargetDescription{Id: aws.String(fmt.Sprintf("10.0.%d.%d", i/10, i%10+5)), Port: aws.Int32(int32(1000 + port))})
			}
			return code(w, w.elb.RegisterTargets, &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: many})
		}, 7500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, awsapi.Config{Buckets: awsapi.Buckets(), Limits: map[string]int{"application-load-balancers": 200}})
			w.kept = map[string]string{"listener": w.listener(w.lb("shop"), 80, notFound()), "group": w.group("web")}
			if c.name != "targets" { // the group took a mutating token that the others count with
				w.clock.Advance(time.Second / 3)
			}
			start := w.clock.Now()
			for i := range c.n {
				for got := c.call(w, i); got != ""; got = c.call(w, i) {
					if got != "ThrottlingException" {
						t.Fatalf("call %d: %s", i, got)
					}
					w.clock.Advance(c.want / 1000)
				}
			}
			if took := w.clock.Now().Sub(start); took < c.want*98/100 || took > c.want*103/100 {
				t.Errorf("it took %s, want %s: %s", took, c.want, c.why)
			}
		})
	}
}
