package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/manifest"
)

// app is one run of the command.
type app struct {
	config Config
	env    Env
	out    term.Screen
	err    term.Screen
	log    *slog.Logger
	flags  globals

	schemas manifest.Schemas // of the kinds read so far
	trouble func(Trouble)    // what a data plane tells of backends; nil is nobody's business
}

// globals are the flags that every command has.
type globals struct {
	cluster string
	state   string
	noColor bool
	verbose int
}

// Main runs the command once and gives its exit code.
func Main(ctx context.Context, config Config, env Env, args []string) int {
	a := &app{config: config, env: env}
	a.env.Getenv = func(name string) string {
		if name == "NO_COLOR" && a.flags.noColor {
			return "1" // commands of other packages know the variable, not our flag
		}
		return env.Getenv(name)
	}
	a.screens()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if lost := a.out.Err(); lost != nil {
		err = fmt.Errorf("writing the output: %w", lost)
	}
	a.report(cmd, err)
	return codeOf(err)
}

// StandardEnv is the process's own.
func StandardEnv() Env {
	return Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
}

func (a *app) screens() {
	a.out = term.NewScreen(a.env.Out, a.env.Getenv, term.Auto)
	a.err = term.NewScreen(a.env.Err, a.env.Getenv, term.Auto)
	a.log = slog.New(slog.DiscardHandler)
	if a.flags.verbose > 0 {
		level := map[bool]slog.Level{true: slog.LevelDebug, false: slog.LevelInfo}[a.flags.verbose > 1]
		a.log = slog.New(slog.NewTextHandler(a.env.Err, &slog.HandlerOptions{Level: level}))
	}
}

// report says what went wrong, once, and the way out where it is a mistake in
// the command line.
func (a *app) report(cmd *cobra.Command, err error) {
	var code exit
	if err == nil || errors.As(err, &code) {
		return
	}
	a.err.Printf("%s %s\n", a.err.Paint(term.Alarm, "Error:"), err)
	var usage usageError
	if errors.As(err, &usage) {
		a.err.Printf("Run '%s --help' to see how it is used.\n", cmd.CommandPath())
	}
}

const start = `Gatehouse turns Gateway API manifests into real load balancers.

  gatehouse plan -f examples/shop      what would be done, and why
  gatehouse apply -f examples/shop     do it
  gatehouse up -f examples/shop        serve it from this machine, and follow the files`

const epilogue = `
Exit codes: 0 done, or nothing to do. 1 an error, for plan also a bad document. 2 plan
found changes, mesh check something blocked, mesh fix or mesh allow no object that would
help, mesh probe a handshake that failed. 3 apply did a part: steps failed, wait, or were
kept back, or a document was bad.

Colours follow NO_COLOR, CLICOLOR and CLICOLOR_FORCE. What the fake provider's cloud
holds is kept in .gatehouse/<cluster> below the working directory; --state or
GATEHOUSE_STATE names another place.

Roots that no file has are read from where a MeshBinding says; the last good ones are kept
in the same place by what changes a cloud. SPIFFE_ENDPOINT_SOCKET is this machine's SPIFFE
agent, CONSUL_HTTP_TOKEN what a Consul is told.
`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "gatehouse",
		Short:         "Gateway API in front of the cluster, on any cloud's load balancers",
		Long:          start,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) {
			a.screens() // again: now the flags are known
		},
	}
	a.globalFlags(root)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.SetUsageTemplate(root.UsageTemplate() + "{{if not .HasParent}}" + epilogue + "{{end}}")
	root.AddGroup(&cobra.Group{ID: "look", Title: "Look, and change nothing:"},
		&cobra.Group{ID: "change", Title: "Change:"})
	a.commands(root)
	plainly(root)
	root.SetHelpCommand(help())
	return root
}

// help is cobra's, but for what it does with a command that there is not: that is
// a mistake.
func help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if about, _, err := cmd.Root().Find(args); err == nil {
				for _, c := range about.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, c.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("unknown command %q", strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func (a *app) globalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&a.flags.cluster, "cluster", "default", "name of the cluster that the files stand for: part of every resource's owner")
	f.StringVar(&a.flags.state, "state", "", "directory of what is remembered between commands (default .gatehouse, or $GATEHOUSE_STATE)")
	f.BoolVar(&a.flags.noColor, "no-color", false, "no colours")
	f.CountVarP(&a.flags.verbose, "verbose", "v", "log to stderr; twice for more")
}

func (a *app) commands(root *cobra.Command) {
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("look", a.translate(), a.explain(), a.graph(), a.plan(), a.get(), a.plans(), a.audit(), a.mesh(), a.trust(), a.doctor())
	add("change", a.apply(), a.destroy(), a.up(), a.approve())
	add("", a.version(), a.docs())
	for _, extra := range a.config.Extra {
		add("", extra(a.env))
	}
}
