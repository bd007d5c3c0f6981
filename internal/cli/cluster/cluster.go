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

// Plan is one of them.
func (c *Cluster) Plan(ctx context.Context, name types.NamespacedName) (*v1alpha1.GatewayPlan, error) {
	var plan v1alpha1.GatewayPlan
	err := c.plans.Get().Namespace(name.Namespace).Resource(resource).Name(name.Name).Do(ctx).Into(&plan)
	if err != nil {
		return nil, explained("reading plan "+name.String(), err)
	}
	slim(&plan)
	return &plan, nil
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
	name := types.NamespacedName{Namespace: read.Namespace, Name: read.Name}
	hash, version := read.Status.Plan.Hash, read.ResourceVersion
	for try := 1; ; try++ {
		err := c.patch(ctx, name, approvalOf(hash, version))
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) || try == conflicts {
			return explained("approving plan "+name.String(), err)
		}
		now, err := c.Plan(ctx, name)
		if err != nil {
			return err
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
	var status apierrors.APIStatus
	switch {
	case apierrors.IsNotFound(err) && errors.As(err, &status) && named(status.Status()):
		return fmt.Errorf("%s: there is none: only a gateway with something to approve, or with apply: Approve or PlanOnly, has one", doing)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: the cluster does not know gatewayplans.gatehouse.dev; is Gatehouse installed there?", doing)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: you have no right to: %w", doing, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

// named says whether a server missed an object, and not its whole kind.
func named(s metav1.Status) bool { return s.Details != nil && s.Details.Name != "" }
