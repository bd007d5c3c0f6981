package cloud

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

// Why: this is the whole life of a gateway, by calls of the provider only.
func TestApplyObserveRoundTrip(t *testing.T) {
	c, keys := newCloud(t, nil), newKeyring()
	l, gw := newLoop(t, c, keys.key), shop(t, keys)
	l.apply(gw)
	l.quiet(gw, "after an apply the next plan is empty")
	newLoop(t, c, keys.key).quiet(gw, "and after a restart")
	if keys.issued != 1 {
		t.Errorf("%d certificates were issued, want 1", keys.issued)
	}
	l.apply(lbmodel.Gateway{Owner: gw.Owner})
	if left := c.Dump(); len(left) > 0 {
		t.Errorf("%d objects are left of a deleted gateway", len(left))
	}
}

// change is a change of a gateway and the calls that it may cost.
type changeCase struct {
	name, why string
	change    func(*lbmodel.Gateway)
	want      []string
}

func TestChangesCostWhatTheyMust(t *testing.T) {
	other := newRoot(t, "other")
	tests := []changeCase{
		{"nothing", "nothing to do is nothing done (case C67)", func(*lbmodel.Gateway) {}, nil},
		{"rule inserted", "one new rule is one call, wherever it stands", func(g *lbmodel.Gateway) {
			g.Listeners[0].Rules = slices.Insert(g.Listeners[0].Rules, 0, prefix("/new", "a"))
		}, []string{"Create Rule"}},
		{"rule moved", "one moved rule is one call", func(g *lbmodel.Gateway) { slices.Reverse(g.Listeners[0].Rules) }, []string{"Update Rule"}},
		{"action changed", "a rule is changed in place: the route is never without it", func(g *lbmodel.Gateway) {
			g.Listeners[0].Rules[0].Action.Forward.Backends[0].Weight = 7
		}, []string{"Update Rule"}},
		{"route renamed", "where a rule came from is not the cloud's business", func(g *lbmodel.Gateway) {
			g.Listeners[0].Rules[0].Source.Name, g.Listeners[0].Rules[0].Name = "other", "x"
		}, nil},
		{"listener renamed", "its port and host are its name", func(g *lbmodel.Gateway) { g.Listeners[0].Name = "web" }, nil},
		{"one endpoint", "one endpoint is one call", func(g *lbmodel.Gateway) {
			g.Pools[0].Endpoints = append(g.Pools[0].Endpoints, ready("10.0.0.3"))
		}, []string{"Update EndpointGroup"}},
		{"root added", "a new root is one call, for all gateways", func(g *lbmodel.Gateway) {
			g.Trust[0].Roots = append(slices.Clone(g.Trust[0].Roots), other)
		}, []string{"Update Trust"}},
		{"root told twice", "a set has it once (case C39)", func(g *lbmodel.Gateway) {
			g.Trust[0].Roots = append(slices.Clone(g.Trust[0].Roots), g.Trust[0].Roots[0])
		}, nil},
		{"protocol of a pool", "it is another pool; the rule moves over before the old one goes", func(g *lbmodel.Gateway) {
			g.Pools[0].Protocol = lbmodel.PoolH2C
		}, []string{"Create Pool", "Update Rule", "Update Rule", "Delete Pool"}},
		{"protocol of a listener", "the slot is freed first", func(g *lbmodel.Gateway) {
			g.Listeners[2].Protocol, g.Listeners[2].TLS = lbmodel.ProtocolTCP, nil
		}, []string{"Delete Rule", "Delete Listener", "Create Listener", "Create Rule"}},
		{"another address", "the new one is there before the old one goes", func(g *lbmodel.Gateway) {
			g.Addresses = []lbmodel.AddressRequest{{Type: lbmodel.AddressIP, Value: "127.71.9.9"}}
		}, []string{"Create Address", "Update Balancer", "Delete Address"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c, keys := newCloud(t, nil), newKeyring()
			l, gw := newLoop(t, c, keys.key), shop(t, keys)
			l.apply(gw)
			next := cloneOf(t, gw)
			tc.change(&next)
			before := c.Calls()
			var got []string
			for _, s := range l.apply(next) {
				got = append(got, string(s.Verb)+" "+s.ID.Kind)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.why, diff)
			}
			if n := writes(c.Calls()) - writes(before); n != len(tc.want) {
				t.Errorf("%d writing calls, want %d: %s", n, len(tc.want), tc.why)
			}
			l.quiet(next, tc.name)
		})
	}
}

func cloneOf(t testing.TB, gw lbmodel.Gateway) lbmodel.Gateway {
	t.Helper()
	return *fromJSON[lbmodel.Gateway](t, encode(gw))
}

// writes counts the calls that change something.
func writes(calls map[string]int) int {
	n := 0
	for name, count := range calls {
		if !slices.Contains([]string{"List", "Find", "GetC"}, name[:4]) {
			n += count
		}
	}
	return n
}

