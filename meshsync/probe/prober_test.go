package probe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

// wire answers for pods.
type wire struct {
	mu     sync.Mutex
	now    time.Time
	dialed []string
	says   map[string]Result // by address; others are well
}

func newWire() *wire {
	return &wire{now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), says: map[string]Result{}}
}

func (w *wire) prober(p Pace) *Prober {
	p.PerSecond = 1e6
	return NewProber(ProberConfig{Dial: w.dial, Pace: p, Now: w.clock})
}

func (w *wire) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *wire) dial(_ context.Context, _ Hop, address string) Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed = append(w.dialed, address)
	r, ok := w.says[address]
	if !ok {
		r = Result{Outcome: OK, Leads: []string{"root"}}
	}
	r.Address = address
	return r
}

// work does all that is due after some time, and says who was dialled and told.
func (w *wire) work(t *testing.T, p *Prober, after time.Duration) (dialed, told []string) {
	t.Helper()
	w.mu.Lock()
	w.now, w.dialed = w.now.Add(after), nil
	w.mu.Unlock()
	for more := true; more; {
		var askers []string
		askers, more = p.Work(t.Context())
		told = append(told, askers...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.dialed)
	return slices.Clone(w.dialed), told
}

func ask(name string, pods ...int) Ask {
	a := Ask{Name: name, Hop: Hop{TLS: lbmodel.BackendTLS{SNI: name}, Roots: []lbmodel.Root{{SHA256: "a", SPKI: "root"}}}}
	for _, i := range pods {
		a.Endpoints = append(a.Endpoints, lbmodel.Endpoint{Address: fmt.Sprintf("10.0.0.%d", i), Port: 80, Ready: true})
	}
	return a
}

func at(pods ...int) (out []string) {
	for _, i := range pods {
		out = append(out, fmt.Sprintf("10.0.0.%d:80", i))
	}
	return out
}

// TestDialsAreFew goes through the life of a group: what did not change is dialled only
// slowly, each endpoint in its turn, and what is gone is forgotten.
func TestDialsAreFew(t *testing.T) {
	w := newWire()
	p := w.prober(Pace{Sample: 2})
	steps := []struct {
		name, why string
		do        func()
		after     time.Duration
		dialed    []string
		told      []string
	}{
		{"nobody asks", "there is nothing to do", func() {}, 0, nil, nil},
		{"a group", "a few of it are enough", func() { p.Want("g", []Ask{ask("a", 1, 2, 3, 4, 5)}) }, 0, at(1, 2), []string{"g"}},
		{"the same again", "the answers count", func() { p.Want("g", []Ask{ask("a", 1, 2, 3, 4, 5)}) }, time.Minute, nil, nil},
		{"later", "others have their turn", func() {}, 10 * time.Minute, at(3, 4), nil},
		{"another group", "only what is new is dialled", func() { p.Want("g", []Ask{ask("a", 1, 2, 3, 4, 5), ask("b", 6)}) }, 0, at(6), []string{"g"}},
		{"a pod that waits its turn comes", "it costs nothing yet", func() { p.Want("g", []Ask{ask("a", 1, 2, 3, 4, 5, 7), ask("b", 6)}) }, 0, nil, nil},
		{"another name to be sent", "what is said to pods is new", func() {
			b := ask("b", 6)
			b.Hop.TLS.SNI = "other"
			p.Want("g", []Ask{ask("a", 1, 2, 3, 4, 5, 7), b})
		}, 0, at(6), []string{"g"}},
		{"it goes", "what it told is not true any more", func() { p.Want("g", nil) }, time.Hour, nil, []string{"g"}},
	}
	for _, s := range steps {
		s.do()
		dialed, told := w.work(t, p, s.after)
		if !slices.Equal(dialed, s.dialed) || !slices.Equal(told, s.told) {
			t.Errorf("%s: dialled %v and told %v, want %v and %v: %s", s.name, dialed, told, s.dialed, s.told, s.why)
		}
	}
	if got := p.Askers(); len(got) > 0 {
		t.Errorf("%v ask still", got)
	}
}

// TestTroubleIsToldOnce: a failure is news when it comes and when it goes, and is tried
// again sooner than what is well.
func TestTroubleIsToldOnce(t *testing.T) {
	w := newWire()
	p := w.prober(Pace{Sample: 3})
	p.Want("g", []Ask{ask("a", 1, 2)})
	w.work(t, p, 0)
	w.says["10.0.0.1:80"] = Result{Outcome: Chain, Detail: "of nobody"}
	look := func(after time.Duration, dialed, told []string, trouble string) {
		t.Helper()
		gotDialed, gotTold := w.work(t, p, after)
		if !slices.Equal(gotDialed, dialed) || !slices.Equal(gotTold, told) {
			t.Errorf("after %s dialled %v and told %v, want %v and %v", after, gotDialed, gotTold, dialed, told)
		}
		got := ""
		if r := p.Sights("g")["a"].Told; r != nil {
			got = r.Text()
		}
		if got != trouble {
			t.Errorf("after %s the trouble is %q, want %q", after, got, trouble)
		}
	}
	look(5*time.Minute, nil, nil, "")
	look(5*time.Minute, at(1, 2), []string{"g"}, "wrong CA: of nobody")
	look(30*time.Second, at(1), nil, "wrong CA: of nobody")
	delete(w.says, "10.0.0.1:80")
	look(30*time.Second, at(1), []string{"g"}, "")
}

// TestSights: what is known of a group follows from its endpoints. Why this table: what
// gates and rotations do depends on each field.
func TestSights(t *testing.T) {
	for _, c := range []struct {
		name, why string
		says      map[int]Result
		pods      []int
		edit      func(*Ask)
		want      Sight
	}{
		{name: "all well", why: "and their root is seen", pods: []int{1, 2}, want: Sight{Known: true, Passed: 2, Seen: []string{"root"}}},
		{name: "nobody there", why: "nobody can be harmed", want: Sight{Known: true}},
		{name: "no roots", why: "what cannot be verified is not dialled, and not known", pods: []int{1}, edit: func(a *Ask) { a.Hop.Roots = nil }, want: Sight{}},
		{name: "one of two", why: "both are told", pods: []int{1, 2}, says: map[int]Result{2: {Outcome: Unreachable}},
			want: Sight{Known: true, Passed: 1, Failed: []Result{{Address: "10.0.0.2:80", Outcome: Unreachable}}, Seen: []string{"root"}}},
		{name: "a name that is wrong", why: "its root is in use all the same", pods: []int{1}, says: map[int]Result{1: {Outcome: Name, Leads: []string{"old"}}},
			want: Sight{Known: true, Failed: []Result{{Address: "10.0.0.1:80", Outcome: Name, Leads: []string{"old"}}}, Seen: []string{"old"}}},
		{name: "one that ends", why: "no new traffic goes to it", pods: []int{1}, edit: func(a *Ask) { a.Endpoints[0].Terminating = true }, want: Sight{Known: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWire()
			for i, r := range c.says {
				w.says[at(i)[0]] = r
			}
			p := w.prober(Pace{})
			a := ask("a", c.pods...)
			if c.edit != nil {
				c.edit(&a)
			}
			p.Want("g", []Ask{a})
			w.work(t, p, 0)
			got := p.Sights("g")["a"]
			if c.want.Hop = a.Hop; len(c.want.Failed) > 0 {
				c.want.Told = &c.want.Failed[0]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}

// TestForgets: the root of a pod that is gone is not seen any more, and somebody hears
// of it.
func TestForgets(t *testing.T) {
	w := newWire()
	w.says["10.0.0.1:80"] = Result{Outcome: OK, Leads: []string{"old"}}
	p := w.prober(Pace{})
	p.Want("g", []Ask{ask("a", 1, 2)})
	w.work(t, p, 0)
	if got := p.Sights("g")["a"].Seen; !slices.Equal(got, []string{"old", "root"}) {
		t.Fatalf("seen is %v", got)
	}
	p.Want("g", []Ask{ask("a", 2)})
	if dialed, told := w.work(t, p, 0); len(dialed) > 0 || !slices.Equal(told, []string{"g"}) {
		t.Errorf("dialled %v, told %v: want nobody dialled, and told", dialed, told)
	}
	if got := p.Sights("g")["a"].Seen; !slices.Equal(got, []string{"root"}) {
		t.Errorf("seen is %v after the pod is gone", got)
	}
}

// TestRate: however much there is to dial, it is dialled at the pace, and what nobody
// knows comes before what is only old.
func TestRate(t *testing.T) {
	w := newWire()
	p := NewProber(ProberConfig{Dial: w.dial, Now: w.clock, Pace: Pace{PerSecond: 200}})
	for i := range 30 {
		p.Want(fmt.Sprint("g", i), []Ask{ask("a", 1, 2, 3)})
	}
	began := time.Now()
	if dialed, _ := w.work(t, p, 0); len(dialed) != 90 {
		t.Errorf("%d dials, want 90", len(dialed))
	}
	if took := time.Since(began); took < (90-atOnce)*time.Second/200 {
		t.Errorf("90 dials took %s: faster than the pace", took)
	}
	w.mu.Lock()
	w.now, w.dialed = w.now.Add(time.Hour), nil
	w.mu.Unlock()
	p.Want("new", []Ask{ask("a", 9)})
	if _, more := p.Work(t.Context()); !more || !slices.Contains(w.dialed, "10.0.0.9:80") {
		t.Errorf("%d dials, and the new one is not among the first", len(w.dialed))
	}
}

// TestRun tells of news until it is stopped.
func TestRun(t *testing.T) {
	w := newWire()
	p := w.prober(Pace{})
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan []string), make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx, func(askers []string) { told <- askers })
	}()
	p.Want("g", []Ask{ask("a", 1)})
	if got := <-told; !slices.Equal(got, []string{"g"}) {
		t.Errorf("told %v", got)
	}
	cancel()
	<-ended
}

// TestEarlier: of a pod that refuses a certificate it is known what it said to the one
// before, for as long as that is the question, and not what it said to that one since.
func TestEarlier(t *testing.T) {
	w := newWire()
	p := w.prober(Pace{})
	refuses := Result{Outcome: ClientCertificate}
	for _, step := range []struct {
		name, leaf string
		says       Result
		want       Earlier
	}{
		{"the first", "a", refuses, Earlier{}},
		{"the same again", "a", refuses, Earlier{}},
		{"another", "b", refuses, Earlier{"a", ClientCertificate}},
		{"that again", "b", refuses, Earlier{"a", ClientCertificate}},
		{"a third", "c", Result{Outcome: OK}, Earlier{"b", ClientCertificate}},
		{"a fourth", "d", refuses, Earlier{"c", OK}},
	} {
		w.says[at(1)[0]] = step.says
		a := ask("a", 1)
		a.Hop.Identity = &lbmodel.Identity{Leaf: &lbmodel.Leaf{SHA256: step.leaf}}
		p.Want("g", []Ask{a})
		if dialed, _ := w.work(t, p, time.Hour); len(dialed) == 0 {
			t.Fatalf("%s: nobody was dialled", step.name)
		}
		got := Earlier{}
		for _, known := range p.asks["g"]["a"].answers {
			got = known.result.Earlier
		}
		if got != step.want {
			t.Errorf("%s: before was %+v, want %+v", step.name, got, step.want)
		}
	}
}
