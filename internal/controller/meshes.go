package controller

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/accounts"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/probe"
	"gatehouse.dev/providers"
)

// meshItem is the work on what the members of meshes have in common: the statuses of
// MeshBindings, and the ServiceAccounts of gateways that are no members any more.
var meshItem = item{Key: translate.Key{Kind: translate.KindMeshBinding}}

const (
	// meshSettle is how long the statuses of bindings wait for the passes of other
	// gateways: they sum up.
	meshSettle = time.Second
	// meshFirst is how long they wait after the start for the first pass of every
	// member, so that a restart is not told as everybody's leaving.
	meshFirst = time.Minute
)

// MeshConfig is what Meshes are made of. Client, Cluster and Namespace are required.
type MeshConfig struct {
	Client    kubernetes.Interface
	Cluster   string // the --cluster name
	Namespace string // of the gateways' ServiceAccounts: the controller's own
	// Dynamic makes CertificateRequests of cert-manager; nil: nobody asks it.
	Dynamic dynamic.Interface
	// Roots says how roots outside of the cluster are read. Its Token is ours.
	Roots rootsync.Config
	// Issued, Reach and Clock are member.Config's.
	Issued func(binding string, code lbmodel.Code)
	Reach  func(address string) string
	Clock  func() time.Time
	// Probed, Pace and Dialled are likewise, of probes.
	Probed  func(binding string, outcome probe.Outcome)
	Pace    probe.Pace
	Dialled func(address string) string
}

// Meshes make gateways members of meshes. They are made before the providers, whose
// keyring asks them, and handed to the Controller.
type Meshes struct {
	accounts   *accounts.Accounts
	members    *member.Members
	roots      *rootsync.Sync
	remembered remembered
	clock      func() time.Time
	namespace  string
}

// NewMeshes makes no call.
func NewMeshes(c MeshConfig) *Meshes {
	a := accounts.New(c.Client, c.Cluster, c.Namespace)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Roots.Token = consulToken(c.Client, c.Namespace)
	return &Meshes{
		accounts: a, namespace: c.Namespace, clock: c.Clock, roots: rootsync.New(c.Roots),
		remembered: remembered{client: c.Client, namespace: c.Namespace, cluster: c.Cluster, log: slog.New(slog.DiscardHandler)},
		members:    member.New(member.Config{Tokens: a.Token, Around: c.around(), Reach: c.Reach, Issued: c.Issued, Clock: c.Clock, Probed: c.Probed, Pace: c.Pace, Dialled: c.Dialled}),
	}
}

// Keyring answers for the identities that meshes issue, and hands others on.
func (m *Meshes) Keyring(secrets providers.Keyring) providers.Keyring {
	return m.members.Keyring(secrets)
}

// membership is what is remembered of gateways in meshes. Controller.mu guards it.
type membership struct {
	outcomes map[translate.Key]translate.Outcome // of the last pass of each member
	seen     map[translate.Key]bool              // members with a pass since the start
	accounts map[string]bool                     // those that were wanted when it was last looked
	pruned   bool                                // nobody's account was left when it was last looked
	stale    map[string]time.Time                // bindings whose roots cannot be read, since when
}

func newMembership() membership {
	return membership{outcomes: map[translate.Key]translate.Outcome{}, seen: map[translate.Key]bool{}, stale: map[string]time.Time{}}
}

// meshSoon has what members have in common looked at, once for all that happens in a
// moment.
func (c *Controller) meshSoon() { c.work.AddAfter(meshItem, meshSettle) }

// meshNews says whether a change may concern bindings themselves, whoever is in them.
func meshNews(change translate.Change) bool {
	for _, obj := range change.Put {
		switch obj.(type) {
		case *v1alpha1.MeshBinding, *corev1.ConfigMap, *certv1.ClusterTrustBundle, *translate.Bundle, *unstructured.Unstructured, *corev1.Namespace:
			return true
		}
	}
	return slices.ContainsFunc(change.Delete, func(key translate.Key) bool {
		return key.Kind == translate.KindMeshBinding || key.Kind == translate.KindConfigMap || key.Kind == translate.KindTrustBundle
	})
}

// join makes sure that there is an account for every certificate that a mesh shall
// issue to a gateway.
func (c *Controller) join(ctx context.Context, g reconcile.Gateway) error {
	if c.config.Meshes == nil || g.Paused || g.Result.Deleting {
		return nil
	}
	var errs []error
	for _, account := range accountsOf(g) {
		errs = append(errs, c.config.Meshes.accounts.Ensure(ctx, accounts.Member{
			Account: account, Gateway: g.Key.Namespace + "/" + g.Key.Name, Controller: c.loop.Index().Belonging(g.Key).Controller,
		}))
	}
	return errors.Join(errs...)
}

