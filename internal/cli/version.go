package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versions struct {
	Gatehouse  string `json:"gatehouse"`
	Commit     string `json:"commit,omitzero"`
	Go         string `json:"go"`
	GatewayAPI string `json:"gatewayAPI"`
	Platform   string `json:"platform"`
}

func (a *app) version() *cobra.Command {
	f := readable()
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Versions of the command, of Go and of Gateway API",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := readVersions()
			if !f.forPeople() {
				return writeData(a.out, f.value, v)
			}
			a.out.Printf("gatehouse   %s\ngateway-api %s\ngo          %s %s\n", v.Gatehouse, v.GatewayAPI, v.Go, v.Platform)
			return nil
		},
	}
	f.addTo(cmd, "how to print it")
	return cmd
}

func readVersions() versions {
	v := versions{Gatehouse: "(unknown)", GatewayAPI: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Gatehouse = info.Main.Version
	for _, dep := range info.Deps {
		if dep.Path == "sigs.k8s.io/gateway-api" {
			v.GatewayAPI = dep.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
