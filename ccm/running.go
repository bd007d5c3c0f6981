package ccm

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/controller-manager/pkg/healthz"
)

// engine is what does the work: internal/controller's Controller.
type engine interface {
	services
	Run(context.Context) error
	Healthy() error
	Paused() int
}

// running is the controllers of one process while it leads. It is what the
// framework knows of them.
type running struct {
	engine engine
	cancel context.CancelFunc
	done   chan struct{} // closed when they have come to their end
	err    error         // why they ended, after done
}

// run starts an engine. It ends with ctx, which is the framework's way to say that
// the lease is lost, or with drain. before runs first, and after last.
func run(ctx context.Context, e engine, before func(context.Context), after func(context.Context) error) *running {
	working, cancel := context.WithCancel(ctx)
	r := &running{engine: e, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		before(working)
		err := e.Run(working)
		if working.Err() == nil {
			r.err = errors.Join(errors.New("the controllers have ended by themselves"), err)
			log().Error("controllers ended", "controller", ControllerName, "err", r.err)
		}
		if err := after(context.WithoutCancel(ctx)); err != nil {
			log().Error("closing providers", "err", err)
		}
	}()
	return r
}

// drain ends it and waits until nothing is under way, or ctx ends.
func (r *running) drain(ctx context.Context) error {
	r.cancel()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("calls to clouds are still under way: %w", context.Cause(ctx))
	}
}

// Name implements k8s.io/controller-manager/controller.Interface.
func (r *running) Name() string { return ControllerName }

// HealthChecker implements k8s.io/controller-manager/controller.HealthCheckable.
func (r *running) HealthChecker() healthz.UnnamedHealthChecker { return r }

// Check implements healthz.UnnamedHealthChecker.
func (r *running) Check(*http.Request) error {
	select {
	case <-r.done:
		return r.err
	default:
		return r.engine.Healthy()
	}
}
