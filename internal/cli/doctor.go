package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
)

// doctor says whether a provider's account can be worked with.
func (a *app) doctor() *cobra.Command {
	var s source
	f := readable()
	var names []string
	for _, p := range a.config.Providers {
		if p.Doctor != nil {
			names = append(names, p.Name)
		}
	}
	cmd := &cobra.Command{
		Use:   "doctor " + strings.Join(names, "|"),
		Short: "Check a provider's account: credentials, permissions, network, quotas",
		Long: `Looks at the account that a provider would work in, changes nothing, and says what is
missing and the way out: credentials, permissions, the network that the files' settings
find, quotas. What nobody can know without doing it is listed as unproven.

The exit code is 1 when something failed.`,
		Example:   "  gatehouse doctor aws\n  gatehouse doctor aws -f gateways/",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: names,
		RunE:      func(cmd *cobra.Command, args []string) error { return a.runDoctor(cmd.Context(), args[0], s, f) },
	}
	cmd.Flags().StringArrayVarP(&s.paths, "filename", "f", nil, "files or folders whose settings are looked at too; - is standard input")
	f.addTo(cmd, "how to print it")
	return cmd
}

func (a *app) runDoctor(ctx context.Context, name string, s source, f format) error {
	p, ok := a.provider(name)
	if !ok || p.Doctor == nil {
		return usagef("there is no doctor for %q", name)
	}
	o := Options{ReadOnly: true, Cluster: a.flags.cluster, Log: a.log}
	if len(s.paths) > 0 {
		loaded, err := a.load(ctx, s)
		if err != nil {
			return err
		}
		o.Settings = sections(loaded.Snapshot, name)
	}
	checks, err := p.Doctor(ctx, o)
	if err != nil {
		return fmt.Errorf("provider %s: %w", name, err)
	}
	if !f.forPeople() {
		err = writeData(a.out, f.value, checks)
	} else {
		a.printChecks(checks)
	}
	if failed := count(checks, Broken); failed > 0 {
		return errors.Join(err, exit(exitError))
	}
	return err
}

func (a *app) printChecks(checks []Check) {
	marks := map[Health]string{
		Healthy: a.out.Paint(term.Green, "✓"), Doubtful: a.out.Paint(term.Yellow, "!"),
		Broken: a.out.Paint(term.Red, "✗"), Unproven: a.out.Paint(term.Dim, "?"),
	}
	for _, c := range checks {
		a.out.Printf("%s %s", marks[c.State], c.Name)
		if c.Detail != "" {
			a.out.Printf(": %s", c.Detail)
		}
		a.out.Printf("\n")
	}
	a.out.Printf("\n%s failed, %s, %d unproven\n", words.Count(count(checks, Broken), "check"),
		words.Count(count(checks, Doubtful), "warning"), count(checks, Unproven))
}

func count(checks []Check, state Health) int {
	return len(slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c.State != state }))
}
