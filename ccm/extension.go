package ccm

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	cliflag "k8s.io/component-base/cli/flag"
	genericcontrollermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/klog/v2"

	"gatehouse.dev/providers"
)

// The controllers' name in --controllers, its alias, and the title of their flags.
const (
	ControllerName  = "offcluster-gateway-controller"
	ControllerAlias = "offcluster-gateway"
)

// Extension is Gatehouse's controllers in one cloud controller manager. There is
// one in a process.
//
//	ext := ccm.New(providers...)
//	ext.Register(constructors, aliases, &flagSets)
//	command := app.NewCloudControllerManagerCommand(options, cloud, constructors, aliases, flagSets, stop)
//	code := cli.Run(command)
//	err := ext.Drain(context.Background())
type Extension struct {
	providers []Provider
	flags     flags
	configure func() error    // reads file and flags, once
	settings  settings        // after configure
	pacer     providers.Pacer // of all accounts; none

	mu       sync.Mutex
	stopping bool
	running  *running
	started  chan struct{} // closed when running is there
}

// New makes an Extension with the providers that it may use.
func New(all ...Provider) *Extension {
	e := &Extension{providers: all, started: make(chan struct{})}
	e.configure = sync.OnceValue(func() (err error) {
		e.settings, err = e.flags.configuration(all)
		return err
	})
	return e
}

// Register adds the controllers to what app.NewCloudControllerManagerCommand
// takes: its constructors, aliases and flag sets. In that manager they are off
// until --controllers names them (*,offcluster-gateway-controller).
//
// It changes none of app's package variables: constructors must be a copy of
// app.DefaultInitFuncConstructors and not that map itself.
func (e *Extension) Register(constructors map[string]app.ControllerInitFuncConstructor, aliases map[string]string, sets *cliflag.NamedFlagSets) {
	e.register(registry{constructors, aliases, sets}, func(s setting) (setting, bool) {
		s.leading = func(context.Context) {}
		return s, slices.Contains(s.completed.ComponentConfig.Generic.Controllers, ControllerName)
	})
}

// registry is what controllers are registered with.
type registry struct {
	constructors map[string]app.ControllerInitFuncConstructor
	aliases      map[string]string
	sets         *cliflag.NamedFlagSets
}

// decide completes where the controllers run, and says whether they shall.
type decide func(setting) (setting, bool)

func (e *Extension) register(r registry, decide decide) {
	e.flags.addFlags(r.sets.FlagSet(ControllerName), e.providers)
	r.aliases[ControllerAlias] = ControllerName
	r.constructors[ControllerName] = app.ControllerInitFuncConstructor{
		InitContext: app.ControllerInitContext{ClientName: ControllerName},
		Constructor: func(of app.ControllerInitContext, c *appconfig.CompletedConfig, _ cloudprovider.Interface) app.InitFunc {
			return func(ctx context.Context, _ genericcontrollermanager.ControllerContext) (controller.Interface, bool, error) {
				s, wanted := decide(setting{completed: c, client: of.ClientName})
				if !wanted {
					return nil, false, nil
				}
				return e.start(ctx, s)
			}
		},
	}
}

// start runs the controllers. It waits for nothing: the framework starts the
// informers only when every controller has been started.
func (e *Extension) start(ctx context.Context, s setting) (controller.Interface, bool, error) {
	if err := e.configure(); err != nil {
		return nil, false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping {
		return nil, false, nil
	}
	work, opened, err := e.assemble(ctx, s)
	if err != nil {
		return nil, false, errors.Join(err, opened.close(ctx))
	}
	e.running = run(ctx, work, s.leading, opened.close)
	close(e.started)
	return e.running, true, nil
}

// Drain stops the controllers: no new work is begun, and calls to clouds that are
// under way come to their end, for as long as the configuration and ctx allow. An
// error says that they did not, and then the lease must not be given back. It
// does nothing where they do not run.
func (e *Extension) Drain(ctx context.Context) error {
	e.mu.Lock()
	e.stopping = true
	r := e.running
	e.mu.Unlock()
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.settings.drain, errors.New("--gatehouse-drain-timeout is over"))
	defer cancel()
	return r.drain(ctx)
}

// services waits for the controllers, for those who ask for load balancers.
func (e *Extension) services(ctx context.Context) (services, error) {
	select {
	case <-e.started:
		return e.running.engine, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// paused counts the gateways that are, none before the controllers run.
func (e *Extension) paused() int {
	select {
	case <-e.started:
		return e.running.engine.Paused()
	default:
		return 0
	}
}

// log is what the manager's --logging-format and -v say.
func log() *slog.Logger { return slog.New(logr.ToSlogHandler(klog.Background())) }