// accountsOf are the names of the ServiceAccounts for which a gateway asks meshes for
// certificates.
func accountsOf(g reconcile.Gateway) []string {
	var out []string
	for _, m := range g.Result.Meshes {
		issued := slices.ContainsFunc(g.Result.Gateway.Identities, func(id lbmodel.Identity) bool {
			return id.Name == m.Identity && id.Issuer != lbmodel.IssuerSecret
		})
		if issued && !slices.Contains(out, m.Account.Name) {
			out = append(out, m.Account.Name)
		}
	}
	return out
}

// joined remembers what came of a member's pass.
func (c *Controller) joined(g reconcile.Gateway, planned, done reconcile.Pass) {
	if len(g.Result.Meshes) == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.left(g.Key)
		return
	}
	out, looked := c.loop.OutcomesOf([]translate.Key{g.Key}, planned, done)[g.Key]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.membership.seen[g.Key] = true; looked {
		c.membership.outcomes[g.Key] = out
	}
	c.meshSoon()
}

// left forgets a gateway that is no member any more. Controller.mu is held.
func (c *Controller) left(key translate.Key) {
	if c.membership.seen[key] {
		delete(c.membership.seen, key)
		delete(c.membership.outcomes, key)
		c.meshSoon()
	}
}

// keepMeshes brings up to date what members have in common.
func (c *Controller) keepMeshes(ctx context.Context) error {
	gateways := c.loop.Gateways()
	results, wanted := map[translate.Key]translate.Result{}, map[string]bool{}
	for _, g := range gateways {
		results[g.Key] = g.Result
		for _, name := range accountsOf(g) {
			wanted[name] = true
		}
	}
	c.mu.Lock()
	outcomes := maps.Clone(c.membership.outcomes)
	ready := c.membership.ready(gateways)
	c.mu.Unlock()
	errs := []error{c.dismiss(ctx, wanted), c.remember(ctx)}
	if wait := meshFirst - time.Since(*c.began.Load()); !ready && wait > 0 {
		c.work.AddAfter(meshItem, wait)
		return errors.Join(errs...)
	}
	patches := translate.BindingStatus(c.loop.Index(), results, outcomes, metav1.NewTime(time.Now()))
	for _, p := range patches {
		err := c.writer.Write(ctx, []translate.Patch{p})
		if errs = append(errs, err); err == nil {
			c.informBinding(p)
		}
	}
	errs = append(errs, c.tellServices(ctx, results))
	if c.config.Meshes != nil {
		c.config.Meshes.members.WatchAll()
	}
	c.expiring(gateways, outcomes)
	c.tellFigures(gateways, outcomes)
	return errors.Join(errs...)
}

// ready says whether every member had a pass.
func (m *membership) ready(gateways []reconcile.Gateway) bool {
	return !slices.ContainsFunc(gateways, func(g reconcile.Gateway) bool { return len(g.Result.Meshes) > 0 && g.Planned() && !m.seen[g.Key] })
}

// asksFor says whether a gateway needs an account now: one may have come to be a member
// since somebody looked.
func (c *Controller) asksFor(account string) bool {
	return slices.ContainsFunc(c.loop.Gateways(), func(g reconcile.Gateway) bool {
		return slices.Contains(accountsOf(g), account)
	})
}

// dismiss removes the accounts of gateways that are no members any more. Where
// Gateway API or MeshBindings are not installed nobody can say which are.
func (c *Controller) dismiss(ctx context.Context, wanted map[string]bool) error {
	for _, kind := range []string{translate.KindGateway, translate.KindGatewayClass, translate.KindMeshBinding} {
		if _, served := c.clients.Resource(kind); !served {
			return nil
		}
	}
	c.mu.Lock()
	done := c.membership.pruned
	for name := range c.membership.accounts {
		done = done && wanted[name]
	}
	c.membership.accounts, c.membership.pruned = wanted, done
	c.mu.Unlock()
	if done || c.config.Meshes == nil {
		return nil
	}
	ours := func(controller string) bool { return c.options.Controllers[controller] != "" }
	if err := c.config.Meshes.accounts.Prune(ctx, c.asksFor, ours); err != nil {
		return err
	}
	c.mu.Lock()
	c.membership.pruned = true
	c.mu.Unlock()
	return nil
}
