// Command gatehouse makes load balancers what Gateway API manifests ask for. This
// package only chooses which providers and meshes there are; package cli is the
// command.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"gatehouse.dev/fake/local"
	"gatehouse.dev/internal/cli"
	"gatehouse.dev/internal/demo"
)

func main() {
	os.Exit(run(local.Config{}))
}

// run is main with the embedded cloud as a test may want it.
func run(embedded local.Config) int {
	// net/http's transport has no ErrorLog: what it says of connections that
	// backends close goes to the log package, amid what is meant for a person.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks; with the handler gone, the second one ends at once.
	context.AfterFunc(ctx, stop)
	config := cli.Config{
		Providers: []cli.Provider{fake(embedded), amazon(), google()},
		Meshes:    meshes,
		Extra:     []func(cli.Env) *cobra.Command{demo.Command, fakeCloud, fakes},
	}
	return cli.Main(ctx, config, cli.StandardEnv(), os.Args[1:])
}
