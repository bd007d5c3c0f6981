package accounts

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/turns"
)

// What a ServiceAccount says of the gateway that it is for.
const (
	managedBy  = "app.kubernetes.io/managed-by"
	manager    = "gatehouse"
	cluster    = "gatehouse.dev/cluster"    // the --cluster name, an annotation
	gateway    = "gatehouse.dev/gateway"    // namespace/name, an annotation
	controller = "gatehouse.dev/controller" // the name of its class's controller, an annotation
)

// Member is a gateway that is a member of a mesh.
type Member struct {
	Account    string // the name of its ServiceAccount
	Gateway    string // namespace/name
	Controller string // its GatewayClass's controller
}

// Accounts are the ServiceAccounts of one cluster's gateways. It is safe for use by
// several goroutines.
type Accounts struct {
	client  corev1client.ServiceAccountInterface
	cluster string

	turns turns.Turns // of who makes or removes one: a call that hangs costs its gateway alone

	mu    sync.Mutex
	there map[string]bool // those that were seen to be ours
}

// New makes no call.
func New(client kubernetes.Interface, clusterName, namespace string) *Accounts {
	return &Accounts{client: client.CoreV1().ServiceAccounts(namespace), cluster: clusterName, there: map[string]bool{}}
}

// Ensure makes a member's ServiceAccount unless it is there. It costs a call when
// that is not known. An object of somebody else by its name is an error.
func (a *Accounts) Ensure(ctx context.Context, m Member) error {
	release, err := a.turns.Take(ctx, m.Account)
	if err != nil {
		return fmt.Errorf("ServiceAccount of Gateway %s: %w", m.Gateway, err)
	}
	defer release()
	if a.known(m.Account) {
		return nil
	}
	off := false
	want := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Account, Labels: map[string]string{managedBy: manager},
			Annotations: map[string]string{cluster: a.cluster, gateway: m.Gateway, controller: m.Controller},
		},
		AutomountServiceAccountToken: &off, // no pod runs as a gateway
	}
	_, err = a.client.Create(ctx, want, metav1.CreateOptions{FieldManager: kube.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		err = a.verify(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("ServiceAccount of Gateway %s: %w", m.Gateway, err)
	}
	a.note(m.Account)
	return nil
}

// verify says whether what is there by a member's name is ours.
func (a *Accounts) verify(ctx context.Context, m Member) error {
	list, err := a.client.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", m.Account).String()})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if !a.made(&list.Items[i]) || list.Items[i].Annotations[gateway] != m.Gateway {
			return apierrors.NewConflict(corev1.Resource("serviceaccounts"), m.Account,
				errors.New("an object by this name is there that was not made for the Gateway: remove it"))
		}
	}
	return nil
}

func (a *Accounts) made(s *corev1.ServiceAccount) bool {
	return s.Labels[managedBy] == manager && s.Annotations[cluster] == a.cluster && s.Annotations[gateway] != ""
}

// Prune removes the ServiceAccounts of gateways that are no members any more. Those
// of controllers that are not ours are theirs to remove. wanted is asked right before
// each is removed, while nobody can Ensure it: a gateway must be wanted before it is
// ensured.
func (a *Accounts) Prune(ctx context.Context, wanted, ours func(string) bool) error {
	list, err := a.client.List(ctx, metav1.ListOptions{LabelSelector: managedBy + "=" + manager})
	if err != nil {
		return fmt.Errorf("ServiceAccounts of gateways: %w", err)
	}
	var errs []error
	for i := range list.Items {
		s := &list.Items[i]
		if !a.made(s) || !ours(s.Annotations[controller]) {
			continue
		}
		if err := a.remove(ctx, s, wanted); err != nil {
			errs = append(errs, fmt.Errorf("ServiceAccount of Gateway %s: %w", s.Annotations[gateway], err))
		}
	}
	return errors.Join(errs...)
}

// remove removes one unless it is wanted by now.
func (a *Accounts) remove(ctx context.Context, s *corev1.ServiceAccount, wanted func(string) bool) error {
	release, err := a.turns.Take(ctx, s.Name)
	if err != nil {
		return err
	}
	defer release()
	if wanted(s.Name) {
		return nil
	}
	a.forget(s.Name)
	err = a.client.Delete(ctx, s.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.UID))})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (a *Accounts) known(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.there[name]
}

func (a *Accounts) note(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.there[name] = true
}

func (a *Accounts) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.there, name)
}
