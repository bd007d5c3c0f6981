package aws

import (
	"testing"
	"time"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Why (figure d): a group that is full has no room for the new beside the old, and those
// that drain take theirs until they are gone. They change places in waves that fit, no
// more than a wave is missing at any time, no call is made that AWS must refuse, and
// nothing but the group is looked at.
func TestFullGroupsChangeInWaves(t *testing.T) {
	for _, c := range []struct {
		name    string
		free    bool // those that drain do not count
		restart bool // another process goes on
		most    int  // calls
	}{
		{"one process", false, false, 100},
		{"AWS does not count those that drain", true, false, 100},
		{"another process goes on", false, true, 120},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := awsapi.Config{Limits: map[string]int{"targets-per-target-group": 20}, Undocumented: elb.Undocumented{DrainingFree: c.free}}
			config.Times.Initial = 10 * time.Second
			s := newShop(t, config)
			gw := shopGateway("edge", 1, 1, 20)
			gw.Settings = []byte(`{"region":"us-east-1","quotas":{"targetsPerGroup":20}}`)
			s.bring(gw)
			s.clock.Advance(time.Minute)
			watch := &groupWatch{s: s, group: s.handle(gw.Owner, KindTargetGroup), least: 1000}
			s.Hook(watch)
			s.Forget()
			gw.Pools[0] = shopPool(0, 20, 20)
			for pass := range 20 {
				if pass == 1 && c.restart {
					s.restart()
				}
				out, err := s.account.Endpoints(t.Context(), providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: gw.Pools[0]})
				if err == nil && out.Settled() && pass > 1 {
					break
				}
				s.account.Want(gw)
			}
			s.Hook(nil)
			s.checkExchange(watch, c.most)
			s.quiet("in the end", gw.Owner)
		})
	}
}

// checkExchange judges the calls of which watch has seen what they did.
func (s *shop) checkExchange(watch *groupWatch, most int) {
	s.Helper()
	if watch.least < 15 {
		s.Errorf("%d targets were all that was left at one time, want at least 15 of 20", watch.least)
	}
	for _, call := range s.Calls() {
		if call.Code != "" {
			s.Errorf("%s was refused: %s", call.Action, call.Code)
		}
	}
	if watch.calls > most {
		s.Errorf("%d calls, want %d at most; with those of the watch %v", watch.calls, most, s.calls())
	}
}

// Why: whoever waits for AWS, and gives up waiting for now, knows what is there: it is
// not read again. A controller's workers wait for seconds only.
func TestWaitingReadsNothingElse(t *testing.T) {
	config := awsapi.Config{}
	config.Times.Provisioning, config.Times.Initial = 90*time.Second, 10*time.Second
	s := newShop(t, config)
	s.patience = providers.Patience{Pending: 3 * time.Second}
	s.restart()
	gw := shopGateway("edge", 5, 5, 2)
	owners := []lbmodel.Owner{gw.Owner}
	settle := func() {
		t.Helper()
		for range 60 {
			s.account.Want(gw)
			plan := must2(s.account.Plan(t.Context(), owners))(t)
			if plan.Empty() {
				return
			}
			_ = s.account.Apply(t.Context(), plan, nil) // Pending
			s.clock.Advance(5 * time.Second)
		}
		t.Error("it does not end")
	}
	settle()
	for action, want := range lists() {
		if got := s.calls()[action]; got != want && action != "DescribeLoadBalancers" {
			t.Errorf("%d calls of %s while a load balancer was provisioned, want %d", got, action, want)
		}
	}
	s.Forget()
	for i := range gw.Pools {
		gw.Pools[i] = shopPool(i, 10, 2)
	}
	settle()
	if n := s.calls()["DescribeTargetGroups"]; n > 0 {
		t.Errorf("all was read %d times while targets became healthy", n)
	}
}
