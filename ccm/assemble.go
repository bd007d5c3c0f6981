package ccm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/component-base/metrics/legacyregistry"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller"
	"gatehouse.dev/internal/controller/audit"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/providers"
)

// setting is where the controllers run.
type setting struct {
	completed *appconfig.CompletedConfig
	client    string // the name of their client
	// leading is called when they begin.
	leading func(context.Context)
	// services is the provider of the Services that the stock service controller
	// asks for; "" is that it asks for none.
	services string
}

// closer gives back what was opened, in the opposite order.
type closer []func(context.Context) error

func (c *closer) close(ctx context.Context) error {
	var errs []error
	for i := range *c {
		errs = append(errs, (*c)[len(*c)-1-i](ctx))
	}
	return errors.Join(errs...)
}

// assemble opens the providers and makes the controller over them. What it has
// opened is to be closed also when it fails.
func (e *Extension) assemble(ctx context.Context, s setting) (engine, *closer, error) {
	opened := new(closer)
	restConfig, err := s.completed.ClientBuilder.Config(s.client)
	if err != nil {
		return nil, opened, fmt.Errorf("client of %s: %w", s.client, err)
	}
	m, err := newMeasures(registrar{legacyregistry.Register, legacyregistry.CustomRegister}, e.paused)
	if err != nil {
		return nil, opened, fmt.Errorf("metrics: %w", err)
	}
	config := controller.Config{
		REST: restConfig, Shared: s.completed.SharedInformers,
		Cluster: e.settings.cluster(s.completed.ComponentConfig.KubeCloudShared.ClusterName),
		Workers: e.settings.Workers, ServiceDefault: cmp.Or(s.services, e.settings.Services.DefaultProvider), KeepsServices: s.services == "",
		Namespace: s.completed.ComponentConfig.Generic.LeaderElection.ResourceNamespace,
		Log:       log(), Metrics: m.hooks(), ServiceParameters: e.settings.serviceParameters(),
	}
	if config.Audit, err = e.settings.audit(config.Cluster, opened); err != nil {
		return nil, opened, err
	}
	if config.Recorder, err = recorder(s.completed); err != nil {
		return nil, opened, err
	}
	client, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return nil, opened, fmt.Errorf("client of %s: %w", s.client, err)
	}
	objects, err := dynamic.NewForConfig(restConfig)
	if err != nil {
		return nil, opened, fmt.Errorf("client of %s: %w", s.client, err)
	}
	config.Meshes = controller.NewMeshes(controller.MeshConfig{Client: client, Dynamic: objects, Cluster: config.Cluster, Namespace: cmp.Or(config.Namespace, metav1.NamespaceSystem), Issued: m.issued, Probed: m.probed,
		Roots: rootsync.Config{Socket: os.Getenv("SPIFFE_ENDPOINT_SOCKET")}})
	o := Options{Cluster: config.Cluster, Keyring: config.Meshes.Keyring(controller.Keyring(client)), Log: log()}
	if config.Providers, err = e.open(ctx, o, m, opened); err != nil {
		return nil, opened, err
	}
	c, err := controller.New(config)
	if err != nil {
		return nil, opened, err
	}
	return counted{c, m}, opened, nil
}

// counted is an engine whose steps are counted.
type counted struct {
	*controller.Controller
	measures *measures
}

// Run implements engine.
func (c counted) Run(ctx context.Context) error {
	return c.Controller.Run(providers.Tell(ctx, c.measures.event))
}

// open opens every provider's account.
func (e *Extension) open(ctx context.Context, o Options, m *measures, opened *closer) ([]controller.Provider, error) {
	var out []controller.Provider
	for _, p := range e.providers {
		if p.Used != nil && !p.Used() {
			continue
		}
		b, err := p.Open(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("opening provider %s: %w", p.Name, err)
		}
		if b.Close != nil {
			*opened = append(*opened, b.Close)
		}
		out = append(out, controller.Provider{
			Name: p.Name, AllowLoopback: p.AllowLoopback,
			Account: providers.Config{
				Provider: b.Provider, Patience: b.Patience, CallTimeout: b.CallTimeout, ObserveEvery: e.settings.drift, Pacer: e.pacer,
				Watch: func(c providers.Call) { m.call(p.Name, c) },
			},
		})
	}
	return out, nil
}

func (s settings) serviceParameters() map[string]types.NamespacedName {
	out := map[string]types.NamespacedName{}
	for provider, at := range s.Services.Parameters {
		out[provider] = types.NamespacedName(at)
	}
	return out
}

// audit opens the record of calls, nil where none is kept.
func (s settings) audit(cluster string, opened *closer) (*audit.Log, error) {
	if s.Audit.Path == "" {
		return nil, nil
	}
	host, err := os.Hostname() // the lease's holder begins with it
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	l, err := audit.Open(audit.Config{
		Path: s.Audit.Path, Cluster: cluster, Identity: host, MaxBytes: int64(s.Audit.MaxSizeMiB) << 20, Files: s.Audit.Keep, Log: log(),
	})
	if err != nil {
		return nil, err
	}
	*opened = append(*opened, func(context.Context) error { return l.Close() })
	return l, nil
}

// cluster is the name of the cluster. The framework's flag has a default that is
// nobody's name.
func (s settings) cluster(flag string) string {
	if s.ClusterName != "" && (flag == "" || flag == defaultCluster) {
		return s.ClusterName
	}
	return flag
}

// defaultCluster is what --cluster-name says where it is not given.
const defaultCluster = "kubernetes"

// recorder writes events about every kind of object that the controllers know.
func recorder(c *appconfig.CompletedConfig) (record.EventRecorder, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, gwv1.Install, gwxv1alpha1.Install, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("scheme of events: %w", err)
		}
	}
	return c.EventBroadcaster.NewRecorder(scheme, corev1.EventSource{Component: ControllerName}), nil
}
