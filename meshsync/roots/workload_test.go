package roots

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/fake/mesh/spiffe"
)

func startAgent(t *testing.T, m *ca.CA, socket string) *spiffe.Agent {
	t.Helper()
	a, err := spiffe.StartAgent(spiffe.AgentConfig{CA: m, Entries: []spiffe.Entry{{Path: "/gateway"}}, Socket: socket})
	do(t, err)
	t.Cleanup(func() { a.Close() })
	return a
}

// reconnects is longer than the waits of a stream that tries anew, and shorter than
// its patience with one that is open.
const reconnects = 20 * time.Second

// TestWorkloadRotates: the agent pushes, and no clock has to move for it.
func TestWorkloadRotates(t *testing.T) {
	m := newCA(t)
	a := startAgent(t, m, filepath.Join(t.TempDir(), "s"))
	h := watch(t, Workload{Socket: a.Addr()}, newClock())
	wants(t, h.one(), "", m.Roots()...)
	do(t, m.Add(ca.Root{Name: "b"}))
	wants(t, h.one(), "", m.Roots()...)
	do(t, m.SignBy("b"))
	wants(t, h.one(), "", m.Roots()...)
	do(t, m.Drop("a"))
	last := h.one()
	wants(t, last, "", m.Roots()...)
	if last.Name != "example.org" || !last.RefreshAt.IsZero() {
		t.Errorf("%+v", last)
	}
}

// TestWorkloadFederates: each trust domain has its own bundle, whatever becomes of
// another's.
func TestWorkloadFederates(t *testing.T) {
	m, other := newCA(t), newCA(t)
	a := startAgent(t, m, filepath.Join(t.TempDir(), "s"))
	h := watch(t, Workload{Socket: a.Addr()}, newClock())
	only := watch(t, Workload{Socket: a.Addr(), TrustDomain: "other.test"}, newClock())
	wants(t, h.one(), "", m.Roots()...)
	wants(t, only.one(), "the agent has no such bundle")
	a.Federate("other.test", other.Roots())
	both := h.all()
	if len(both) != 2 || both[0].Name != "example.org" || both[1].Name != "other.test" {
		t.Fatalf("%+v", both)
	}
	wants(t, both[0], "", m.Roots()...)
	wants(t, both[1], "", other.Roots()...)
	wants(t, only.one(), "", other.Roots()...)
	a.Federate("other.test", nil)
	empty := h.all()
	wants(t, empty[0], "", m.Roots()...)
	keeps(t, both[1], empty[1], "has no roots")
	if text := empty[1].Condition(empty[1].At.Add(time.Hour)); text != "" {
		t.Errorf("told after an hour: %s", text)
	}
}

// TestWorkloadSocketAppears: an agent that starts after us is found, and one that
// starts anew is nobody's trouble unless it stays away.
func TestWorkloadSocketAppears(t *testing.T) {
	m, c := newCA(t), newClock()
	socket := filepath.Join(t.TempDir(), "s")
	h := watch(t, Workload{Socket: "unix://" + socket}, c)
	none := h.one()
	wants(t, none, "no such file or directory")
	if !strings.HasPrefix(none.Condition(c.Now()), "there are no roots yet: ") {
		t.Errorf("condition %q", none.Condition(c.Now()))
	}
	waits := []time.Duration{c.next(t, reconnects)}
	wants(t, h.one(), "no such file or directory")
	waits = append(waits, c.next(t, reconnects))
	wants(t, h.one(), "no such file or directory")
	if waits[1] <= waits[0] {
		t.Errorf("tried again after %s", waits)
	}
	a := startAgent(t, m, socket)
	c.next(t, reconnects)
	good := h.one()
	wants(t, good, "", m.Roots()...)
	do(t, a.Close())
	a = startAgent(t, m, socket)
	c.next(t, reconnects)
	wants(t, h.one(), "", m.Roots()...) // without a word of the interruption
	do(t, a.Close())
	c.next(t, reconnects)
	bad := h.one()
	wants(t, bad, "no such file or directory", m.Roots()...)
	if age := bad.Age(c.Now().Add(time.Hour)); age < time.Hour {
		t.Errorf("age %s", age)
	}
}

// TestWorkloadBreaks: an agent that refuses, is not ready, or does not answer.
func TestWorkloadBreaks(t *testing.T) {
	for _, tt := range []struct {
		fault signing.Fault
		want  string
	}{
		{signing.Refuse, "PermissionDenied: no identity issued"},
		{signing.Unavailable, "Unavailable: agent is not there"},
		{signing.Hang, errSilent.Error()},
	} {
		t.Run(string(tt.fault), func(t *testing.T) {
			m, c := newCA(t), newClock()
			a := startAgent(t, m, filepath.Join(t.TempDir(), "s"))
			a.Break(tt.fault, 0)
			h := watch(t, Workload{Socket: a.Addr()}, c)
			if tt.fault == signing.Hang {
				c.next(t, patience)
			}
			wants(t, h.one(), tt.want)
			a.Mend()
			c.next(t, reconnects)
			wants(t, h.one(), "", m.Roots()...)
		})
	}
}

// TestWorkloadHangs: one who ends does not wait for an agent that does not answer.
func TestWorkloadHangs(t *testing.T) {
	a := startAgent(t, newCA(t), filepath.Join(t.TempDir(), "s"))
	a.Break(signing.Hang, 0)
	c := newClock()
	h := watch(t, Workload{Socket: a.Addr()}, c)
	<-c.added // the wait for the first answer has begun
	h.stop()
	if len(h.told) > 0 {
		t.Errorf("it tells of its own end: %+v", <-h.told)
	}
	wants(t, watch(t, Workload{Socket: "s3cret"}, c).one(), "workload endpoint socket")
}

// TestWorkloadAnswers: a broken bundle is its own trust domain's trouble, and what
// is no bundle at all everybody's.
func TestWorkloadAnswers(t *testing.T) {
	a := root(t)
	all, err := Workload{}.parse(map[string][]byte{"spiffe://a.test": a.Raw, "spiffe://b.test": []byte("x"), "spiffe://c.test": nil})
	do(t, err)
	if len(all) != 3 {
		t.Fatalf("%+v", all)
	}
	wants(t, all[0], "", a)
	wants(t, all[1], "cannot be parsed")
	wants(t, all[2], "")
	if _, err := (Workload{}).parse(map[string][]byte{"http://a.test": a.Raw}); err == nil || !strings.Contains(err.Error(), "no trust domain") {
		t.Errorf("no trust domain: %v", err)
	}
	many := map[string][]byte{}
	for i := range maxDomains + 1 {
		many["spiffe://"+strings.Repeat("a", i+1)] = a.Raw
	}
	if _, err := (Workload{}).parse(many); err == nil || !strings.Contains(err.Error(), "257 bundles") {
		t.Errorf("too many: %v", err)
	}
}

// TestWorkloadSettings: an agent of another host could be anybody.
func TestWorkloadSettings(t *testing.T) {
	for _, tt := range []struct{ name, socket, want string }{
		{"far away", "tcp://192.0.2.1:8081", "192.0.2.1:8081: an agent is asked in clear text"},
		{"no address", "/run/agent.sock", "scheme"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wants(t, watch(t, Workload{Socket: tt.socket, TrustDomain: "example.org"}, newClock()).one(), tt.want)
		})
	}
}