func TestImpactIsTold(t *testing.T) {
	c, keys := newCloud(t, nil), newKeyring()
	l, gw := newLoop(t, c, keys.key), shop(t, keys)
	l.apply(gw)
	gw.Addresses = []lbmodel.AddressRequest{{Type: lbmodel.AddressIP, Value: "127.71.9.9"}}
	gw.Listeners = gw.Listeners[1:]
	plan, _ := l.plan(gw)
	told := map[string]bool{}
	for _, s := range plan.Steps {
		told[string(s.Verb)+" "+s.ID.Kind] = s.Impact != ""
	}
	want := map[string]bool{"Create Address": false, "Update Balancer": true, "Delete Address": true, "Delete Listener": true, "Delete Rule": false}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("a user must agree to losing an address or a port\n%s", diff)
	}
}

func TestLateReplies(t *testing.T) {
	now := time.Now()
	c := newCloud(t, func(o *Options) {
		o.AddressDelay, o.HealthDelay = time.Minute, time.Minute
		o.Now = func() time.Time { return now }
	})
	l := newLoop(t, c, nil)
	gw := lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge"}, Pools: []lbmodel.Pool{pool("a", lbmodel.PoolHTTP1, "10.0.0.1")},
		Listeners: []lbmodel.Listener{httpListener(80, prefix("/", "a"))},
	}
	plan, have := l.plan(gw)
	for _, step := range plan.Steps {
		r, err := l.provider.Apply(t.Context(), gw.Owner, step, resolveIn(have))
		late := step.ID.Kind == KindAddress || step.ID.Kind == KindEndpointGroup
		if !late {
			continue // what needs them would wait
		}
		if got := lbmodel.CodeOf(err); got != lbmodel.CodePending || retryAfter(err) == 0 {
			t.Errorf("%s: %v, want Pending and when to look again", step.ID.Kind, err)
		}
		if r.Handle == "" || len(r.Facts.Addresses) > 0 {
			t.Errorf("%s: beside Pending there is %+v", step.ID.Kind, r)
		}
		have[r.ID] = r
	}
	now = now.Add(2 * time.Minute)
	for _, step := range plan.Steps[:1] {
		r, err := l.provider.Apply(t.Context(), gw.Owner, step, resolveIn(have))
		if err != nil {
			t.Errorf("when time has passed the same step gives %+v, %v", r.Facts, err)
		}
	}
	if n := c.Calls()["CreateAddress"]; n != 1 {
		t.Errorf("%d addresses were asked for, want 1", n)
	}
}

func resolveIn(g lbmodel.Graph) func(lbmodel.ID) (lbmodel.Resource, bool) {
	return func(id lbmodel.ID) (lbmodel.Resource, bool) {
		r, ok := g[id]
		return r, ok
	}
}

// spoil makes the nth call of a name go wrong.
type spoil struct {
	name  string
	fault Fault
	done  bool
}

func (s *spoil) Before(c Call) Fault {
	if c.Name != s.name || s.done {
		return Fault{}
	}
	s.done = true
	return s.fault
}

func (s *spoil) After(Call) {}

func TestLostRepliesAreMadeGood(t *testing.T) {
	for _, kind := range []string{KindAddress, KindBalancer, KindListener, KindRule, KindPool, KindEndpointGroup, KindTrust, KindCertificate} {
		t.Run(kind, func(t *testing.T) {
			c, keys := newCloud(t, nil), newKeyring()
			l, gw := newLoop(t, c, keys.key), shop(t, keys)
			c.Intercept(&spoil{name: "Create" + kind, fault: Fault{Kind: LoseReply}})
			if err := l.tryApply(t.Context(), gw); lbmodel.CodeOf(err) != lbmodel.CodeUnavailable {
				t.Fatalf("the lost reply became %v", err)
			}
			c.Intercept(&spoil{name: "ListObjects", fault: Fault{Kind: Stale}}) // and the next read does not show it
			l.apply(gw)
			l.quiet(gw, "the work is finished")
			if keys.issued != 1 {
				t.Errorf("%d certificates were issued, want 1", keys.issued)
			}
			names := map[string]int{}
			for _, o := range c.Dump() {
				names[o.Tags.ID.String()]++
			}
			for id, n := range names {
				if n > 1 {
					t.Errorf("there are %d of %s", n, id)
				}
			}
		})
	}
}

func TestErrorsHaveCodes(t *testing.T) {
	tests := []struct {
		name, why string
		fault     Fault
		want      lbmodel.Code
	}{
		{"throttled", "the wait that the cloud asks for is passed on", Fault{Kind: Refuse, Error: Throttle(3 * time.Second)}, lbmodel.CodeThrottled},
		{"denied", "retrying soon is no use", Fault{Kind: Refuse, Error: &CallError{Code: AccessDenied}}, lbmodel.CodeDenied},
		{"unmapped", "a code that we don't know is not taken for another", Fault{Kind: Refuse, Error: &CallError{Code: Unexplained}}, lbmodel.CodeUnknown},
		{"hang", "a call ends with its context", Fault{Kind: Hang}, lbmodel.CodeUnavailable},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := newCloud(t, nil)
			c.Intercept(&spoil{name: "ListObjects", fault: tc.fault})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := NewProvider(c, nil).Observe(ctx, lbmodel.Owner{Cluster: "c1"}, nil)
			if got := lbmodel.CodeOf(err); got != tc.want {
				t.Errorf("%v has code %s, want %s: %s", err, got, tc.want, tc.why)
			}
			if tc.fault.Error != nil && retryAfter(err) != tc.fault.Error.RetryAfter {
				t.Errorf("retry after %s", retryAfter(err))
			}
		})
	}
}
