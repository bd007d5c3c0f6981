package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

type destroyRequest struct {
	source
	names  []string
	agree  consent
	format format
}

func (a *app) destroy() *cobra.Command {
	r := destroyRequest{format: readable()}
	cmd := &cobra.Command{
		Use:   "destroy -f FILE|DIR|- | [Gateway/]NAMESPACE/NAME … | Service/NAMESPACE/NAME …",
		Short: "Remove gateways and all that is theirs",
		Long: `Removes the load balancers of the gateways in the files, or of those that are named.
What other gateways share stays. It asks first; where nobody can be asked, it needs
--agree. Gateways whose deletion policy is Retain or Protect are refused. A gateway
that is named and has nothing here is an error; one in the files is not, so that a
destroy can be repeated.`,
		Example: "  gatehouse destroy -f examples/shop\n  gatehouse destroy edge/shop --agree",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.names = args
			if (len(args) == 0) == (len(r.paths) == 0) {
				return usagef("say what to destroy: files with -f, or names as namespace/name, and not both")
			}
			return a.runDestroy(cmd.Context(), r)
		},
	}
	r.addTo(cmd)
	addAgree(cmd, &r.agree)
	r.format.addTo(cmd, "how to print the statuses that are left")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.appliedNames(args), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func (a *app) runDestroy(ctx context.Context, r destroyRequest) error {
	return a.writing(ctx, "destroy", func(e *engine, where state) error {
		all, err := a.doomed(ctx, e, r)
		if err != nil {
			return err
		}
		for _, d := range all {
			if kept := e.record.kept(d.owner); kept != "" {
				return fmt.Errorf("nothing was done: %s may not be destroyed, its deletion policy is %s; apply it with deletion: Delete first", d.owner, kept)
			}
			if err := e.loop.Drop(d.provider, d.owner); err != nil {
				return err
			}
		}
		pass, err := e.loop.Plan(ctx, nil)
		if err != nil {
			return err
		}
		if err := a.confirmDestroy(pass, r); err != nil {
			return err
		}
		if err := a.intend(e, where, nil, pass); err != nil {
			return err
		}
		return a.conclude(e, where, conclusion{pass: a.carryOut(ctx, e, pass), format: r.format})
	})
}

func (a *app) confirmDestroy(pass reconcile.Pass, r destroyRequest) error {
	to := a.out
	if !r.format.forPeople() {
		to = a.err
	}
	if err := lbmodel.PrintPlan(to, pass.Plan(), planStyle(to)); err != nil {
		return err
	}
	if pass.Empty() || bool(r.agree) {
		return nil
	}
	if !a.interactive() {
		return errors.New("nothing was done: destroying needs agreement, and there is no terminal to ask on; --agree gives it")
	}
	yes, err := a.ask("Destroy all of this?")
	if err == nil && !yes {
		err = errors.New("nothing was done: you did not agree")
	}
	return err
}

type doomed struct {
	provider string
	owner    lbmodel.Owner
}

// doomed finds the owners among what is live in the clouds. The loop has no
// objects, so that nothing is wanted.
func (a *app) doomed(ctx context.Context, e *engine, r destroyRequest) ([]doomed, error) {
	names, protected, err := a.namesToDestroy(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(protected) > 0 {
		return nil, fmt.Errorf("nothing was done: %s has a deletion policy that forbids it; apply it with deletion: Delete first", strings.Join(protected, ", "))
	}
	options, err := a.translateOptions(r.source)
	if err != nil {
		return nil, err
	}
	if err := e.need(ctx, translate.Snapshot{}); err != nil {
		return nil, err
	}
	ask := func() (map[string][]lbmodel.Owner, error) {
		e.loop = reconcile.New(translate.New(translate.Snapshot{Cluster: a.flags.cluster}, options), e.accounts)
		return e.loop.Strangers(ctx)
	}
	live, err := ask()
	unknown := func(name string) bool { return len(ownersNamed(live, name)) == 0 }
	if err == nil && len(r.names) > 0 && slices.ContainsFunc(names, unknown) && e.reachRest(ctx) {
		live, err = ask()
	}
	if err != nil {
		return nil, err
	}
	var out []doomed
	for _, name := range names {
		found := ownersNamed(live, name)
		if len(found) == 0 && len(r.names) > 0 {
			return nil, fmt.Errorf("nothing was done: there is no %s in cluster %s; gatehouse get --live lists those there are", fullName(name), a.flags.cluster)
		}
		if len(found) == 0 {
			a.err.Printf("%s %s has nothing in cluster %s.\n", a.err.Paint(term.Yellow, "!"), fullName(name), a.flags.cluster)
		}
		out = append(out, found...)
	}
	return out, nil
}

// ownersNamed are the live owners of a name: more than one, where a Gateway was
// made again under it.
func ownersNamed(live map[string][]lbmodel.Owner, name string) []doomed {
	var out []doomed
	for _, provider := range slices.Sorted(maps.Keys(live)) {
		for _, owner := range live[provider] {
			if ownerName(owner) == name {
				out = append(out, doomed{provider, owner})
			}
		}
	}
	return out
}

// namesToDestroy are namespace/name, from the command line or from files; and
// those among the files' that their parameters protect.
func (a *app) namesToDestroy(ctx context.Context, r destroyRequest) (names, protected []string, err error) {
	if len(r.paths) == 0 {
		for _, name := range r.names {
			name = strings.TrimPrefix(name, "Gateway/")
			if !isName(name) {
				return nil, nil, usagef("%q: want namespace/name, or Service/namespace/name", name)
			}
			names = append(names, name)
		}
		return names, nil, nil
	}
	read, err := a.read(ctx, r.source)
	if err == nil && bool(read.bad) {
		err = errors.New("nothing was done: what could not be read (listed above) may protect a gateway; repair it, or name the gateways as namespace/name")
	}
	for _, g := range read.gateways {
		name := keyName(g.Key)
		names = append(names, name)
		if slices.Contains([]lbmodel.Deletion{lbmodel.DeletionRetain, lbmodel.DeletionProtect}, g.Result.Gateway.Deletion) {
			protected = append(protected, name)
		}
	}
	return names, protected, err
}
