package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	xterm "golang.org/x/term"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

type applyRequest struct {
	source
	prune  bool
	agree  consent
	format format
}

// consent is what --agree says: whether everything is agreed to beforehand.
type consent bool

// String implements pflag.Value.
func (c *consent) String() string { return strconv.FormatBool(bool(*c)) }

// Type implements pflag.Value.
func (c *consent) Type() string { return "bool" }

// Set implements pflag.Value.
func (c *consent) Set(value string) error {
	given, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("want true or false")
	}
	*c = consent(given)
	return nil
}

func (a *app) apply() *cobra.Command {
	r := applyRequest{format: readable()}
	cmd := &cobra.Command{
		Use:   "apply -f FILE|DIR|-",
		Short: "Make the load balancers what the manifests ask for",
		Long: `Plans, and does the plan. Only the gateways in the files are touched; --prune also
removes other gateways of the same --cluster, if the files could be read whole and
name at least one gateway that is to stay.

Steps that interrupt somebody or give up mutual TLS with a backend (the plan
says how) and the removal of whole gateways need agreement: it is asked for on a
terminal. Elsewhere they are kept back, unless --agree is given, and the rest is done. A command that is stopped, even by kill -9,
is finished by the next one.

The exit code is 0 when all is done, 3 when a part was: steps failed, wait, were
kept back, or a document was bad.`,
		Example: "  gatehouse apply -f examples/shop\n  gatehouse apply -f deploy/ --prune --agree --cluster prod",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runApply(cmd.Context(), r)
		},
	}
	r.addTo(cmd)
	a.onlyGateways(cmd, &r.source)
	addAgree(cmd, &r.agree)
	cmd.Flags().BoolVar(&r.prune, "prune", false, "also remove the cluster's other gateways")
	r.format.addTo(cmd, "how to print the statuses")
	return cmd
}

// addAgree adds --agree, which also answers to the name that terraform users
// have in their fingers.
func addAgree(cmd *cobra.Command, agree *consent) {
	cmd.Flags().VarPF(agree, "agree", "y", "agree to every step, also those that interrupt somebody (also --auto-approve)").NoOptDefVal = "true"
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "auto-approve" {
			name = "agree"
		}
		return pflag.NormalizedName(name)
	})
}

func (a *app) runApply(ctx context.Context, r applyRequest) (err error) {
	loaded, err := a.load(ctx, r.source)
	if err != nil {
		return err
	}
	return a.writing(ctx, "apply", func(e *engine, where state) error {
		return a.applyFiles(ctx, e, where, loaded, r)
	})
}

// applyFiles plans, shows, asks, remembers what it is about to do, does it, and
// remembers what came of it.
func (a *app) applyFiles(ctx context.Context, e *engine, where state, loaded *manifest.Loaded, r applyRequest) error {
	keys, pass, err := a.prepare(ctx, e, loaded, request{source: r.source, prune: a.pruningNow(r)})
	if err != nil {
		return err
	}
	c := conclusion{all: e.gateways(keys), planned: pass, format: r.format, source: r.source, bad: bad(loaded)}
	if screen, ok := a.planScreen(r, pass); ok {
		if err := a.showPlan(screen, proposal{c.all, pass, e.strays}); err != nil {
			return err
		}
	}
	agreed, kept, err := a.agreed(ctx, e, keys, pass, r.agree)
	if err != nil {
		return err
	}
	c.kept = kept.with(e.spared)
	if err := a.intend(e, where, c.all, agreed); err != nil {
		return err
	}
	c.pass = a.carryOut(ctx, e, agreed)
	return a.conclude(e, where, c)
}

// planScreen is where the plan is shown. Whoever is asked has seen it, whatever
// the output is for.
func (a *app) planScreen(r applyRequest, pass reconcile.Pass) (term.Screen, bool) {
	if r.format.forPeople() {
		return a.out, true
	}
	pass, _ = withoutPlanOnly(pass)
	return a.err, a.interactive() && !bool(r.agree) && len(delicate(pass)) > 0
}

// pruningNow removes nothing that nobody can be asked about: a gateway is removed
// whole or not at all.
func (a *app) pruningNow(r applyRequest) prune {
	switch {
	case !r.prune:
		return ignore
	case bool(r.agree) || a.interactive():
		return remove
	default:
		return spare
	}
}

