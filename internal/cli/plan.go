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
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

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
	f := readable()
	cmd := &cobra.Command{
		Use:   "plan -f FILE|DIR|-",
		Short: "Show what apply would do, and why",
		Long: `Compares what the manifests ask for with what is there, and changes nothing.

The exit code is 0 when there is nothing to do, 2 when there is, and 1 for an error,
also for a document that could not be read: the plan for the rest is shown. Equal files and
an equal cloud give an equal plan, in whatever order documents stand.`,
		Example: "  gatehouse plan -f examples/shop\n  gatehouse plan -f shop.yaml -o json | jq .summary",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runPlan(cmd.Context(), planRequest{source: s, prune: prune, format: f, out: out})
		},
	}
	s.addTo(cmd)
	a.onlyGateways(cmd, &s)
	f.addTo(cmd, "how to print it")
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
	if err := a.outputPlan(r, proposal{e.gateways(keys), pass, e.strays}); err != nil {
		return err
	}
	a.printKept(e.spared)
	switch {
	case bool(bad(loaded)):
		return exit(exitError)
	case !pass.Empty() || waiting(pass) || len(e.spared.all()) > 0:
		return exit(exitChanges)
	}
	return nil
}

// waiting says whether something that is wanted cannot be done now: the cloud is
// not what the files ask for.
func waiting(pass reconcile.Pass) bool {
	return slices.ContainsFunc(pass.Plan().Later, lbmodel.Wait.Unmet)
}

// outputPlan writes the plan as it was asked for.
func (a *app) outputPlan(r planRequest, p proposal) error {
	if r.out != "" {
		if err := writePlan(r.out, p.pass.Plan()); err != nil {
			return err
		}
	}
	if !r.format.forPeople() {
		return writeData(a.out, r.format.value, p.pass.Plan())
	}
	return a.showPlan(a.out, p)
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
	options, err := a.translateOptions(r.source)
	if err != nil {
		return nil, reconcile.Pass{}, err
	}
	loaded.Snapshot.Bundles, e.fetched = a.bundles(ctx, translate.New(loaded.Snapshot, options))
	if err := e.take(ctx, loaded, options); err != nil {
		return nil, reconcile.Pass{}, err
	}
	keys, err := a.chosen(e.loop.Index(), loaded.Snapshot, r.gateways)
	if err != nil && r.prune != ignore && len(e.loop.Index().Gateways()) == 0 {
		err = fmt.Errorf("%w; --prune would remove everything of cluster %s: use destroy for that", err, a.flags.cluster)
	}
	if err != nil {
		return nil, reconcile.Pass{}, err
	}
	if len(r.gateways) == 0 {
		e.strays = strays(loaded.Snapshot)
		e.unclassed(loaded.Snapshot)
	}
	if r.prune != ignore {
		if err := a.pruneStrangers(ctx, e, loaded, r.prune); err != nil {
			return nil, reconcile.Pass{}, err
		}
	}
	wait := term.NewProgress(a.err, "looking at what is there")
	defer wait.Stop()
	pass, err := e.loop.Plan(ctx, keys)
	e.strays = append(e.strays, bound(e.loop.Index(), e.gateways(keys), time.Now())...)
	e.strays = append(e.strays, unissued(e.gateways(keys), e.loop.Leaves, nobody)...)
	a.log.Info("planned", "gateways", len(keys), "steps", len(pass.Plan().Steps), "waits", len(pass.Plan().Later))
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
			if holds(loaded.Snapshot, owner) && !e.serves(owner) {
				e.spare(owner)
				continue
			}
			if err := a.pruneOne(e, provider, owner, how); err != nil {
				return err
			}
		}
	}
	return nil
}

// holds says whether the files hold a Gateway, or a Service of type LoadBalancer,
// of an owner's name, whatever its class.
func holds(s translate.Snapshot, owner lbmodel.Owner) bool {
	if owner.Kind == translate.KindService {
		return slices.ContainsFunc(s.Services, func(svc *corev1.Service) bool {
			return svc.Namespace == owner.Namespace && svc.Name == owner.Name && svc.Spec.Type == corev1.ServiceTypeLoadBalancer
		})
	}
	return slices.ContainsFunc(s.Gateways, func(g *gwv1.Gateway) bool {
		return g.Namespace == owner.Namespace && g.Name == owner.Name
	})
}

func (a *app) pruneOne(e *engine, provider string, owner lbmodel.Owner, how prune) error {
	kept := e.record.kept(owner)
	switch {
	case kept != "":
		a.err.Printf("%s stays: its deletion policy is %s\n", owner, kept)
		return nil
	case how == spare:
		e.spared.unagreed = append(e.spared.unagreed, fmt.Sprintf("%s: would be removed with all that is its", owner))
		return nil
	default:
		return e.loop.Drop(provider, owner)
	}
}

// proposal is a plan with what a reader must know beside it.
type proposal struct {
	all    []reconcile.Gateway
	pass   reconcile.Pass
	strays []lbmodel.Finding // about objects that no gateway of the files has
}

// showPlan prints findings, then the plan.
func (a *app) showPlan(to term.Screen, p proposal) error {
	printFindings(to, slices.Concat(findingsOf(p.all), p.pass.Findings(), p.strays))
	printSkipped(to, p.all)
	if left := leftAlone(p.all); len(left) > 0 && p.pass.Empty() && len(p.pass.Plan().Later) == 0 {
		to.Printf("No changes. %s left as it is (see above).\n", strings.Join(left, ", "))
		return nil
	}
	if err := lbmodel.PrintPlan(to, p.pass.Plan(), planStyle(to)); err != nil {
		return err
	}
	printModes(to, p)
	return nil
}

func planStyle(to term.Screen) lbmodel.Style {
	if to.Painted() {
		return lbmodel.ANSI
	}
	return lbmodel.Plain
}

// leftAlone are the gateways that nothing may be planned for.
func leftAlone(all []reconcile.Gateway) []string {
	var out []string
	for _, g := range all {
		if !g.Planned() {
			out = append(out, keyName(g.Key))
		}
	}
	return out
}

func printSkipped(to term.Screen, all []reconcile.Gateway) {
	for _, g := range all {
		if g.Result.Skip != "" {
			to.Printf("%s %s is left as it is: %s\n\n", to.Paint(term.Yellow, "!"), g.Key, g.Result.Skip)
		}
	}
}

// printModes says which gateways apply will not touch by itself.
func printModes(to term.Screen, p proposal) {
	if p.pass.Empty() {
		return
	}
	for _, g := range p.all {
		switch g.Result.Parameters.Apply {
		case v1alpha1.ApplyPlanOnly:
			to.Printf("%s is PlanOnly: apply does none of this.\n", g.Key)
		case v1alpha1.ApplyApprove:
			to.Printf("%s wants approval: apply asks, or needs --agree.\n", g.Key)
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
