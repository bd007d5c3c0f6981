package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/translate"
)

// complete lets the shell complete a flag's value. The values may come from what
// the command line says so far.
func complete(cmd *cobra.Command, flag string, values func(args []string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return values(args), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag was not added, or twice: no input can cause it
	}
}

// gatewayNames are the gateways of ours in the files, as far as they can be read:
// a completion has nowhere to complain.
func (a *app) gatewayNames(s source) []string {
	loaded, err := manifest.Load(context.Background(), a.manifestOptions(s))
	if err != nil {
		return nil
	}
	options, err := a.translateOptions(s)
	if err != nil {
		return nil
	}
	var out []string
	for _, key := range translate.New(loaded.Snapshot, options).Gateways() {
		out = append(out, keyName(key))
	}
	return out
}

// appliedNames are the gateways that the record knows, but for those named
// already.
func (a *app) appliedNames(named []string) []string {
	where, err := a.state()
	if err != nil {
		return nil
	}
	record, err := where.record()
	if err != nil {
		return nil
	}
	var out []string
	for _, g := range record.Gateways {
		if name := ownerName(g.Owner); !slices.Contains(named, name) {
			out = append(out, name)
		}
	}
	return out
}
