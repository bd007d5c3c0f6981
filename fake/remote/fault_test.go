package remote

import (
	"context"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// Why: a gateway whose owner is denied for ever costs itself, and nobody else.
func TestDenyOneOwner(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t), Faults: true})
	admin, at := openAdmin(t, s.Address()), backend(t)
	fault := Fault{Owner: lbmodel.Owner{Namespace: "a", Name: "bad"}, Kind: Refuse, Code: cloud.AccessDenied, Message: "role x may not"}
	if err := admin.Spoil(t.Context(), fault); err != nil {
		t.Fatal(err)
	}
	a := account(open(t, Config{Address: s.Address()}))
	out := a.Apply(t.Context(), plan(t, a, gateway("bad", at), gateway("good", at)), nil)
	eventually(t, "the other gateway", says(s.Bound, "good"))
	for id, err := range out.Failed {
		if lbmodel.CodeOf(err) != lbmodel.CodeDenied || !strings.Contains(err.Error(), "role x may not") {
			t.Errorf("%s: %v", id, err)
		}
	}
	if len(out.Failed) == 0 || len(s.Bound()) != 1 {
		t.Errorf("failed: %v, bound: %v", out.Failed, s.Bound())
	}
	if err := admin.Spoil(t.Context()); err != nil {
		t.Fatal(err)
	}
	apply(t, a, gateway("bad", at), gateway("good", at))
	eventually(t, "no longer denied", says(s.Bound, "bad"))
}

// Why: whatever goes wrong on the way, the next pass finishes, and nothing is there
// twice.
func TestFaultsOnTheWay(t *testing.T) {
	cases := []struct {
		name  string
		fault Fault
	}{
		{"throttled", Fault{Kind: Refuse, Code: cloud.Throttled, RetryAfter: lbmodel.Duration(time.Millisecond), Times: 3}},
		{"replies are lost", Fault{Kind: LoseReply, Call: "Create", Times: 3}},
		{"the service is down", Fault{Kind: Refuse, Times: 3}},
		{"reads come late", Fault{Kind: Stale, Times: 2}},
		{"lists are in another order", Fault{Kind: Reorder}},
		{"one call hangs", Fault{Kind: Hang, Call: "CreateRule", Times: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, ServerConfig{StateDir: directory(t), Faults: true})
			admin, gw := openAdmin(t, s.Address()), gateway("g", backend(t))
			if err := admin.Spoil(t.Context(), c.fault); err != nil {
				t.Fatal(err)
			}
			a := account(open(t, Config{Address: s.Address()}))
			eventually(t, "passes", func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				a.Want(gw)
				p, err := a.Plan(ctx, []lbmodel.Owner{gw.Owner})
				if err != nil {
					return err
				}
				return a.Apply(ctx, p, nil).Err()
			})
			eventually(t, "traffic", says(s.Bound, "g"))
			for kind, n := range s.State().Objects {
				if n != 1 {
					t.Errorf("%d objects of kind %s, want 1", n, kind)
				}
			}
		})
	}
}

// Why: a cloud that was not started for tests does nobody's bidding, and a fault
// that is misspelt would test nothing.
func TestFaultsAreAskedFor(t *testing.T) {
	cases := []struct {
		name  string
		allow bool
		fault Fault
		want  string
	}{
		{"not allowed", false, Fault{Kind: Refuse}, "started without --faults"},
		{"no such kind", true, Fault{Kind: "Refues"}, `kind "Refues"`},
		{"a negative count", true, Fault{Kind: Refuse, Times: -1}, "times -1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, ServerConfig{StateDir: directory(t), Faults: c.allow})
			err := openAdmin(t, s.Address()).Spoil(t.Context(), c.fault)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err := observe(t, open(t, Config{Address: s.Address()})); err != nil {
				t.Errorf("calls are spoilt all the same: %v", err)
			}
		})
	}
}
