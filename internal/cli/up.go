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
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

type upRequest struct {
	source
	agree consent
	keep  bool
	drain time.Duration

	troubles <-chan Trouble // from the data planes
}

// mostTroubles wait to be told while a pass runs.
const mostTroubles = 64

func (a *app) up() *cobra.Command {
	var r upRequest
	cmd := &cobra.Command{
		Use:   "up -f FILE|DIR|-",
		Short: "Serve the manifests from this machine, and follow their changes",
		Long: `Runs control plane and data plane in this one process: it applies the manifests to
the embedded cloud, serves them on real sockets, and follows every change of the
files until it is told to stop. It asks nobody: what the files say is done, but for
gateways whose parameters want approval, which need --agree. Nothing is left behind,
unless --keep is given.

A change of EndpointSlices alone takes the fast path. A document that is broken by
an edit costs nothing that works: its last good version stays until it is repaired
or removed. What is gone from the files is removed when it is still gone a second
later. SIGTERM or Ctrl-C drains; a second one ends at once.`,
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
	if r.drain < 0 {
		return usagef("--drain %s is less than no time: want 0s or more", r.drain)
	}
	troubles := make(chan Trouble, mostTroubles)
	r.troubles = troubles
	a.trouble = func(t Trouble) {
		select {
		case troubles <- t:
		default: // nobody reads so much
		}
	}
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
	latest  reconcile.Latest
	retries int
	due     due
	recheck <-chan time.Time // when to look again for what is missing from the files
	doubt   bool             // the files were never read whole
	told    told
	roots   *fetched
	members *member.Members // who dial; see look
}

// told is what was said already: nothing is said twice while it lasts.
type told struct {
	findings []lbmodel.Finding
	broken   []string // what the data planes cannot serve
	waits    []string
	problems []manifest.Problem
	trouble  string // with reading the files at all
	closed   string // providers that the files ask for since, and that were not opened
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

	loaded, err := a.loadSteady(ctx, r.source)
	if loaded != nil {
		a.printProblems(loaded)
	}
	if err != nil {
		return err
	}
	s := &server{app: a, upRequest: r, engine: e, doubt: loaded.Incomplete}
	s.latest = reconcile.Latest{Snapshot: loaded.Snapshot, Patience: patience}
	s.told.problems = loaded.Problems
	if restless(loaded) {
		s.recheck = time.After(patience)
	}
	options, err := a.translateOptions(r.source)
	if err != nil {
		return err
	}
	if err := e.take(ctx, loaded, options); err != nil {
		return err
	}
	if remote := e.remote(); len(remote) > 0 && !r.keep {
		return usagef("what up does to %s would stay there and be forgotten here: use --keep, or apply", strings.Join(remote, ", "))
	}
	s.roots = a.newFetched()
	defer s.roots.close()
	e.loop.Change(a.first(ctx, s.roots, e.loop.Index()))
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
	s.told.findings = s.findings()
	printFindings(s.out, s.told.findings)
	s.pass(ctx, keys)
	s.printServing()
	return nil
}

// pass plans and applies, and says how it went in a line. A pass that could not
// do everything is followed by another.
func (s *server) pass(ctx context.Context, keys []translate.Key) {
	began := time.Now()
	keys, policies := s.look(ctx, keys)
	plan, err := s.engine.loop.Plan(ctx, keys, policies...)
	if err != nil {
		s.say(term.Red, "✗", "planning failed: %v; it is tried again", err)
		s.retries++
		return
	}
	plan, held := s.allowed(plan)
	line := term.NewProgress(s.err, "")
	done := s.engine.loop.Apply(ctx, plan, progress(line, len(plan.Plan().Steps)))
	line.Stop()
	s.due.passed(done)
	n := tally(done)
	for _, text := range n.failed {
		s.say(term.Red, "✗", "%s", text)
	}
	for _, text := range held {
		s.say(term.Yellow, "!", "kept back: %s", text)
	}
	s.tellWaits(done)
	if n.done() > 0 {
		mark, paint := "✓", term.Green
		if n.destroy > 0 {
			mark, paint = "−", term.Yellow
		}
		s.say(paint, mark, "%d added, %d changed, %d destroyed in %s", n.add, n.change, n.destroy, time.Since(began).Round(time.Millisecond))
	}
	served := s.program(ctx)
	s.retries++
	if served && done.Settled() {
		s.retries = 0
		s.settled()
	}
}

// settled ends the doubts of the start where this process made everything that
// there is: what it served was made from what could be read, so an edit changes
// nothing that an unreadable document had a part in.
func (s *server) settled() {
	if s.doubt && !s.keep {
		s.certain()
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
		if !slices.Contains(s.told.broken, text) {
			s.say(term.Red, "✗", "cannot be served, is tried again: %s", withWayOut(text))
		}
	}
	if len(now) == 0 && len(s.told.broken) > 0 {
		s.say(term.Green, "✓", "everything is served")
	}
	s.told.broken = now
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
			s.fetch(ctx)
		case t := <-s.troubles:
			s.tellTrouble(t)
		case <-s.recheck:
			s.reload(ctx)
			s.fetch(ctx)
		case <-s.roots.sync.Changed():
			s.fetch(ctx)
		case <-s.dueNow():
			s.due = due{}
			s.pass(ctx, s.engine.loop.Index().Gateways())
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
	return time.After(pause(s.retries))
}

// pause is before a retry, counted from 1.
func pause(retry int) time.Duration {
	const doublings = 6 // then it is more than a minute; many more, and it would overflow
	return min(time.Second<<min(retry-1, doublings), time.Minute)
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
		var cut interface {
			error
			Lost() int
		}
		switch err := b.DataPlane.Shutdown(ctx); {
		case errors.As(err, &cut) && cut.Lost() == 0:
			s.say(term.Yellow, "!", "%s", cut.Error())
		case err != nil:
			errs = append(errs, fmt.Errorf("provider %s, after %s: %w", name, s.drain, err))
		}
	}
	if in > 0 {
		s.say(term.Dim, "·", "stopped, drained in %s", time.Since(began).Round(time.Millisecond))
	}
	return errors.Join(errs...)
}
