// Command gatehouse-controller-manager makes load balancers what the objects of a
// cluster ask for. This package only chooses which providers there are; package ccm
// is the manager.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"

	"gatehouse.dev/ccm"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks; with the handler gone, the second one ends at once.
	context.AfterFunc(ctx, stop)
	f, a, g := &fake{}, &amazon{}, &google{}
	cmd, err := ccm.Command(ctx, ccm.Config{
		Providers: []ccm.Provider{a.provider(), f.provider(), g.provider()},
		Clouds:    []ccm.Cloud{{Name: "fake", Provider: "fake", Machine: f.machine}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cli.Run(cmd)
}
