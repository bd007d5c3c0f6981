package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/cli/cluster"
	"gatehouse.dev/internal/cli/term"
)

// clusterFlags are those of commands that ask a cluster.
type clusterFlags struct {
	access    cluster.Access
	namespace string
}

func (a *app) addCluster(cmd *cobra.Command, c *clusterFlags) {
	f := cmd.Flags()
	f.StringVar(&c.access.Kubeconfig, "kubeconfig", "", "kubeconfig to read ($KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&c.access.Context, "context", "", "context of the kubeconfig (its current one)")
	f.StringVarP(&c.namespace, "namespace", "n", "", "namespace")
	complete(cmd, "context", func([]string) []string { return cluster.Contexts(c.access) })
	complete(cmd, "namespace", func([]string) []string {
		var out []string
		for _, p := range planNames(cmd.Context(), clusterFlags{access: c.access}) {
			out = append(out, p.Namespace)
		}
		slices.Sort(out)
		return slices.Compact(out)
	})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var out []string
		if len(args) == 0 {
			for _, p := range planNames(cmd.Context(), *c) {
				out = append(out, c.spell(p))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completionPatience is how long a person waits for the Tab key.
const completionPatience = 2 * time.Second

// planNames are the plans that wait: a completion has nowhere to complain.
func planNames(ctx context.Context, c clusterFlags) []cluster.Ref {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	open, err := cluster.Open(c.access)
	if err != nil {
		return nil
	}
	plans, err := open.Plans(ctx, c.namespace)
	if err != nil {
		return nil
	}
	var out []cluster.Ref
	for _, p := range waitingPlans(plans) {
		out = append(out, cluster.RefOf(&p))
	}
	return out
}

// spell is a name as a person types it: without the namespace where -n says it.
func (c clusterFlags) spell(of cluster.Ref) string {
	switch {
	case c.namespace == "":
		return spelled(of)
	case of.Kind == cluster.Service:
		return servicePrefix + of.Name
	default:
		return of.Name
	}
}

// name reads what [splitName] does, of a Gateway unless it says another kind.
func (c clusterFlags) name(arg, otherwise string) (cluster.Ref, error) {
	kind, namespace, name, ok := splitName(arg)
	switch {
	case !ok:
		return cluster.Ref{}, usagef("%q: want NAME or NAMESPACE/NAME of a Gateway, or service/NAME or service/NAMESPACE/NAME", arg)
	case c.namespace != "" && namespace != "" && c.namespace != namespace:
		return cluster.Ref{}, usagef("%q is not in namespace %s, which -n names", arg, c.namespace)
	default:
		return cluster.Ref{
			Kind:           cmp.Or(kind, cluster.Gateway),
			NamespacedName: types.NamespacedName{Namespace: cmp.Or(namespace, c.namespace, otherwise), Name: name},
		}, nil
	}
}

func (a *app) plans() *cobra.Command {
	var c clusterFlags
	f := readable()
	cmd := &cobra.Command{
		Use:   "plans [NAME]",
		Short: "Show what waits for approval in a cluster",
		Long: `Lists the plans of a cluster's Gateways and Services that wait for somebody to approve
them, of all namespaces or of one. With a name that plan is shown as plan shows one. A
Gateway is NAME or NAMESPACE/NAME, a Service service/NAME or service/NAMESPACE/NAME.`,
		Example: "  gatehouse plans\n  gatehouse plans shop -n edge\n  gatehouse plans service/quiz -n games\n  gatehouse plans edge/shop -o json | jq -r .status.plan.hash",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			open, err := cluster.Open(c.access)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.listPlans(cmd.Context(), open, c, f)
			}
			name, err := c.name(args[0], open.Namespace)
			if err != nil {
				return err
			}
			return a.showWaiting(cmd.Context(), open, name, f)
		},
	}
	a.addCluster(cmd, &c)
	f.addTo(cmd, "how to print it")
	return cmd
}

func (a *app) listPlans(ctx context.Context, open *cluster.Cluster, c clusterFlags, f format) error {
	all, err := open.Plans(ctx, c.namespace)
	if err != nil {
		return err
	}
	waiting := waitingPlans(all)
	if !f.forPeople() {
		return writeData(a.out, f.value, waiting)
	}
	if len(waiting) == 0 {
		a.out.Println("No plan waits for approval.")
		return nil
	}
	t := term.Table{Header: []string{"namespace", "name", "add", "change", "destroy", "approved", "age"}}
	for _, p := range waiting {
		said, paint := approvedOf(p)
		n := p.Status.Plan
		t.Cells(term.Cell{Text: p.Namespace}, term.Cell{Text: clusterFlags{namespace: p.Namespace}.spell(cluster.RefOf(&p)), Paint: term.Bold},
			term.Cell{Text: count32(n.Add), Paint: term.Green}, term.Cell{Text: count32(n.Change), Paint: term.Yellow}, term.Cell{Text: count32(n.Destroy), Paint: term.Red},
			term.Cell{Text: said, Paint: paint}, term.Cell{Text: age(waitingSince(p), time.Now())})
	}
	t.Print(a.out, "")
	return nil
}

func count32(n int32) string { return strconv.Itoa(int(n)) }

// waitingPlans are those that show something to approve, by name.
func waitingPlans(all []v1alpha1.GatewayPlan) []v1alpha1.GatewayPlan {
	out := slices.DeleteFunc(slices.Clone(all), func(p v1alpha1.GatewayPlan) bool { return p.Status.Plan == nil })
	slices.SortFunc(out, func(a, b v1alpha1.GatewayPlan) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// The conditions of a GatewayPlan.
const (
	planApproved = "Approved"
	planOnly     = "PlanOnly" // a reason of it
)

// approvedOf is what the list says of a plan's approval.
func approvedOf(p v1alpha1.GatewayPlan) (string, term.Paint) {
	c := meta.FindStatusCondition(p.Status.Conditions, planApproved)
	switch {
	case c != nil && c.Reason == planOnly:
		return "plan only", term.Dim
	case p.Spec.Approve == p.Status.Plan.Hash:
		return "yes", term.Green
	case p.Spec.Approve != "":
		return "no, it changed", term.Yellow
	default:
		return "no", term.Yellow
	}
}

// waitingSince is when a plan came to wait: the object may be older.
func waitingSince(p v1alpha1.GatewayPlan) time.Time {
	c := meta.FindStatusCondition(p.Status.Conditions, planApproved)
	if c != nil && c.Status == metav1.ConditionFalse {
		return c.LastTransitionTime.Time
	}
	return p.CreationTimestamp.Time
}

// age is the time since then in one unit.
func age(since, now time.Time) string {
	switch d := now.Sub(since); {
	case since.IsZero():
		return "-"
	case d < time.Minute:
		return strconv.Itoa(int(max(d, 0)/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	default:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
}

func (a *app) showWaiting(ctx context.Context, open *cluster.Cluster, name cluster.Ref, f format) error {
	plan, err := open.Plan(ctx, name)
	if err != nil {
		return err
	}
	if !f.forPeople() {
		return writeData(a.out, f.value, plan)
	}
	a.printWaiting(plan)
	return nil
}

// printWaiting writes a plan and how its approval stands.
func (a *app) printWaiting(p *v1alpha1.GatewayPlan) {
	if p.Status.Plan == nil {
		a.out.Printf("Nothing of %s waits for approval.\n", cluster.RefOf(p))
	} else {
		a.out.Printf("%s\n", visible(p.Status.Plan.Text))
		a.out.Printf("Hash: %s\n", visible(p.Status.Plan.Hash))
	}
	a.printConditions("", p.Status.Conditions)
}

// visible escapes what a terminal could act upon: the text came over a network.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, text)
}

// errNothingWaits is that there is nothing to approve.
var errNothingWaits = errors.New("nothing waits for approval")
