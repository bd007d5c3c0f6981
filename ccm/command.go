package ccm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	genericcontrollermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
)

// What our own manager is called, and where it serves /healthz and /metrics: not
// on the stock manager's port, so that both can run on one host.
const (
	ManagerName = "gatehouse-controller-manager"
	ManagerPort = 10268
	// noCloud is the --cloud-provider of a manager that runs nothing but our
	// controllers.
	noCloud = "gatehouse"
)

// Config makes a manager of our own.
type Config struct {
	Providers []Provider
	Clouds    []Cloud // that it can be the cloud controller manager of
}

// manager is one process of our own.
type manager struct {
	*Extension
	clouds []Cloud
	stop   chan struct{} // the framework's: closed when everything is over
	lease  *lease        // nil without leader election
}

// Command is a controller manager. When ctx ends it drains, gives its lease back,
// and returns.
func Command(ctx context.Context, config Config) (*cobra.Command, error) {
	if err := nameVersion(); err != nil {
		return nil, err
	}
	o, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	o.Generic.LeaderElection.ResourceName = ManagerName
	o.Generic.ClientConnection.QPS, o.Generic.ClientConnection.Burst = 100, 200
	o.SecureServing.BindPort = ManagerPort
	o.SecureServing.ServerCert.PairName = ManagerName
	o.KubeCloudShared.CloudProvider.Name = noCloud
	o.Webhook, o.WebhookServing = nil, nil

	m := &manager{Extension: New(config.Providers...), clouds: config.Clouds, stop: make(chan struct{})}
	constructors, aliases := map[string]app.ControllerInitFuncConstructor{}, names.CCMControllerAliases()
	if len(m.clouds) > 0 {
		maps.Copy(constructors, m.ownedByCloud(app.DefaultInitFuncConstructors))
	}
	sets := cliflag.NamedFlagSets{}
	m.register(registry{constructors, aliases, &sets}, m.decide)
	cmd := app.NewCloudControllerManagerCommand(o, m.cloud, constructors, aliases, sets, m.stop)
	cmd.Use, cmd.Long = ManagerName, long
	cmd.Flags().Lookup("help").Usage = "help for " + ManagerName
	m.wrap(ctx, cmd)
	return cmd, nil
}

const long = `Runs the controllers that make load balancers outside the cluster what Gateways and
Services of type LoadBalancer ask for. It works beside any cloud controller manager:
it has a lease, a port and controllers of its own. With --cloud-provider it is one.`

// wrap gives the framework's command what it lacks: settings that are checked
// before anything runs, our version, and an orderly end.
func (m *manager) wrap(ctx context.Context, cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f := cmd.Flags().Lookup("version"); f != nil && f.Changed {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), built())
			return err
		}
		if err := m.configure(); err != nil {
			return err
		}
		ended := make(chan struct{})
		unregister := context.AfterFunc(ctx, func() {
			defer close(ended)
			defer close(m.stop)
			m.shutdown()
		})
		err := run(cmd, args)
		if !unregister() {
			<-ended
		}
		return err
	}
}

// shutdown ends what is under way and then gives the lease back, so that the next
// leader need not wait until it runs out. It is kept where something may still be
// under way: two may never act at a time.
func (m *manager) shutdown() {
	log().Info("told to stop: draining")
	if err := m.Drain(context.Background()); err != nil {
		log().Error("not drained; the lease is left to run out", "err", err)
		return
	}
	if m.lease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	if err := m.lease.release(ctx); err != nil {
		log().Error("the lease is left to run out", "err", err)
	}
}

// releaseTime is enough for two calls to an API server that answers at all.
const releaseTime = 5 * time.Second

// cloud implements app.InitCloudFunc. It is called before anything has started, so
// this is where the lease's clients go behind the gate.
func (m *manager) cloud(c *appconfig.CompletedConfig) cloudprovider.Interface {
	if le := c.ComponentConfig.Generic.LeaderElection; le.LeaderElect {
		m.lease = &lease{client: coordination.NewForConfigOrDie(rest.CopyConfig(c.Kubeconfig)), space: le.ResourceNamespace, name: le.ResourceName, gate: new(gate)}
		c.Kubeconfig.Wrap(m.lease.gate.wrap)
		f := &fence{name: le.ResourceName, lasts: le.LeaseDuration.Duration, now: time.Now}
		c.Kubeconfig.Wrap(f.wrap)
		m.pacer = f
	}
	of, ok := m.chosen(c)
	if !ok {
		return cloud{name: noCloud}
	}
	return cloud{name: of.Name, balancer: balancer{m.services}, instances: instances{of}}
}

// chosen is the cloud that this process is the manager of.
func (m *manager) chosen(c *appconfig.CompletedConfig) (Cloud, bool) {
	i := slices.IndexFunc(m.clouds, func(of Cloud) bool { return of.Name == c.ComponentConfig.KubeCloudShared.CloudProvider.Name })
	if i < 0 {
		return Cloud{}, false
	}
	return m.clouds[i], true
}

// decide completes where our controllers run: always.
func (m *manager) decide(s setting) (setting, bool) {
	s.leading = func(ctx context.Context) {
		if m.lease == nil {
			return
		}
		if err := m.lease.taken(ctx); err != nil {
			log().Warn("the lease will be left to run out when this process stops", "err", err)
		}
	}
	if of, ok := m.chosen(s.completed); ok {
		s.services = of.Provider
	}
	return s, true
}

// ownedByCloud are the framework's own controllers, such that they run only where
// this process is the manager of a cloud.
func (m *manager) ownedByCloud(stock map[string]app.ControllerInitFuncConstructor) map[string]app.ControllerInitFuncConstructor {
	out := maps.Clone(stock)
	for name, each := range out {
		construct := each.Constructor
		each.Constructor = func(of app.ControllerInitContext, c *appconfig.CompletedConfig, with cloudprovider.Interface) app.InitFunc {
			if _, ok := m.chosen(c); ok {
				return construct(of, c, with)
			}
			return func(context.Context, genericcontrollermanager.ControllerContext) (controller.Interface, bool, error) {
				return nil, false, nil
			}
		}
		out[name] = each
	}
	return out
}
