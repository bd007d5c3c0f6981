package providertest

import (
	"bytes"
	jsonv2 "encoding/json/v2"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// bench is one world with an Account on it, and everything that anybody could
// read of what went on.
type bench struct {
	testing.TB
	harness Harness
	clock   *clock
	keys    *keys
	world   World
	account *providers.Account

	parallel int           // calls at a time; 1, so that the same faults hit the same calls
	timeout  time.Duration // of a call

	listening bool
	mu        sync.Mutex
	text      bytes.Buffer // plans, logs, errors and events: searched for keys
}

func newBench(tb testing.TB, h Harness) *bench {
	c := newClock()
	return benchWith(tb, h, c, newKeys(tb, c.Now))
}

func benchWith(tb testing.TB, h Harness, c *clock, k *keys) *bench {
	b := &bench{TB: tb, harness: h, clock: c, keys: k, parallel: 1, timeout: 5 * time.Second}
	b.world = h.New(tb, Env{Keyring: k.ring, Now: c.Now})
	b.restart()
	return b
}

// another is a bench on an empty world, with the same roots and certificates.
func (b *bench) another() *bench { return benchWith(b.TB, b.harness, newClock(), b.keys) }

// restart is the process starting again: nothing is remembered.
func (b *bench) restart() { b.account = providers.NewAccount(b.config()) }

func (b *bench) config() providers.Config {
	return providers.Config{
		Provider: b.world.Provider(), Cluster: cluster, Name: "law",
		Clock:    providers.Clock{Now: b.clock.Now, After: b.clock.After},
		Rand:     rand.New(rand.NewPCG(1, 2)).Float64,
		Log:      b.logger(),
		Parallel: b.parallel, CallTimeout: b.timeout,
	}
}

// Write takes log lines in.
func (b *bench) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// note keeps a text, if anybody listens.
func (b *bench) note(format string, args ...any) {
	if b.listening {
		fmt.Fprintf(b, format+"\n", args...)
	}
}

// logger is where the Account logs to.
func (b *bench) logger() *slog.Logger {
	if !b.listening {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// listen makes the bench keep everything that anybody could read from now on.
func (b *bench) listen() {
	b.listening = true
	b.restart()
}

// random is a source of its own for each purpose, the same in every run.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) }

// wish tells the account what a scene should be: everybody who is live and not in
// it should own nothing.
func (b *bench) wish(s scene) ([]lbmodel.Owner, error) {
	live, err := b.account.Live(b.Context())
	if err != nil {
		return nil, err
	}
	owners := map[lbmodel.Owner]bool{}
	for _, owner := range live {
		owners[owner] = true
	}
	for _, name := range s.names() {
		for _, f := range b.account.Want(b.model(s, name)) {
			b.note("finding %+v", f)
		}
		delete(owners, ownerOf(name))
	}
	out := make([]lbmodel.Owner, 0, len(owners)+len(s.gateways))
	for owner := range owners {
		b.account.Drop(owner)
		out = append(out, owner)
	}
	for _, name := range s.names() {
		out = append(out, ownerOf(name))
	}
	return out, nil
}

// plan is what is to be done for a scene.
func (b *bench) plan(s scene, policies ...lbmodel.Policy) (providers.Plan, error) {
	owners, err := b.wish(s)
	if err != nil {
		return providers.Plan{}, err
	}
	plan, err := b.account.Plan(b.Context(), owners, policies...)
	b.noteErr(err)
	if b.listening {
		b.notePlan(plan)
	}
	return plan, err
}

// pass is one turn of the loop: plan, then apply.
func (b *bench) pass(s scene, policies ...lbmodel.Policy) (providers.Plan, lbmodel.Outcome, error) {
	plan, err := b.plan(s, policies...)
	if err != nil {
		return plan, lbmodel.Outcome{}, err
	}
	out := b.account.Apply(b.Context(), plan, func(e providers.Event) { b.note("event %+v %v", e, e.Err) })
	b.noteErr(out.Err())
	return plan, out, nil
}

func (b *bench) noteErr(err error) {
	if err != nil {
		b.note("error %v %+v", err, err)
	}
}

// passesToConverge is how many turns of the loop anything may take: one that does
// it, one that repairs what the first could not, one that finds nothing to do,
// and some for clouds that answer late.
const passesToConverge = 6

// converge repeats passes until one finds nothing to do.
func (b *bench) converge(s scene) {
	b.Helper()
	if err := b.tryConverge(s); err != nil {
		b.Fatalf("%v\nscene: %s", err, s)
	}
}

func (b *bench) tryConverge(s scene) error {
	var last string
	for range passesToConverge {
		plan, out, err := b.pass(s)
		switch {
		case err != nil:
			last = err.Error()
		case plan.Empty() && len(plan.Waiting()) == 0 && out.Settled():
			return nil
		default:
			last = fmt.Sprintf("plan:\n%slater: %v\noutcome: %v", render(plan.Plan), plan.Waiting(), out.Err())
		}
		b.clock.advance(time.Minute)
		b.world.Settle()
	}
	return fmt.Errorf("still not done after %d passes; the last one: %s", passesToConverge, last)
}

// state is what the cloud holds of ours, as a provider without a memory sees it.
func (b *bench) state() lbmodel.Graph {
	b.Helper()
	g, err := b.world.Provider().Observe(b.Context(), clusterOwner, nil)
	if err != nil {
		b.Fatalf("observing: %v", err)
	}
	maps.DeleteFunc(g, func(_ lbmodel.ID, r lbmodel.Resource) bool {
		return r.Hold != lbmodel.Own && r.Hold != lbmodel.Shared
	})
	return g
}

// ours counts the objects in the cloud that are not foreign.
func (b *bench) ours() []string {
	var out []string
	for _, o := range b.world.Dump() {
		if o.Foreign == "" {
			out = append(out, o.Name)
		}
	}
	return out
}

// foreign is what must never change.
func (b *bench) foreign() map[string]string {
	out := map[string]string{}
	for _, o := range b.world.Dump() {
		if o.Foreign != "" {
			out[o.Name] = o.Foreign
		}
	}
	return out
}

// render is a plan as text, with everything that a person could be shown.
func render(p lbmodel.Plan) string {
	var out strings.Builder
	for _, s := range p.Steps {
		fmt.Fprintf(&out, "  %s %s (%s; %s; after %v) %s %s\n", s.Verb, s.ID, s.Cause, s.Why, s.After, s.Impact, specText(s.Want))
	}
	return out.String()
}

// specText is a Spec as it is compared: one may have pointers.
func specText(s lbmodel.Spec) string {
	text, err := jsonv2.Marshal(s, jsonv2.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// clock is the suite's: waiting moves it, so that nothing really waits.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

// Now is the time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After moves the time and is over at once.
func (c *clock) After(d time.Duration) <-chan time.Time {
	c.advance(d)
	done := make(chan time.Time, 1)
	done <- c.Now()
	return done
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
