package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/internal/cli/cluster"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/meshsync"
)

// allowRequest is what mesh allow is asked.
type allowRequest struct {
	place
	service string
	format  format
}

func (a *app) meshAllow() *cobra.Command {
	r := allowRequest{format: readable()}
	r.permits = true
	cmd := &cobra.Command{
		Use:   "allow [GATEWAY] [-f FILE|DIR|- | --context CONTEXT]",
		Short: "Print what lets gateways in where the mesh's policies do not",
		Long: `Writes to standard output, as YAML to be applied by whoever owns the pods, the objects that
let each gateway in at each Service that it routes to as a member of a mesh: Istio's
AuthorizationPolicy, Linkerd's AuthorizationPolicy with its authentication, Kuma's
MeshTrafficPermission, Consul's ServiceIntentions, and for SPIRE the registration entry, as
a command in a comment. Each is written once, and nothing is applied. GATEWAY is NAME or
NAMESPACE/NAME.

Where nothing is needed, nothing is written: standard error says which object lets the
gateway in, or that the mesh lets in everybody. Where it hangs on what no object says (an
address, a request, a default that only the mesh's servers know) that is said too, with
the objects that make it sure.

The exit code is 0 when what is needed was written or nothing is, 2 when a gateway is
refused and no object alone would help, and 1 for an error or when something could not be
read.`,
		Example: "  gatehouse mesh allow -f examples/mesh\n  gatehouse mesh allow edge/front --service istio-shop/cart --context prod | kubectl --context prod diff -f -",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.look(cmd.Context(), r.place, cluster.NoSecrets)
			if err != nil {
				return err
			}
			all, err := v.allowances(r, args)
			if err != nil {
				return err
			}
			return a.showAllowances(r.format, v, all)
		},
	}
	a.addPlace(cmd, &r.place)
	cmd.Flags().StringVar(&r.service, "service", "", "only this Service, as NAME or NAMESPACE/NAME")
	r.format.addTo(cmd, "how to print it")
	a.completeAllow(cmd, &r.place)
	return cmd
}

// completeAllow lets the shell complete gateways, and the Services that they route to.
func (a *app) completeAllow(cmd *cobra.Command, p *place) {
	names := func(cmd *cobra.Command, of func(translate.Allowance) string) []string {
		v, err := a.quiet().look(cmd.Context(), *p, cluster.NoSecrets)
		if err != nil {
			return nil // a completion has nowhere to complain
		}
		var out []string
		for _, al := range v.index.Allowances(v.index.Gateways()) {
			out = append(out, of(al))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd, func(al translate.Allowance) string { return keyName(al.Gateway) }), cobra.ShellCompDirectiveNoFileComp
	}
	complete(cmd, "service", func([]string) []string {
		return names(cmd, func(al translate.Allowance) string { return al.Service.Namespace + "/" + al.Service.Name })
	})
}

// allowances are those that the command is about.
func (v view) allowances(r allowRequest, args []string) ([]translate.Allowance, error) {
	gateways := v.index.Gateways()
	if len(args) > 0 {
		kind, namespace, name, ok := splitName(args[0])
		if !ok || kind == translate.KindService {
			return nil, usagef("%q: want NAME or NAMESPACE/NAME of a Gateway", args[0])
		}
		gateways = slices.DeleteFunc(slices.Clone(gateways), func(k translate.Key) bool {
			return k.Kind != translate.KindGateway || k.Name != name || namespace != "" && k.Namespace != namespace
		})
		if len(gateways) == 0 {
			return nil, fmt.Errorf("there is no Gateway %s of ours; there is %s", args[0], joinKeys(v.index.Gateways()))
		}
	}
	all := v.index.Allowances(gateways)
	if r.service == "" {
		return all, nil
	}
	service, err := serviceArg(r.place, r.service)
	if err != nil {
		return nil, err
	}
	of := slices.DeleteFunc(all, func(al translate.Allowance) bool { return al.Service != service })
	if len(of) == 0 {
		return nil, fmt.Errorf("no gateway that is a member of a mesh routes to Service %s/%s with pods in it", service.Namespace, service.Name)
	}
	return of, nil
}

