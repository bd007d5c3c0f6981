package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

type upRequest struct {
	source
	agree consent
	keep  bool
	drain time.Duration
}

func (a *app) up() *cobra.Command {
	var r upRequest
	cmd := &cobra.Command{
		Use:   "up -f FILE|DIR|-",
		Short: "Serve the manifests from this machine, and follow their changes",
		Long: `Runs control plane and data plane in this one process: it applies the manifests to
the embedded cloud, serves them on real sockets, and follows every change of the
files until it is told to stop. It asks nobody: what the files say is done. Nothing
is left behind, unless --keep is given.

A change of EndpointSlices alone takes the fast path. A document that is broken by
an edit costs nothing that works: its last good version stays until it is repaired
or removed. SIGTERM or Ctrl-C drains; a second one ends at once.`,
		Example: "  gatehouse up -f examples/shop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runUp(cmd.Context(), r)
		},
	}
	r.addTo(cmd)
	addAgree(cmd, &r.agree)
	cmd.Flags().BoolVar(&r.keep, "keep", false, "keep what the cloud holds in the state directory, and start from it")
	cmd.Flags().DurationVar(&r.drain, "drain", 10*time.Second, "how long requests in flight may take when it stops")
	return cmd
}

func (a *app) runUp(ctx context.Context, r upRequest) error {
	if !r.keep {
		return a.upWith(ctx, r, Options{})
	}
	return a.writing(ctx, "up", func(e *engine, _ state) error { return a.serve(ctx, e, r) })
}

func (a *app) upWith(ctx context.Context, r upRequest, o Options) (err error) {
	e, err := a.open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	return a.serve(ctx, e, r)
}

// server is `up` while it runs.
type server struct {
	*app
	upRequest
	engine  *engine
	last    translate.Snapshot
	retries int
	known   []lbmodel.Finding // told already
	broken  []string          // what the data planes cannot serve, told already
}

func (a *app) serve(ctx context.Context, e *engine, r upRequest) (err error) {
	changed := make(chan struct{}, 1)
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		if err := manifest.Watch(watching, r.paths, changed); watching.Err() == nil {
			a.log.Error("changes of the files are no longer seen", "err", err)
		}
	})
	defer watcher.Wait()
	defer stop()

	loaded, err := a.load(ctx, r.source)
	if err != nil {
		return err
	}
	s := &server{app: a, upRequest: r, engine: e, last: loaded.Snapshot}
	e.take(loaded, a.translateOptions())
	if _, err := a.chosen(e.loop.Index(), loaded.Snapshot, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.shutdown()) }()
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.follow(ctx, changed)
}

// start applies the first files and serves them.
func (s *server) start(ctx context.Context) error {
	for name, b := range s.engine.backends {
		if b.DataPlane == nil {
			s.err.Printf("Provider %s has no load balancers on this machine; its gateways are not served here.\n", name)
			continue
		}
		if err := b.DataPlane.Serve(ctx); err != nil {
			return fmt.Errorf("starting the data plane of provider %s: %w", name, err)
		}
	}
	keys := s.engine.loop.Index().Gateways()
	printFindings(s.out, findingsOf(s.engine.gateways(keys)))
	s.known = findingsOf(s.engine.gateways(keys))
	s.pass(ctx, keys)
	s.printServing()
	return nil
}

// pass plans and applies, and says how it went in a line. A pass that could not
// do everything is followed by another.
func (s *server) pass(ctx context.Context, keys []translate.Key) {
	began := time.Now()
	plan, err := s.engine.loop.Plan(ctx, keys)
	if err != nil {
		s.say(term.Red, "✗", "planning failed: %v; it is tried again", err)
		s.retries++
		return
	}
	plan, held := s.allowed(plan)
	line := term.NewProgress(s.err, "")
	done := s.engine.loop.Apply(ctx, plan, progress(line, len(plan.Plan().Steps)))
	line.Stop()
	n := tally(done)
	for _, text := range n.failed {
		s.say(term.Red, "✗", "%s", text)
	}
	for _, text := range held {
		s.say(term.Yellow, "!", "kept back: %s", text)
	}
	if n.done() > 0 {
		s.say(term.Green, "✓", "%d added, %d changed, %d destroyed in %s", n.add, n.change, n.destroy, time.Since(began).Round(time.Millisecond))
	}
	served := s.program(ctx)
	s.retries++
	if served && done.Settled() {
		s.retries = 0
	}
}

// allowed drops the plans that nobody agreed to.
func (s *server) allowed(pass reconcile.Pass) (reconcile.Pass, []string) {
	pass, held := withoutPlanOnly(pass)
	if bool(s.agree) {
		return pass, held
	}
	var out reconcile.Pass
	for _, g := range pass.Groups {
		if g.Apply != v1alpha1.ApplyApprove {
			out.Groups = append(out.Groups, g)
			continue
		}
		for _, step := range g.Plan.Steps {
			held = append(held, step.ID.String()+": its gateway wants approval; start with --agree")
		}
	}
	return out, held
}

