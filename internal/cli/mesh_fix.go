package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli/cluster"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/meshsync"
)

// chosenService are the groups of one Service that a command is about.
type chosenService struct {
	service translate.Key
	groups  []translate.MeshGroup
	meshes  []translate.MeshFound
}

// addService lets the shell complete the name of a Service.
func (a *app) addService(cmd *cobra.Command, p *place) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		v, err := a.quiet().look(cmd.Context(), *p, cluster.NoSecrets)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		report, _, err := v.judge(p.class, translate.AllServices)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, g := range report.Groups {
			out = append(out, g.Service.Namespace+"/"+g.Service.Name)
		}
		slices.Sort(out)
		return slices.Compact(out), cobra.ShellCompDirectiveNoFileComp
	}
}

// choose are the groups of a Service, at one port or (0) at all.
func (v view) choose(p place, arg string, port int32) (chosenService, error) {
	service, err := serviceArg(p, arg)
	if err != nil {
		return chosenService{}, err
	}
	report, _, err := v.judge(p.class, translate.AllServices)
	if err != nil {
		return chosenService{}, err
	}
	out := chosenService{service: service, meshes: report.Meshes}
	var ports []string
	for _, g := range report.Groups {
		if g.Service != service {
			continue
		}
		ports = append(ports, fmt.Sprint(g.Port))
		if port == 0 || g.Port == port {
			out.groups = append(out.groups, g)
		}
	}
	switch {
	case len(out.groups) > 0:
		return out, nil
	case len(ports) > 0:
		return out, fmt.Errorf("no pods of a mesh at port %d of Service %s/%s; there is %s", port, service.Namespace, service.Name, strings.Join(slices.Compact(ports), ", "))
	case v.index.Has(service):
		return out, fmt.Errorf("no pods behind Service %s/%s that are in a mesh, nor a MeshBinding that would have them", service.Namespace, service.Name)
	default:
		return out, fmt.Errorf("there is no Service %s/%s", service.Namespace, service.Name)
	}
}

func (a *app) meshFix() *cobra.Command {
	var p place
	var port int32
	cmd := &cobra.Command{
		Use:   "fix SERVICE [-f FILE|DIR|- | --context CONTEXT]",
		Short: "Print the change with which a gateway reaches a Service directly",
		Long: `Writes to standard output, as YAML to be applied, the least change with which a
gateway reaches the pods of a Service as a member of their mesh, and says on standard
error what it changes. Nothing is applied. SERVICE is NAME or NAMESPACE/NAME.

The exit code is 0 when there is a change or none is needed, and 2 when no object alone
would help: what would is said.`,
		Example: "  gatehouse mesh fix apps/cart -f examples/mesh\n  gatehouse mesh fix apps/cart --port 8080 --context prod | kubectl --context prod diff -f -",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.look(cmd.Context(), p, cluster.NoSecrets)
			if err != nil {
				return err
			}
			c, err := v.choose(p, args[0], port)
			if err != nil {
				return err
			}
			return a.printFix(c)
		},
	}
	a.addPlace(cmd, &p)
	a.addClass(cmd, &p)
	a.addService(cmd, &p)
	cmd.Flags().Int32Var(&port, "port", 0, "only this port of the Service")
	return cmd
}

// printFix writes each object once.
func (a *app) printFix(c chosenService) error {
	var objects []string
	stuck := false
	for _, g := range c.groups {
		fix, needed := fixOf(g)
		if !needed {
			continue
		}
		a.err.Printf("%s:%d %s\n", g.Service.Namespace+"/"+g.Service.Name, g.Port, a.err.Paint(term.Yellow, reasonOrLoss(g.Verdict)))
		for _, line := range term.Wrap(fix.Say, a.err.Width()-2) {
			a.err.Printf("  %s\n", line)
		}
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(fix.YAML), "---\n"), "\n---")
		switch {
		case text == "":
			stuck = true
		case !slices.Contains(objects, text):
			objects = append(objects, text)
		}
	}
	if len(objects) > 0 {
		a.out.Println(strings.Join(objects, "\n---\n"))
		return nil
	}
	if stuck {
		a.err.Println("No object alone would help.")
		return exit(exitChanges)
	}
	a.err.Printf("Nothing to fix: Service %s/%s is reached as it is.\n", c.service.Namespace, c.service.Name)
	return nil
}

// fixOf is what would help a group that is Blocked, or of which the proxy reads less
// than it could. Other losses are nothing that a change to the mesh would spare.
func fixOf(g translate.MeshGroup) (fix meshsync.Fix, needed bool) {
	v := g.Verdict
	unread := slices.Contains(v.Losses, meshsync.LossL7Policy) || slices.Contains(v.Losses, meshsync.LossHTTP2)
	switch {
	case v.Path == meshsync.Blocked && v.Fix == nil:
		return meshsync.Fix{Say: v.Detail}, true
	case v.Fix != nil && (v.Path == meshsync.Blocked || unread):
		return *v.Fix, true
	default:
		return fix, false
	}
}

func reasonOrLoss(v meshsync.Verdict) string {
	if v.Reason != "" {
		return string(v.Reason)
	}
	return "without " + joinLosses(v.Losses)
}
