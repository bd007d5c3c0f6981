package demo

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli"
	"gatehouse.dev/internal/cli/term"
)

// Command is `gatehouse demo`.
func Command(env cli.Env) *cobra.Command {
	var asJSON, stay bool
	var certificates string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See the main job done: no cluster, no cloud, no root",
		Long: `Starts backends of its own on loopback, two of them in a pretended STRICT mesh, and
shows examples/shop as a model, a plan and an apply. Then it sends real requests
through the gateway, and rotates the mesh's CA twice under load. It leaves nothing
behind. The exit code is 1 if any request was not answered as it should be.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if certificates != "" {
				return writeCertificates(certificates)
			}
			config := Config{Out: term.NewScreen(env.Out, env.Getenv, term.Auto), Stay: stay}
			if asJSON {
				config.Out = term.NewScreen(io.Discard, env.Getenv, term.Never)
			}
			report, err := Run(cmd.Context(), config)
			if asJSON {
				err = errors.Join(err, report.writeJSON(env.Out))
			}
			if err == nil && report.Failed > 0 {
				err = fmt.Errorf("%d requests were not answered as they should be", report.Failed)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON and nothing else")
	cmd.Flags().BoolVar(&stay, "stay", false, "stay up at the end, with the addresses to try")
	cmd.Flags().StringVar(&certificates, "write-certificates", "", "only write new certificates for examples/shop to this file")
	return cmd
}

func writeCertificates(path string) error {
	text, err := ExampleCertificates()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
