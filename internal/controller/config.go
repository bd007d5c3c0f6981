package controller

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"gatehouse.dev/internal/controller/audit"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/providers"
)

// Config is what a Controller is made of. REST, Cluster, Providers and Recorder are
// required; every other zero value means the default that its comment names.
type Config struct {
	REST *rest.Config // of any content type
	// Shared has the informers of Services and Nodes, so that nothing is cached
	// twice in one process. Whoever owns it starts it, after New. Nil is informers of
	// our own.
	Shared    informers.SharedInformerFactory
	Cluster   string // the --cluster name: part of every Owner
	Providers []Provider
	Recorder  record.EventRecorder
	Log       *slog.Logger // discarded

	// Namespace is where the record of retained and protected gateways is kept;
	// kube-system.
	Namespace string
	Workers   int // gateways that are worked on at a time; 8
	// ServiceDefault is the provider of Services without a loadBalancerClass; "" is
	// that such Services are not ours. It is for the manager that calls EnsureService.
	ServiceDefault string
	// KeepsServices says that no service controller keeps the Services without a class:
	// their finalizer, status and events are ours too, and nobody calls EnsureService.
	KeepsServices bool
	// ServiceParameters name the GatewayParameters of a provider's Services; a provider
	// that is not in it has the defaults.
	ServiceParameters map[string]types.NamespacedName
	// Audit keeps a record of every call that changes a cloud; nil keeps none.
	Audit *audit.Log
	// Meshes issue what meshes know gateways by. Their Keyring is that of the
	// providers. Nil is that nobody issues: members need a Secret.
	Meshes *Meshes
	// Dialects are the meshes that are known, by controllerName; member.Dialects.
	Dialects map[string]meshsync.Dialect
	// Metrics are told of what happens; nobody.
	Metrics Metrics
}

// Provider is one provider to serve gateways with: those of GatewayClasses with the
// controller name gatehouse.dev/<Name>, and Services of that loadBalancerClass.
type Provider struct {
	Name string
	// ControllerName is what its GatewayClasses say instead of gatehouse.dev/<Name>:
	// two managers with the same provider can then share a cluster.
	ControllerName string
	// Account is of the provider. Cluster, Name and Log are filled in where they are
	// empty, and Patience.Pending with a few seconds: no worker waits for a cloud that
	// is slow, the gateway is looked at again instead.
	Account providers.Config
	// AllowLoopback says whether settings let traffic go to loopback addresses; nil
	// is no.
	AllowLoopback func(json.RawMessage) bool
}

// Metrics are functions that are told of what happens, each nil or safe to be
// called concurrently.
type Metrics struct {
	// Pass is told of every pass over a gateway: how long it took, and the code of
	// the first error (CodeOK for none).
	Pass func(kind string, took time.Duration, code lbmodel.Code)
	// Endpoints is told how long it took from the observation of an endpoint change
	// until the cloud had it.
	Endpoints func(took time.Duration)
	// StatusWrites is told of every status that was written.
	StatusWrites func(kind string)
	// Meshes is told how things stand with meshes' certificates, when that may have
	// changed.
	Meshes func(MeshFigures)
	// Rotated is told of every root that left a binding's gateways.
	Rotated func(binding string)
}

// pendingPatience is how long a worker waits for a cloud that accepted something.
const pendingPatience = 3 * time.Second

// controllerPrefix makes a provider's name a controller name or load balancer class.
const controllerPrefix = "gatehouse.dev/"

// serviceCleanup is the finalizer by which the service controller of
// k8s.io/cloud-provider keeps Services without a class.
const serviceCleanup = "service.kubernetes.io/load-balancer-cleanup"

func (c Config) withDefaults() (Config, error) {
	var errs []error
	if c.REST == nil || c.Recorder == nil {
		errs = append(errs, errors.New("REST and Recorder are required"))
	}
	if c.Cluster == "" {
		errs = append(errs, errors.New("the cluster has no name: it is part of the name of everything in the cloud"))
	}
	if len(c.Providers) == 0 {
		errs = append(errs, errors.New("there is no provider"))
	}
	c.Namespace = cmp.Or(c.Namespace, "kube-system")
	c.Workers = cmp.Or(c.Workers, 8)
	if c.Dialects == nil {
		c.Dialects = member.Dialects()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	names := map[string]bool{}
	for _, p := range c.Providers {
		if p.Name == "" || names[p.Name] || p.Account.Provider == nil {
			errs = append(errs, fmt.Errorf("provider %q: it needs a name of its own and Account.Provider", p.Name))
		}
		names[p.Name] = true
	}
	if c.ServiceDefault != "" && !names[c.ServiceDefault] {
		errs = append(errs, fmt.Errorf("ServiceDefault %q is none of the providers", c.ServiceDefault))
	}
	if err := errors.Join(errs...); err != nil {
		return c, fmt.Errorf("controller: %w", err)
	}
	c.Metrics = c.Metrics.withDefaults()
	return c, nil
}

func (m Metrics) withDefaults() Metrics {
	if m.Pass == nil {
		m.Pass = func(string, time.Duration, lbmodel.Code) {}
	}
	if m.Endpoints == nil {
		m.Endpoints = func(time.Duration) {}
	}
	if m.StatusWrites == nil {
		m.StatusWrites = func(string) {}
	}
	if m.Meshes == nil {
		m.Meshes = func(MeshFigures) {}
	}
	if m.Rotated == nil {
		m.Rotated = func(string) {}
	}
	return m
}

// accounts makes an account of every provider.
func (c Config) accounts() map[string]*providers.Account {
	out := map[string]*providers.Account{}
	for _, p := range c.Providers {
		a := p.Account
		a.Cluster, a.Name = cmp.Or(a.Cluster, c.Cluster), cmp.Or(a.Name, p.Name)
		a.Patience.Pending = cmp.Or(a.Patience.Pending, pendingPatience)
		if a.Log == nil {
			a.Log = c.Log
		}
		out[p.Name] = providers.NewAccount(a)
	}
	return out
}

// options are how objects are translated.
func (c Config) options() translate.Options {
	byName := map[string]Provider{}
	o := translate.Options{
		Controllers: map[string]string{}, Infrastructure: true,
		ServiceDefault: c.ServiceDefault, ServiceParameters: c.ServiceParameters,
		Dialects: c.Dialects, Refusals: true, MeshNamespace: c.Namespace,
	}
	if c.ServiceDefault != "" && !c.KeepsServices {
		o.ServiceKeeper = serviceCleanup
	}
	if c.Meshes != nil {
		o.MeshNamespace = c.Meshes.namespace
	}
	for _, p := range c.Providers {
		byName[p.Name] = p
		o.Controllers[cmp.Or(p.ControllerName, controllerPrefix+p.Name)] = p.Name
	}
	o.Offers = func(provider string, settings json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
		return byName[provider].Account.Provider.Offers(settings)
	}
	o.AllowLoopback = func(provider string, settings json.RawMessage) bool {
		allow := byName[provider].AllowLoopback
		return allow != nil && allow(settings)
	}
	return o
}
