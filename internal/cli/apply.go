package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	xterm "golang.org/x/term"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

type applyRequest struct {
	source
	prune  bool
	agree  consent
	format format
}

// consent is what --agree says: whether everything is agreed to beforehand.
type consent bool

func (a *app) apply() *cobra.Command {
	r := applyRequest{format: format{value: "text", choices: []string{"text", "yaml", "json"}}}
	cmd := &cobra.Command{
		Use:   "apply -f FILE|DIR|-",
		Short: "Make the load balancers what the manifests ask for",
		Long: `Plans, and does the plan. Only the gateways in the files are touched; --prune also
removes other gateways of the same --cluster, if the files could be read whole.

Steps that interrupt somebody (the plan says how) and the removal of whole gateways
need agreement: it is asked for on a terminal. Elsewhere they are kept back, unless
--agree is given, and the rest is done. A command that is stopped, even by kill -9,
is finished by the next one.

The exit code is 0 when all is done, 3 when a part was: steps failed, wait, or were
kept back.`,
		Example: "  gatehouse apply -f examples/shop\n  gatehouse apply -f deploy/ --prune --agree --cluster prod",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runApply(cmd.Context(), r)
		},
	}
	r.addTo(cmd)
	r.onlyGateways(cmd)
	addAgree(cmd, &r.agree)
	cmd.Flags().BoolVar(&r.prune, "prune", false, "also remove the cluster's other gateways")
	cmd.Flags().VarP(&r.format, "output", "o", "how to print the statuses")
	return cmd
}

// addAgree adds --agree, which also answers to the name that terraform users
// have in their fingers.
func addAgree(cmd *cobra.Command, agree *consent) {
	cmd.Flags().BoolVarP((*bool)(agree), "agree", "y", false, "agree to every step, also those that interrupt somebody (also --auto-approve)")
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
		keys, pass, err := a.prepare(ctx, e, loaded, request{source: r.source, prune: a.pruningNow(r)})
		if err != nil {
			return err
		}
		all := e.gateways(keys)
		if r.format.value == "text" {
			if err := a.showPlan(planRequest{format: r.format}, all, pass); err != nil {
				return err
			}
		}
		agreed, held, err := a.agreed(ctx, e, keys, pass, r.agree)
		if err != nil {
			return err
		}
		done := a.carryOut(ctx, e, agreed)
		return a.conclude(e, where, conclusion{all: all, planned: pass, pass: done, held: append(held, e.spared...), format: r.format})
	})
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
	return do(e, where)
}

// agreed takes out of a pass what nobody agrees to, and says what that is.
func (a *app) agreed(ctx context.Context, e *engine, keys []translate.Key, pass reconcile.Pass, given consent) (reconcile.Pass, []string, error) {
	pass, held := withoutPlanOnly(pass)
	delicate := delicate(pass)
	if len(delicate) == 0 || bool(given) {
		return pass, held, nil
	}
	if a.interactive() {
		yes, err := a.ask(fmt.Sprintf("Do it? %s your agreement.", needs(len(delicate))))
		switch {
		case err != nil:
			return reconcile.Pass{}, nil, err
		case !yes:
			return reconcile.Pass{}, nil, errors.New("nothing was done: you did not agree")
		}
		return pass, held, nil
	}
	careful, err := e.loop.Plan(ctx, keys, lbmodel.HoldDisruptive)
	careful, _ = withoutPlanOnly(careful)
	careful.Groups = slices.DeleteFunc(careful.Groups, func(g reconcile.Group) bool { return g.Apply == v1alpha1.ApplyApprove })
	return careful, append(held, delicate...), err
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

// carryOut applies with a line of progress.
func (a *app) carryOut(ctx context.Context, e *engine, pass reconcile.Pass) reconcile.Pass {
	if pass.Empty() {
		return pass
	}
	line := term.NewProgress(a.err, "")
	defer line.Stop()
	return e.loop.Apply(ctx, pass, progress(line, len(pass.Plan().Steps)))
}

// conclusion is what a command that changed things has to tell.
type conclusion struct {
	all     []reconcile.Gateway
	planned reconcile.Pass
	pass    reconcile.Pass // the part of it that was agreed to, with its outcome
	held    []string
	format  format
}

// conclude prints and saves what came of a pass.
func (a *app) conclude(e *engine, where state, c conclusion) error {
	now := time.Now()
	statuses, err := statusesOf(e.loop.Statuses(c.planned, c.pass, now))
	if err != nil {
		return err
	}
	r := e.record
	r.note(now, e, c.all, c.pass)
	r.noteStatuses(statuses)
	if c.format.value == "text" {
		a.printOutcome(c)
		a.printAddresses(e, c.all)
	} else if err := writeData(a.out, c.format.value, statuses); err != nil {
		return err
	}
	if err := where.save(recordFile, r); err != nil {
		return err
	}
	if skipped := slices.ContainsFunc(c.all, func(g reconcile.Gateway) bool { return !g.Planned() }); skipped || !c.pass.Settled() || len(c.held) > 0 {
		return exit(exitPartial)
	}
	return nil
}