// program waits until the data planes serve what the clouds hold, and says what
// they cannot, once.
func (s *server) program(ctx context.Context) (served bool) {
	var now []string
	for _, b := range s.engine.backends {
		if b.DataPlane == nil {
			continue
		}
		if err := b.DataPlane.Program(ctx); err != nil {
			now = append(now, strings.Split(err.Error(), "\n")...)
		}
	}
	for _, text := range now {
		if !slices.Contains(s.broken, text) {
			s.say(term.Red, "✗", "cannot be served, is tried again: %s", text)
		}
	}
	if len(now) == 0 && len(s.broken) > 0 {
		s.say(term.Green, "✓", "everything is served")
	}
	s.broken = now
	return len(now) == 0
}

// say writes a line with the time.
func (s *server) say(paint term.Paint, mark, text string, args ...any) {
	s.out.Printf("%s %s %s\n", s.out.Paint(term.Dim, time.Now().Format(time.TimeOnly)), s.out.Paint(paint, mark), fmt.Sprintf(text, args...))
}

// follow acts upon changes until the context ends.
func (s *server) follow(ctx context.Context, changed <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			s.reload(ctx)
		case <-s.again():
			s.pass(ctx, s.engine.loop.Index().Gateways())
		}
	}
}

// again is when a pass that could not do everything is repeated: after 1 s, then
// twice as long each time, up to a minute. A settled one never is.
func (s *server) again() <-chan time.Time {
	if s.retries == 0 {
		return nil
	}
	return time.After(min(time.Second<<(s.retries-1), time.Minute))
}

// reload reads the files again and does what their change asks for.
func (s *server) reload(ctx context.Context) {
	loaded, err := s.load(ctx, s.source)
	if err != nil {
		s.say(term.Red, "✗", "%v; everything stays as it was", err)
		return
	}
	absent := reconcile.Removed
	if loaded.Incomplete {
		absent = reconcile.Unproven
	}
	d := reconcile.Compare(s.last, loaded.Snapshot, absent)
	if d.Empty() {
		return
	}
	s.engine.keys.now.Store(loaded.Keys)
	s.last = merged(s.last, loaded.Snapshot, absent)
	if d.EndpointsOnly() {
		s.endpoints(ctx, d)
		return
	}
	keys := s.engine.loop.Change(d.Change)
	s.say(term.Cyan, "~", "%s changed: %s", countOf(len(d.Put)+len(d.Delete), "object"), concerns(keys))
	s.tellFindings()
	s.pass(ctx, keys)
}

func concerns(keys []translate.Key) string {
	if len(keys) == 0 {
		return "no gateway is concerned"
	}
	return joinKeys(keys)
}

// merged is what the loop now holds. With absence unproven, what is not in the
// files any more still counts, so the next reading is compared with it too.
func merged(old, next translate.Snapshot, absent reconcile.Absence) translate.Snapshot {
	if absent == reconcile.Removed {
		return next
	}
	return reconcile.Overlay(old, next)
}

func (s *server) endpoints(ctx context.Context, d reconcile.Difference) {
	began := time.Now()
	keys, err := s.engine.loop.Endpoints(ctx, d)
	if err != nil {
		s.say(term.Red, "✗", "endpoints: %v; it is tried again", err)
		s.retries++
		return
	}
	if !s.program(ctx) {
		s.retries++
	}
	s.say(term.Green, "✓", "endpoints of %s up to date in %s (fast path): %s", joinKeys(d.Backends), time.Since(began).Round(time.Microsecond), concerns(keys))
}

// tellFindings says what is new and what is over.
func (s *server) tellFindings() {
	now := findingsOf(s.engine.loop.Gateways())
	for _, f := range missing(now, s.known) {
		mark, paint := markOf(severityOf(f))
		s.say(paint, mark, "%s %s: %s", f.About, reasonOf(f), f.Detail)
	}
	for _, f := range missing(s.known, now) {
		s.say(term.Green, "✓", "over: %s %s", f.About, reasonOf(f))
	}
	s.known = now
}

// missing are the findings of some that are not among others.
func missing(some, others []lbmodel.Finding) []lbmodel.Finding {
	there := make(map[lbmodel.Finding]bool, len(others))
	for _, f := range others {
		there[f] = true
	}
	return slices.DeleteFunc(slices.Clone(some), func(f lbmodel.Finding) bool { return there[f] })
}

// shutdown drains.
func (s *server) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.drain)
	defer cancel()
	began, in := time.Now(), 0
	var errs []error
	for name, b := range s.engine.backends {
		if b.DataPlane == nil {
			continue
		}
		in++
		if err := b.DataPlane.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("provider %s: requests were cut off after %s: %w", name, s.drain, err))
		}
	}
	if in > 0 {
		s.say(term.Dim, "·", "stopped, drained in %s", time.Since(began).Round(time.Millisecond))
	}
	return errors.Join(errs...)
}