// writing runs a command that changes things: alone, with the accounts open.
func (a *app) writing(ctx context.Context, name string, do func(*engine, state) error) (err error) {
	where, err := a.state()
	if err != nil {
		return err
	}
	unlock, err := where.lock(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	record, err := where.record()
	if err != nil {
		return err
	}
	e, err := a.open(ctx, Options{StateDir: where.dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	e.record = record
	err = do(e, where)
	return errors.Join(err, where.keepRoots(a.flags.cluster, e.fetched))
}

// keptBack is what was planned and is not done, a line each.
type keptBack struct {
	unagreed []string // --agree does them
	firm     []string // they stay undone, whatever anybody agrees to
}

func (k keptBack) with(spared keptBack) keptBack {
	return keptBack{append(k.unagreed, spared.unagreed...), append(k.firm, spared.firm...)}
}

func (k keptBack) all() []string { return append(slices.Clone(k.firm), k.unagreed...) }

// agreed takes out of a pass what nobody agrees to, and says what that is.
func (a *app) agreed(ctx context.Context, e *engine, keys []translate.Key, pass reconcile.Pass, given consent) (reconcile.Pass, keptBack, error) {
	pass, firm := withoutPlanOnly(pass)
	kept := keptBack{firm: firm}
	delicate := delicate(pass)
	if len(delicate) == 0 || bool(given) {
		return pass, kept, nil
	}
	if a.interactive() {
		yes, err := a.ask(fmt.Sprintf("Do it? %s your agreement.", needs(len(delicate))))
		switch {
		case err != nil:
			return reconcile.Pass{}, kept, err
		case !yes:
			return reconcile.Pass{}, kept, errors.New("nothing was done: you did not agree")
		}
		return pass, kept, nil
	}
	careful, err := e.loop.Plan(ctx, keys, lbmodel.HoldDisruptive)
	careful, _ = withoutPlanOnly(careful)
	careful.Groups = slices.DeleteFunc(careful.Groups, func(g reconcile.Group) bool { return g.Apply == v1alpha1.ApplyApprove })
	kept.unagreed = delicate
	return careful, kept, err
}

func needs(n int) string {
	if n == 1 {
		return "1 step needs"
	}
	return fmt.Sprintf("%d steps need", n)
}

func countOf(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// withoutPlanOnly drops the plans that are only for reading.
func withoutPlanOnly(pass reconcile.Pass) (reconcile.Pass, []string) {
	var out reconcile.Pass
	var held []string
	for _, g := range pass.Groups {
		if g.Apply != v1alpha1.ApplyPlanOnly {
			out.Groups = append(out.Groups, g)
			continue
		}
		for _, s := range g.Plan.Steps {
			held = append(held, s.ID.String()+": its gateway is PlanOnly")
		}
	}
	return out, held
}

// delicate are the steps that somebody must agree to, each with its reason.
func delicate(pass reconcile.Pass) []string {
	var out []string
	for _, g := range pass.Groups {
		for _, s := range g.Plan.Steps {
			switch {
			case s.Impact != "":
				out = append(out, s.ID.String()+": "+s.Impact)
			case g.Apply == v1alpha1.ApplyApprove:
				out = append(out, s.ID.String()+": its gateway wants approval")
			}
		}
	}
	return out
}

// interactive says whether there is a person to ask.
func (a *app) interactive() bool {
	file, ok := a.env.In.(*os.File)
	return ok && xterm.IsTerminal(int(file.Fd()))
}

// ask asks, and takes nothing but a full yes for one. It asks where the person is,
// wherever the output goes.
func (a *app) ask(question string) (bool, error) {
	var to io.Writer = a.err
	if tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
		defer tty.Close() //nolint:errcheck // a prompt that is not seen is not answered
		to = tty
	}
	if _, err := fmt.Fprintf(to, "\n%s\n  Only 'yes' is taken for one: ", a.err.Paint(term.Bold, question)); err != nil {
		return false, fmt.Errorf("asking you: %w", err)
	}
	answer, err := bufio.NewReader(a.env.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("reading your answer: %w", err)
	}
	return strings.TrimSpace(answer) == "yes", nil
}

// carryOut applies with a line of progress. A pass without steps is run too: it
// makes no call, and says what waits.
func (a *app) carryOut(ctx context.Context, e *engine, pass reconcile.Pass) reconcile.Pass {
	line := term.NewProgress(a.err, "")
	defer line.Stop()
	show := progress(line, len(pass.Plan().Steps))
	return e.loop.Apply(ctx, pass, func(event providers.Event) {
		a.logEvent(event)
		show(event)
	})
}

func (a *app) logEvent(e providers.Event) {
	about := a.log.With("step", e.Step.Verb, "id", e.Step.ID.String())
	if e.Err != nil {
		about = about.With("err", e.Err)
	}
	about.Info(strings.ToLower(fmt.Sprint(e.What)))
}

// conclusion is what a command that changed things has to tell.
type conclusion struct {
	all     []reconcile.Gateway
	planned reconcile.Pass
	pass    reconcile.Pass // the part of it that was agreed to, with its outcome
	kept    keptBack
	format  format
	source  source
	bad     badness
}

// partial says whether less was done than the files ask for.
func (c conclusion) partial() bool {
	skipped := slices.ContainsFunc(c.all, func(g reconcile.Gateway) bool { return !g.Planned() })
	return skipped || bool(c.bad) || !c.pass.Settled() || len(c.kept.all()) > 0
}

// intend remembers, before the first call, whose resources there will be and
// which of them are protected: a process that dies in the middle leaves its
// successor the same knowledge.
func (a *app) intend(e *engine, where state, all []reconcile.Gateway, pass reconcile.Pass) error {
	if pass.Empty() {
		return nil
	}
	e.record.intend(time.Now(), e, all, pass)
	if err := where.save(recordFile, e.record); err != nil {
		return fmt.Errorf("nothing was done: %w", err)
	}
	return nil
}

// conclude prints and saves what came of a pass.
func (a *app) conclude(e *engine, where state, c conclusion) error {
	now := time.Now()
	statuses, err := statusesOf(append(e.loop.Statuses(c.planned, c.pass, now), e.bindingStatuses(c, now)...), e.record.Statuses)
	if err != nil {
		return err
	}
	e.record.note(now, e, c.all, c.pass)
	e.record.noteStatuses(statuses)
	a.printKept(c.kept)
	if c.format.forPeople() {
		a.printOutcome(c)
		a.printAddresses(e, c)
		a.printUnserved(e, c)
	} else if err := writeData(a.out, c.format.value, statuses); err != nil {
		return err
	}
	if err := where.save(recordFile, e.record); err != nil {
		return fmt.Errorf("%w; what was applied stays, and the next apply goes on from here", err)
	}
	if c.partial() {
		return exit(exitPartial)
	}
	return nil
}
