package cloud

import (
	"context"
	"encoding/json/v2"
	"errors"
	"maps"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// createAll makes the resources of compiled graphs, needs first.
func createAll(tb testing.TB, p *Provider, owner lbmodel.Owner, graphs ...lbmodel.Graph) lbmodel.Graph {
	tb.Helper()
	want, have := lbmodel.Graph{}, lbmodel.Graph{}
	for _, g := range graphs {
		for _, r := range g {
			want[r.ID] = r
		}
	}
	want, _ = p.Place(want, have, p.cloud.(*Cloud).options.Now())
	plan, err := lbmodel.Diff(want, nil, have)
	if err != nil {
		tb.Fatal(err)
	}
	for _, step := range plan.Steps {
		r := mustApply(tb, p, owner, step, have)
		have[r.ID] = r
	}
	return have
}

// mustApply does a step, and waits for what takes time.
func mustApply(tb testing.TB, p *Provider, owner lbmodel.Owner, step lbmodel.Step, have lbmodel.Graph) lbmodel.Resource {
	tb.Helper()
	resolve := func(id lbmodel.ID) (lbmodel.Resource, bool) {
		r, ok := have[id]
		return r, ok
	}
	r, err := p.Apply(tb.Context(), owner, step, resolve)
	if lbmodel.CodeOf(err) == lbmodel.CodePending {
		p.cloud.(*Cloud).Settle()
		have[r.ID] = r
		r, err = p.Apply(tb.Context(), owner, step, resolve)
	}
	if err != nil {
		tb.Fatalf("%s %s: %v", step.Verb, step.ID, err)
	}
	return r
}

// loop is the smallest control loop over a provider: one owner, one step at a time,
// nothing remembered but what was last wanted.
type loop struct {
	testing.TB
	cloud    *Cloud
	provider *Provider
	named    []lbmodel.Handle
}

func newLoop(tb testing.TB, c *Cloud, keys providers.Keyring) *loop {
	return &loop{TB: tb, cloud: c, provider: NewProvider(c, keys)}
}

// wanted is a gateway compiled, with the handles that it names noted.
func (l *loop) wanted(gw lbmodel.Gateway) lbmodel.Graph {
	own, shared, _ := l.provider.Compile(gw)
	maps.Copy(own, shared)
	for _, r := range own {
		if r.Handle != "" {
			l.named = append(l.named, r.Handle)
		}
	}
	return own
}

// plan is what has to be done for a gateway; an empty one owns nothing.
func (l *loop) plan(gw lbmodel.Gateway) (lbmodel.Plan, lbmodel.Graph) {
	l.Helper()
	want := lbmodel.Graph{}
	if len(gw.Listeners) > 0 {
		want = l.wanted(gw)
	}
	have, err := l.provider.Observe(l.Context(), gw.Owner, l.named)
	if err != nil {
		l.Fatal(err)
	}
	want, findings := l.provider.Place(want, have, l.cloud.options.Now())
	for _, f := range findings {
		l.Errorf("finding: %+v", f)
	}
	plan, err := lbmodel.Diff(want, nil, have)
	if err != nil {
		l.Fatal(err)
	}
	return plan, have
}

// apply brings a gateway about, and returns the steps that it took.
func (l *loop) apply(gw lbmodel.Gateway) []lbmodel.Step {
	l.Helper()
	plan, have := l.plan(gw)
	for _, step := range plan.Steps {
		r := mustApply(l, l.provider, gw.Owner, step, have)
		delete(have, step.ID)
		if step.Verb != lbmodel.Delete {
			have[step.ID] = r
		}
	}
	return plan.Steps
}

// tryApply is apply that stops at the first error.
func (l *loop) tryApply(ctx context.Context, gw lbmodel.Gateway) error {
	want := l.wanted(gw)
	have, err := l.provider.Observe(ctx, gw.Owner, l.named)
	if err != nil {
		return err
	}
	want, _ = l.provider.Place(want, have, l.cloud.options.Now())
	plan, err := lbmodel.Diff(want, nil, have)
	if err != nil {
		return err
	}
	resolve := func(id lbmodel.ID) (lbmodel.Resource, bool) {
		r, ok := have[id]
		return r, ok
	}
	for _, step := range plan.Steps {
		r, err := l.provider.Apply(ctx, gw.Owner, step, resolve)
		var known *lbmodel.Error
		if err != nil && (!errors.As(err, &known) || known.Code != lbmodel.CodePending) {
			return err
		}
		have[step.ID] = r
	}
	return nil
}

// quiet expects that nothing is left to do.
func (l *loop) quiet(gw lbmodel.Gateway, why string) {
	l.Helper()
	plan, _ := l.plan(gw)
	if !plan.Empty() || len(plan.Later) > 0 {
		l.Errorf("%s: there is still to do:\n%v\nlater %v", why, steps(plan.Steps), plan.Later)
	}
}

// steps are steps as a failure prints them.
func steps(all []lbmodel.Step) []string {
	var out []string
	for _, s := range all {
		out = append(out, string(s.Verb)+" "+s.ID.Kind+" ("+s.Why+")")
	}
	return out
}

func retryAfter(err error) time.Duration {
	var known *lbmodel.Error
	if errors.As(err, &known) {
		return known.RetryAfter
	}
	return 0
}

// fromJSON decodes strictly.
func fromJSON[T any](tb testing.TB, text []byte) *T {
	tb.Helper()
	out := new(T)
	if err := json.Unmarshal(text, out, json.RejectUnknownMembers(true)); err != nil {
		tb.Fatal(err)
	}
	return out
}
