package cli

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

func (a *app) plan() *cobra.Command {
	var s source
	var out string
	var prune bool
	f := format{value: "text", choices: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "plan -f FILE|DIR|-",
		Short: "Show what apply would do, and why",
		Long: `Compares what the manifests ask for with what is there, and changes nothing.

The exit code is 0 when there is nothing to do, 2 when there is, and 1 for an error.
Equal files and an equal cloud give an equal plan, in whatever order documents
stand.`,
		Example: "  gatehouse plan -f examples/shop\n  gatehouse plan -f shop.yaml -o json | jq .summary",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runPlan(cmd.Context(), planRequest{source: s, prune: prune, format: f, out: out})
		},
	}
	s.addTo(cmd)
	s.onlyGateways(cmd)
	cmd.Flags().VarP(&f, "output", "o", "how to print it")
	cmd.Flags().BoolVar(&prune, "prune", false, "also plan to remove the cluster's other gateways")
	cmd.Flags().StringVar(&out, "out", "", "also write the plan as JSON into this file")
	return cmd
}

type planRequest struct {
	source
	prune  bool
	format format
	out    string
}

func (a *app) runPlan(ctx context.Context, r planRequest) (err error) {
	where, err := a.state()
	if err != nil {
		return err
	}
	loaded, err := a.load(ctx, r.source)
	if err != nil {
		return err
	}
	o := Options{ReadOnly: true, StateDir: where.dir}
	if !where.exists() {
		o.StateDir = "" // nothing was ever applied: an empty cloud in memory is the same
	}
	e, err := a.open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	if e.record, err = where.record(); err != nil {
		return err
	}
	keys, pass, err := a.prepare(ctx, e, loaded, request{source: r.source, prune: pruning(r.prune)})
	if err != nil {
		return err
	}
	if err := a.showPlan(r, e.gateways(keys), pass); err != nil {
		return err
	}
	if !pass.Empty() {
		return exit(exitChanges)
	}
	return nil
}

// request is what a pass is to be about.
type request struct {
	source
	prune prune
}

// prune is what becomes of the cluster's gateways that no file names.
type prune uint8

// The choices. Spare removes none and says which it would be.
const (
	ignore prune = iota
	spare
	remove
)

// pruning is what --prune means in a plan.
func pruning(asked bool) prune { return map[bool]prune{true: remove}[asked] }

// prepare makes the plan for the chosen gateways, and for those to be pruned.
func (a *app) prepare(ctx context.Context, e *engine, loaded *manifest.Loaded, r request) ([]translate.Key, reconcile.Pass, error) {
	e.take(loaded, a.translateOptions())
	keys, err := a.chosen(e.loop.Index(), loaded.Snapshot, r.gateways)
	if nothing := r.prune != ignore && len(loaded.Snapshot.Gateways) == 0; err != nil && !nothing {
		return nil, reconcile.Pass{}, err
	}
	if r.prune != ignore {
		if err := a.pruneStrangers(ctx, e, loaded, r.prune); err != nil {
			return nil, reconcile.Pass{}, err
		}
	}
	wait := term.NewProgress(a.err, "looking at what is there")
	defer wait.Stop()
	pass, err := e.loop.Plan(ctx, keys)
	return keys, pass, err
}

// pruneStrangers marks what --prune removes: gateways of the cluster that no file
// names. With something missing from the files, nobody is a stranger.
func (a *app) pruneStrangers(ctx context.Context, e *engine, loaded *manifest.Loaded, how prune) error {
	if loaded.Incomplete {
		return errors.New("--prune needs complete files: repair or remove what is bad (listed above), or leave --prune out")
	}
	strangers, err := e.loop.Strangers(ctx)
	if err != nil {
		return err
	}
	for _, provider := range slices.Sorted(maps.Keys(strangers)) {
		for _, owner := range strangers[provider] {
			if err := a.pruneOne(e, provider, owner, how); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) pruneOne(e *engine, provider string, owner lbmodel.Owner, how prune) error {
	kept := e.record.kept(owner)
	switch {
	case kept != "":
		a.err.Printf("%s stays: its deletion policy is %s\n", owner, kept)
		return nil
	case how == spare:
		e.spared = append(e.spared, fmt.Sprintf("%s: would be removed with all that is its", owner))
		return nil
	default:
		return e.loop.Drop(provider, owner)
	}
}

// showPlan prints findings, then the plan.
func (a *app) showPlan(r planRequest, all []reconcile.Gateway, pass reconcile.Pass) error {
	if r.out != "" {
		if err := writePlan(r.out, pass.Plan()); err != nil {
			return err
		}
	}
	if r.format.value == "json" {
		return writeData(a.out, "json", pass.Plan())
	}
	printFindings(a.out, append(findingsOf(all), pass.Findings()...))
	a.printSkipped(all)
	if err := lbmodel.PrintPlan(a.out, pass.Plan(), a.planStyle()); err != nil {
		return err
	}
	a.printModes(all, pass)
	return nil
}

func (a *app) planStyle() lbmodel.Style {
	if a.out.Painted() {
		return lbmodel.ANSI
	}
	return lbmodel.Plain
}

func (a *app) printSkipped(all []reconcile.Gateway) {
	for _, g := range all {
		if g.Result.Skip != "" {
			a.out.Printf("%s %s is left as it is: %s\n\n", a.out.Paint(term.Yellow, "!"), g.Key, g.Result.Skip)
		}
	}
}

// printModes says which gateways apply will not touch by itself.
func (a *app) printModes(all []reconcile.Gateway, pass reconcile.Pass) {
	if pass.Empty() {
		return
	}
	for _, g := range all {
		switch g.Result.Parameters.Apply {
		case v1alpha1.ApplyPlanOnly:
			a.out.Printf("%s is PlanOnly: apply does none of this.\n", g.Key)
		case v1alpha1.ApplyApprove:
			a.out.Printf("%s wants approval: apply asks, or needs --agree.\n", g.Key)
		}
	}
}

func writePlan(path string, p lbmodel.Plan) error {
	text, err := json.Marshal(p, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return nil
}
