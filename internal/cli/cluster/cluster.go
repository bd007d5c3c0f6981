package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"gatehouse.dev/api/v1alpha1"
)

// Access says which cluster. Empty fields are what kubectl would take.
type Access struct {
	Kubeconfig string // a file; $KUBECONFIG, or ~/.kube/config, or the pod's own
	Context    string
}

// Cluster is an open way to one cluster.
type Cluster struct {
	// Namespace is the context's.
	Namespace string
	plans     rest.Interface
}

const resource = "gatewayplans"

// Open reads the kubeconfig. It makes no call.
func Open(a Access) (*Cluster, error) {
	config := config(a)
	settings, err := config.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("there is no cluster to ask: name a kubeconfig with --kubeconfig or KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, _, err := config.Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	client, err := clientOf(settings)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &Cluster{Namespace: namespace, plans: client}, nil
}

func config(a Access) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.Context})
}

// Namespace is that of a kubeconfig's context; "default" where there is no
// kubeconfig, or it says none.
func Namespace(a Access) (string, error) {
	namespace, _, err := config(a).Namespace()
	if clientcmd.IsEmptyConfig(err) {
		return metav1.NamespaceDefault, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return namespace, nil
}

// Contexts are the names of the contexts that a kubeconfig has.
func Contexts(a Access) []string {
	raw, err := config(a).RawConfig()
	if err != nil {
		return nil // a completion has nowhere to complain
	}
	var out []string
	for name := range raw.Contexts {
		out = append(out, name)
	}
	return out
}

// clientOf is a client of our own API group, in JSON: a custom resource speaks
// nothing else.
func clientOf(settings *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	settings = rest.CopyConfig(settings)
	settings.APIPath, settings.GroupVersion = "/apis", &v1alpha1.GroupVersion
	settings.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	settings.UserAgent = "gatehouse"
	return rest.RESTClientFor(settings)
}

// Plans are the GatewayPlans of a namespace; "" is of all.
func (c *Cluster) Plans(ctx context.Context, namespace string) ([]v1alpha1.GatewayPlan, error) {
	var list v1alpha1.GatewayPlanList
	err := c.plans.Get().NamespaceIfScoped(namespace, namespace != "").Resource(resource).Do(ctx).Into(&list)
	if err != nil {
		return nil, explained("listing the plans", err)
	}
	for i := range list.Items {
		slim(&list.Items[i])
	}
	return list.Items, nil
}

// Plan is that of a Gateway or a Service. The error tells one that is not there from
// one that has no plan.
func (c *Cluster) Plan(ctx context.Context, of Ref) (*v1alpha1.GatewayPlan, error) {
	doing := "reading the plan of " + of.String()
	plan, err := c.plan(ctx, of.planName())
	if missing(err) || err == nil && RefOf(plan) != of {
		return nil, fmt.Errorf("%s: %w", doing, c.without(ctx, of))
	}
	if err != nil {
		return nil, explained(doing, err)
	}
	return plan, nil
}

func (c *Cluster) plan(ctx context.Context, name types.NamespacedName) (*v1alpha1.GatewayPlan, error) {
	var plan v1alpha1.GatewayPlan
	if err := c.plans.Get().Namespace(name.Namespace).Resource(resource).Name(name.Name).Do(ctx).Into(&plan); err != nil {
		return nil, err
	}
	slim(&plan)
	return &plan, nil
}

// without says why something has no plan.
func (c *Cluster) without(ctx context.Context, of Ref) error {
	const who = "only one with something to approve, or with apply: Approve or PlanOnly, has a plan"
	err := c.plans.Get().AbsPath(of.path()).Do(ctx).Error()
	switch {
	case err == nil:
		return fmt.Errorf("there is none: %s", who)
	case missing(err):
		return fmt.Errorf("there is no such %s", of.Kind)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the cluster does not serve the kind %s", of.Kind)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("there is none: %s; you have no right to see whether there is such a %s", who, of.Kind)
	default:
		return fmt.Errorf("there is none, and whether there is such a %s is not known: %w", of.Kind, err)
	}
}

// slim leaves out what nobody reads, and says what it is: a client forgets that.
func slim(p *v1alpha1.GatewayPlan) {
	p.ManagedFields = nil
	p.APIVersion, p.Kind = v1alpha1.GroupVersion.String(), "GatewayPlan"
}

// conflicts is how often an approval is tried over somebody else's writes.
const conflicts = 5

// ErrChanged is that a plan is not the one that was read.
var ErrChanged = errors.New("the plan has changed since it was read")

// Approve writes the hash of a plan that was read into its spec, and nothing else,
// unless the plan changed meanwhile ([ErrChanged]). What else changed in the object,
// its conditions say, does not matter.
func (c *Cluster) Approve(ctx context.Context, read *v1alpha1.GatewayPlan) error {
	name, doing := types.NamespacedName{Namespace: read.Namespace, Name: read.Name}, "approving the plan of "+RefOf(read).String()
	hash, version := read.Status.Plan.Hash, read.ResourceVersion
	for try := 1; ; try++ {
		err := c.patch(ctx, name, approvalOf(hash, version))
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) || try == conflicts {
			return explained(doing, err)
		}
		now, err := c.plan(ctx, name)
		if missing(err) {
			return ErrChanged
		}
		if err != nil {
			return explained(doing, err)
		}
		if now.UID != read.UID || now.Status.Plan == nil || now.Status.Plan.Hash != hash {
			return ErrChanged
		}
		version = now.ResourceVersion
	}
}

// approvalOf is a merge patch (RFC 7386) that the server refuses when the object is
// of another version.
func approvalOf(hash, version string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": version},
		"spec":     map[string]any{"approve": hash},
	}
}

func (c *Cluster) patch(ctx context.Context, name types.NamespacedName, body map[string]any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.plans.Patch(types.MergePatchType).Namespace(name.Namespace).Resource(resource).Name(name.Name).
		Param("fieldManager", "gatehouse-cli").Body(text).Do(ctx).Error()
}

// explained adds the way out to the errors that have one.
func explained(doing string, err error) error {
	switch {
	case missing(err):
		return fmt.Errorf("%s: it is gone", doing)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: the cluster does not know gatewayplans.gatehouse.dev; is Gatehouse installed there?", doing)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: you have no right to: %w", doing, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

// missing says whether a server missed an object, and not its whole kind.
func missing(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	return details != nil && details.Name != "" && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
