package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/cli/cluster"
	"gatehouse.dev/internal/cli/term"
)

type approveRequest struct {
	clusterFlags
	name cluster.Ref
	hash string
	yes  bool
}

func (a *app) approve() *cobra.Command {
	var r approveRequest
	cmd := &cobra.Command{
		Use:   "approve NAME",
		Short: "Approve what a gateway's plan shows",
		Long: `Shows the plan that a Gateway or a Service of a cluster waits with, asks, and approves
exactly that plan: one that changes meanwhile stays unapproved. Where nobody can be asked
it needs --yes, or the hash of the plan that was read before. A Gateway is NAME or
NAMESPACE/NAME, a Service service/NAME or service/NAMESPACE/NAME.`,
		Example: "  gatehouse approve shop -n edge\n  gatehouse approve service/quiz -n games\n  gatehouse approve edge/shop --hash \"$(gatehouse plans edge/shop -o json | jq -r .status.plan.hash)\"",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			open, err := cluster.Open(r.access)
			if err != nil {
				return err
			}
			if r.name, err = r.clusterFlags.name(args[0], open.Namespace); err != nil {
				return err
			}
			return a.runApprove(cmd.Context(), open, r)
		},
	}
	a.addCluster(cmd, &r.clusterFlags)
	cmd.Flags().BoolVar(&r.yes, "yes", false, "do not ask")
	cmd.Flags().StringVar(&r.hash, "hash", "", "approve this plan only, and do not ask")
	return cmd
}

func (a *app) runApprove(ctx context.Context, open *cluster.Cluster, r approveRequest) error {
	plan, err := open.Plan(ctx, r.name)
	if err != nil {
		return err
	}
	if err := approvable(plan, r.hash); err != nil {
		return fmt.Errorf("nothing was approved: %w", err)
	}
	if plan.Spec.Approve == plan.Status.Plan.Hash {
		a.out.Printf("%s is approved already.\n", spelled(r.name))
		return nil
	}
	if err := a.confirmApproval(plan, r); err != nil {
		return err
	}
	err = open.Approve(ctx, plan)
	if errors.Is(err, cluster.ErrChanged) {
		return fmt.Errorf("nothing was approved: %w; read it again", err)
	}
	if err != nil {
		return err
	}
	a.out.Printf("%s %s approved.\n", a.out.Paint(term.Green, "✓"), spelled(r.name))
	return nil
}

// approvable says what speaks against approving a plan.
func approvable(p *v1alpha1.GatewayPlan, hash string) error {
	c := meta.FindStatusCondition(p.Status.Conditions, planApproved)
	switch {
	case p.Status.Plan == nil:
		return errNothingWaits
	case c != nil && c.Reason == planOnly:
		return errors.New("the parameters say PlanOnly: nothing of it is ever done")
	case hash != "" && hash != p.Status.Plan.Hash:
		return fmt.Errorf("%w: its hash is %s now", cluster.ErrChanged, visible(p.Status.Plan.Hash))
	default:
		return nil
	}
}

// confirmApproval shows the plan, and asks unless that was done beforehand.
func (a *app) confirmApproval(p *v1alpha1.GatewayPlan, r approveRequest) error {
	if r.yes || r.hash != "" {
		return nil
	}
	a.out.Printf("%s", visible(p.Status.Plan.Text))
	if !a.interactive() {
		return errors.New("nothing was approved: there is no terminal to ask on; --yes or --hash approves without asking")
	}
	yes, err := a.ask("Approve this plan of " + r.name.String() + "?")
	if err == nil && !yes {
		err = errors.New("nothing was approved: you did not agree")
	}
	return err
}