// allowed is one answer of mesh allow, as data.
type allowed struct {
	Gateway  string           `json:"gateway"`
	Mesh     string           `json:"mesh"`
	Binding  string           `json:"binding"`
	Service  string           `json:"service"`
	Port     int32            `json:"port"`
	Path     meshsync.Path    `json:"path"`
	Need     meshsync.Need    `json:"need"`
	Why      string           `json:"why"`
	Objects  []map[string]any `json:"objects"`
	Commands []string         `json:"commands"`
}

func (a *app) showAllowances(f format, v view, all []translate.Allowance) error {
	if !f.forPeople() {
		data := []allowed{}
		for _, al := range all {
			one, err := allowedOf(al)
			if err != nil {
				return err
			}
			data = append(data, one)
		}
		if err := writeData(a.out, f.value, data); err != nil {
			return err
		}
	} else {
		a.printAllowances(all)
	}
	stuck := func(al translate.Allowance) bool { return al.Need == meshsync.Needed && !al.Helps() }
	switch {
	case v.doubt:
		return exit(exitError)
	case slices.ContainsFunc(all, stuck):
		return exit(exitChanges)
	}
	return nil
}

func allowedOf(al translate.Allowance) (allowed, error) {
	out := allowed{
		Gateway: keyName(al.Gateway), Mesh: al.Controller, Binding: al.Binding.Name, Service: al.Service.Namespace + "/" + al.Service.Name,
		Port: al.Port, Path: al.Path, Need: al.Need, Why: al.Why, Objects: []map[string]any{}, Commands: []string{},
	}
	for _, o := range al.Offers {
		if o.Command != "" {
			out.Commands = append(out.Commands, o.Command)
		}
		if o.YAML == "" {
			continue
		}
		var object map[string]any
		if err := yaml.Unmarshal([]byte(o.YAML), &object); err != nil {
			return out, fmt.Errorf("reading what is offered for %s: %w", out.Service, err)
		}
		out.Objects = append(out.Objects, object)
	}
	return out, nil
}

// printAllowances says on standard error what is so, and writes each object once, in
// the order of gateways and Services.
func (a *app) printAllowances(all []translate.Allowance) {
	var texts []string
	written := map[string]bool{}
	for _, al := range all {
		paint := map[meshsync.Need]term.Paint{meshsync.NotNeeded: term.Green, meshsync.Needed: term.Red, meshsync.NeedUnknown: term.Yellow}[al.Need]
		a.err.Printf("%s at %s  %s\n", keyName(al.Gateway), entrance(al), a.err.Paint(paint, needWords(al.Need)))
		said := al.Why
		if al.Path == meshsync.Blocked {
			said += " The pods are Blocked besides, whoever is let in: see gatehouse mesh check."
		}
		for _, o := range al.Offers {
			what := o.YAML + o.Command
			if what == "" {
				said += " " + o.Say
			}
			if what != "" && !written[what] {
				written[what] = true
				texts = append(texts, offerText(o))
			}
		}
		for _, line := range term.Wrap(said, a.err.Width()-2) {
			a.err.Printf("  %s\n", line)
		}
	}
	switch {
	case len(all) == 0:
		a.err.Println("Nothing to allow: no gateway routes to pods of a mesh as a member of it.")
	case len(texts) > 0:
		a.out.Println(strings.Join(texts, "\n---\n"))
	}
}

// entrance is a Service's port.
func entrance(al translate.Allowance) string {
	return fmt.Sprintf("%s/%s:%d", al.Service.Namespace, al.Service.Name, al.Port)
}

// needWords are a need for people.
func needWords(n meshsync.Need) string {
	switch n {
	case meshsync.NotNeeded:
		return "nothing to allow"
	case meshsync.Needed:
		return "must be allowed"
	default:
		return "not known"
	}
}

// commentWidth is how wide comments over objects are: they are written to files.
const commentWidth = 86

// offerText is an object under a comment, or a comment with a command.
func offerText(o meshsync.Offer) string {
	var b strings.Builder
	for _, line := range term.Wrap(o.Say, commentWidth) {
		b.WriteString("# " + line + "\n")
	}
	if o.YAML == "" {
		return b.String() + "#\n#   " + o.Command
	}
	return b.String() + strings.TrimSpace(o.YAML)
}
