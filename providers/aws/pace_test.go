package aws

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gatehouse.dev/fake/awsapi"
	emulated "gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/providers"
)

// TestBucketsAreAWS compares ours with the emulator's, which were written down apart.
func TestBucketsAreAWS(t *testing.T) {
	theirs := map[string]string{bucketAccount: emulated.BucketAccount, bucketHeavy: emulated.BucketHeavy, bucketTargets: emulated.BucketTargets,
		bucketReads: emulated.BucketDescribe, bucketMutate: emulated.BucketMutate, bucketCreateTrust: emulated.BucketCreateTrust,
		bucketModifyTrust: emulated.BucketModifyTrust, bucketGetTrust: emulated.BucketGetTrust, bucketReadTrust: emulated.BucketTrust}
	for name, size := range bucketSizes {
		if want := emulated.Buckets()[theirs[name]]; size.PerSecond != want.Refill || size.Burst != int(want.Capacity) {
			t.Errorf("bucket %s holds %+v, want %+v", name, size, want)
		}
	}
	actions := emulated.New(emulated.Config{}).Actions()
	if len(actions) < 40 {
		t.Fatalf("the emulator has %d actions only", len(actions))
	}
	for name, action := range actions {
		op := Paced("Elastic Load Balancing v2", name)
		if got := theirs[bucketOf(op)]; got != action.Bucket {
			t.Errorf("%s takes from %q, want %q", name, got, action.Bucket)
		}
		if reads(op) == action.Writes {
			t.Errorf("%s: reads is %t, and it writes is %t", name, reads(op), action.Writes)
		}
	}
}

// TestPacedRequestsAreNeverThrottled makes more than a burst at once, against the
// account's own buckets: none is refused, and it takes no longer than they make it.
func TestPacedRequestsAreNeverThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEmulator(t, awsapi.Config{Buckets: awsapi.Buckets()})
		p := w.provider(NewPacer(providers.Clock{}))
		began := time.Now()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := p.calls.elb.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began).Round(time.Millisecond); took != 6*time.Second {
			t.Errorf("100 reads took %s, want 6s: 40 at once, and ten in a second", took)
		}
		for _, c := range w.api.Calls() {
			if c.Code != "" {
				t.Errorf("call %d: %s", c.Number, c.Code)
			}
		}
	})
}

// TestLooksGiveWayToEdits has a long look in the background, as after a restart, and
// then a user.
func TestLooksGiveWayToEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(providers.Clock{})
		behind, stop := context.WithCancel(providers.InBackground(t.Context()))
		var looks sync.WaitGroup
		for range 300 {
			looks.Go(func() {
				if err := p.Wait(behind, "elb:DescribeTargetHealth"); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		time.Sleep(5 * time.Second)
		began := time.Now()
		for range 10 {
			if err := p.Wait(t.Context(), "elb:CreateRule"); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(t.Context(), "elb:RegisterTargets"); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("a user waited %s for a look that nobody waits for", waited)
		}
		stop()
		looks.Wait()
	})
}

// TestLooksEnd: what is left over is theirs, at the rate that AWS gives.
func TestLooksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(providers.Clock{})
		began := time.Now()
		var looks sync.WaitGroup
		for range 120 {
			looks.Go(func() { _ = p.Wait(providers.InBackground(t.Context()), "elb:DescribeRules") })
		}
		looks.Wait()
		if took := time.Since(began).Round(100 * time.Millisecond); took != 10*time.Second {
			t.Errorf("120 looks took %s, want 10s: twenty at once, and ten in a second", took)
		}
	})
}

// TestGivenUpIsGivenBack: who stops waiting takes nothing.
func TestGivenUpIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(providers.Clock{})
		for range 20 {
			if err := p.Wait(t.Context(), "elb:CreateRule"); err != nil {
				t.Fatal(err)
			}
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for range 50 {
			if err := p.Wait(soon, "elb:CreateRule"); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("an empty bucket gave %v", err)
			}
		}
		began := time.Now()
		if err := p.Wait(t.Context(), "elb:CreateRule"); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > 400*time.Millisecond {
			t.Errorf("the next waited %s, for those that had given up", waited)
		}
	})
}

// TestThrottledIsBelieved: others emptied the bucket, so ours is empty too.
func TestThrottledIsBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(providers.Clock{})
		p.Throttled("elb:CreateRule")
		p.Throttled("acm:ImportCertificate") // has no bucket
		began := time.Now()
		if err := p.Wait(t.Context(), "elb:CreateRule"); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 300*time.Millisecond {
			t.Errorf("waited %s, want a third of a second", waited)
		}
	})
}
