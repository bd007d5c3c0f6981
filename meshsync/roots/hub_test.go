package roots

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/spiffe"
)

// scripted is a source that tells what a test has it tell.
type scripted struct {
	Name string
	tape *tape
}

type tape struct {
	mu      sync.Mutex
	tell    func([]Bundle)
	last    []Bundle
	began   chan struct{}
	running int
}

func newTape() *tape { return &tape{began: make(chan struct{}, 100)} }

func (s scripted) Where() string { return "script " + s.Name }

func (s scripted) Watch(ctx context.Context, start Start, tell func([]Bundle)) {
	s.tape.mu.Lock()
	s.tape.tell, s.tape.last = tell, start.Last
	s.tape.running++
	s.tape.mu.Unlock()
	s.tape.began <- struct{}{}
	<-ctx.Done()
	s.tape.mu.Lock()
	s.tape.running--
	s.tape.mu.Unlock()
}

func (p *tape) say(b ...Bundle) {
	p.mu.Lock()
	tell := p.tell
	p.mu.Unlock()
	tell(b)
}

func changed(h *Hub) bool {
	select {
	case <-h.Changed():
		return true
	default:
		return false
	}
}

// TestHubTells: what is a change and what is none.
func TestHubTells(t *testing.T) {
	c := newClock()
	h := NewHub(Config{Clock: c.clock()})
	defer h.Close()
	p := newTape()
	h.Set(map[string]Source{"s": scripted{"x", p}})
	<-p.began
	m := newCA(t)
	one := parsed(t, m)
	do(t, m.Add(ca.Root{Name: "b"}))
	two := parsed(t, m)
	start := c.Now()
	for _, tt := range []struct {
		name   string
		after  time.Duration
		bundle Bundle
		want   bool
	}{
		{"a problem", 0, Bundle{Name: "x", Problem: "p", Since: start}, true},
		{"again", time.Minute, Bundle{Name: "x", Problem: "p", Since: start}, false},
		{"roots", 0, Bundle{Name: "x", Roots: one, At: start}, true},
		{"read again", time.Minute, Bundle{Name: "x", Roots: one, At: start.Add(time.Minute), Sequence: 4}, false},
		{"more roots", 0, Bundle{Name: "x", Roots: two}, true},
		{"unreadable", 0, Bundle{Name: "x", Roots: two, Problem: "p", Since: start}, true},
		{"for a while", 20 * time.Hour, Bundle{Name: "x", Roots: two, Problem: "p", Since: start}, false},
		{"for a day", 5 * time.Hour, Bundle{Name: "x", Roots: two, Problem: "p", Since: start}, true},
		{"for longer", 50 * time.Hour, Bundle{Name: "x", Roots: two, Problem: "p", Since: start}, false},
		{"back", 0, Bundle{Name: "x", Roots: two}, true},
	} {
		c.advance(tt.after)
		p.say(tt.bundle)
		if got := changed(h); got != tt.want {
			t.Errorf("%s: told %t, want %t", tt.name, got, tt.want)
		}
		if diff := cmp.Diff([]Bundle{tt.bundle}, h.Of("s")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	got := h.Figures()
	want := []Figures{{Name: "s", Where: "script x", Readings: 10, Failures: 6, Bundles: []BundleFigures{{Name: "x", Roots: 2, Rotations: 1, Expires: two[0].NotAfter}}}}
	if two[1].NotAfter.Before(two[0].NotAfter) {
		want[0].Bundles[0].Expires = two[1].NotAfter
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// TestHubSets: sources come, go and change as bindings do, and never two for one.
func TestHubSets(t *testing.T) {
	h := NewHub(Config{})
	p, q := newTape(), newTape()
	h.Set(map[string]Source{"a": scripted{"x", p}, "b": scripted{"y", q}})
	<-p.began
	<-q.began
	roots := parsed(t, newCA(t))
	p.say(Bundle{Name: "x", Roots: roots})
	stale := p.tell
	h.Set(map[string]Source{"a": scripted{"x", p}, "b": scripted{"y", q}})
	if len(p.began)+len(q.began) > 0 {
		t.Error("the same settings started a source anew")
	}
	changed(h)
	h.Set(map[string]Source{"a": scripted{"z", p}})
	<-p.began
	if !changed(h) {
		t.Error("nobody is told that a source is gone")
	}
	if h.Of("b") != nil {
		t.Errorf("what is gone is still known: %+v", h.Of("b"))
	}
	if len(p.last) != 1 || !SameRoots(p.last[0].Roots, roots) || len(h.Of("a")) != 1 {
		t.Errorf("a source that was started anew lost its roots: %+v", p.last)
	}
	changed(h)
	stale([]Bundle{{Name: "stale"}})
	if got := h.Of("a")[0].Name; got != "x" || changed(h) {
		t.Errorf("one that was stopped is heard: %s", got)
	}
	h.Close()
	if p.running+q.running != 0 {
		t.Errorf("%d sources run after Close", p.running+q.running)
	}
	h.Set(map[string]Source{"a": scripted{"x", p}})
	h.Close()
	if len(p.began) > 0 {
		t.Error("a source was started after Close")
	}
}

// TestHubRemembers: what a Hub knew before a restart is there, and may not be older.
func TestHubRemembers(t *testing.T) {
	m := newCA(t)
	_, endpoint := endpointOf(t, m, spiffe.EndpointConfig{Profile: spiffe.SPIFFE})
	do(t, m.Add(ca.Root{Name: "b"}))
	kept := Bundle{Name: "example.org", Roots: parsed(t, m), Sequence: 1000, At: time.Now()}
	do(t, m.SignBy("b"))
	endpoint.Bootstrap = "" // only what was kept verifies the server
	h := NewHub(Config{})
	defer h.Close()
	h.Recall(map[string][]Bundle{"e": {kept}})
	h.Set(map[string]Source{"e": endpoint})
	if diff := cmp.Diff([]Bundle{kept}, h.Of("e")); diff != "" && h.Of("e")[0].Problem == "" {
		t.Errorf("before the first reading (-want +got):\n%s", diff)
	}
	<-h.Changed()
	keeps(t, kept, h.Of("e")[0], "is older than 1000")
	h.Recall(map[string][]Bundle{"e": nil})
	keeps(t, kept, h.Of("e")[0], "is older than 1000")
	h.Set(nil)
	h.Set(map[string]Source{"e": endpoint})
	if b := h.Of("e"); len(b) > 0 && len(b[0].Roots) > 0 {
		t.Errorf("a source that was let go is still known: %+v", b)
	}
}

// TestHubChurns: sources that come and go faster than they answer leave nothing
// behind (see TestMain) and do not stop the others.
func TestHubChurns(t *testing.T) {
	m := newCA(t)
	_, endpoint := endpointOf(t, m, spiffe.EndpointConfig{})
	agent := startAgent(t, m, filepath.Join(t.TempDir(), "s"))
	h := NewHub(Config{})
	defer h.Close()
	p := newTape()
	for i := range 60 {
		want := map[string]Source{"stays": scripted{"x", p}}
		if i%2 == 0 {
			want["e"], want["w"] = endpoint, Workload{Socket: agent.Addr()}
		}
		if i%3 == 0 {
			want["w"] = Workload{Socket: agent.Addr(), TrustDomain: "example.org"}
		}
		h.Set(want)
	}
	<-p.began
	if len(p.began) > 0 || p.running != 1 {
		t.Errorf("the one that stays was started %d more times", len(p.began))
	}
}

// TestHubRuns every kind of source beside a broken one, with the system's clock, and
// ends in time.
func TestHubRuns(t *testing.T) {
	m := newCA(t)
	_, endpoint := endpointOf(t, m, spiffe.EndpointConfig{})
	agent := startAgent(t, m, filepath.Join(t.TempDir(), "s"))
	server, consuls := startConsul(t)
	h := NewHub(Config{})
	defer h.Close()
	h.Set(map[string]Source{
		"endpoint": endpoint, "agent": Workload{Socket: agent.Addr()},
		"consul": Consul{URL: "http://" + server.HTTPAddr(), Token: "t"}, "stream": ConsulStream{Addr: server.GRPCAddr(), Plain: true},
		"broken": File{Name: "x", Path: filepath.Join(t.TempDir(), "none")},
	})
	all := func() bool {
		for _, f := range h.Figures() {
			if len(f.Bundles) != 1 || f.Name != "broken" && f.Bundles[0].Roots != 1 {
				return false
			}
		}
		return true
	}
	for deadline := time.After(soon); !all(); {
		select {
		case <-h.Changed():
		case <-deadline:
			t.Fatalf("%+v", h.Figures())
		}
	}
	wants(t, h.Of("agent")[0], "", m.Roots()...)
	wants(t, h.Of("stream")[0], "", consuls.Roots()...)
	wants(t, h.Of("consul")[0], "", consuls.Roots()...)
	wants(t, h.Of("broken")[0], "no such file")
	for _, f := range h.Figures() {
		if f.Where == "" || strings.Contains(f.Where, "s3cret") || f.Readings == 0 {
			t.Errorf("%+v", f)
		}
	}
	began := time.Now()
	h.Close()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
}
