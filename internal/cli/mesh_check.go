package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli/cluster"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/meshsync"
)

func (a *app) meshCheck() *cobra.Command {
	var p place
	var all bool
	p.permits = true
	f := readable()
	cmd := &cobra.Command{
		Use:   "check [-f FILE|DIR|- | --context CONTEXT]",
		Short: "Show which pods a gateway reaches as a member of the mesh, and which not",
		Long: `For each mesh that is bound by a MeshBinding, or that is only there: what joining it
means, and for each group of pods behind a Service port whether a gateway reaches it
directly, over a landing pad or not at all, how the connection is protected, what is
lost on the way, and what to change. Truth is per pod: what was injected counts, and
not what a namespace's label asks for.

Looked at are the Services that a route names; --all takes all. Without -f a cluster is
read, and nothing in it is changed.

At the end are the gateways that a mesh refuses at a Service that they route to, for no
policy of it lets them in: gatehouse mesh allow prints what would.

The exit code is 0 when every group of a bound mesh is reached, 2 when one is Blocked, a
gateway is refused or a MeshBinding has a problem, and 1 for an error or when something
could not be read.
Meshes that no MeshBinding binds are told and do not count.`,
		Example: "  gatehouse mesh check -f examples/mesh\n  gatehouse mesh check --context prod --class public --all -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			which := translate.RoutedServices
			if all {
				which = translate.AllServices
			}
			v, err := a.look(cmd.Context(), p, cluster.NoSecrets)
			if err != nil {
				return err
			}
			report, class, err := v.judge(p.class, which)
			if err != nil {
				return err
			}
			c := checkedOf(report, class)
			c.Refused, c.Unread = v.refused(class), v.unread
			return a.showCheck(f, v, c)
		},
	}
	a.addPlace(cmd, &p)
	a.addClass(cmd, &p)
	cmd.Flags().BoolVar(&all, "all", false, "all Services with endpoints, not only those that a route names")
	f.addTo(cmd, "how to print it")
	return cmd
}

func (a *app) showCheck(f format, v view, c checked) error {
	a.tellUnlooked(v)
	if f.forPeople() {
		a.printCheck(c)
	} else if err := writeData(a.out, f.value, c); err != nil {
		return err
	}
	switch {
	case v.doubt:
		return exit(exitError)
	case c.bad():
		return exit(exitChanges)
	}
	return nil
}

// bad says whether something that a binding is for cannot be had.
func (c checked) bad() bool {
	for _, m := range c.Meshes {
		if m.Binding != "" && (m.Counts.Blocked > 0 || len(m.Problems) > 0) {
			return true
		}
	}
	return len(c.Refused) > 0
}

// refused are the gateways of a class that a mesh does not let in, as far as its objects
// say so for sure.
func (v view) refused(class string) []checkedRefusal {
	out := []checkedRefusal{}
	gateways := slices.DeleteFunc(slices.Clone(v.index.Gateways()), func(k translate.Key) bool { return !v.isOf(k, class) })
	for _, al := range v.index.Allowances(gateways) {
		if al.Need != meshsync.Needed || al.Path == meshsync.Blocked {
			continue
		}
		if n := len(out); n == 0 || out[n-1].Gateway != keyName(al.Gateway) {
			out = append(out, checkedRefusal{Gateway: keyName(al.Gateway)})
		}
		last := &out[len(out)-1]
		last.At = append(last.At, entrance(al))
	}
	return out
}

func checkedOf(r translate.MeshReport, class string) checked {
	out := checked{Class: class, Meshes: []checkedMesh{}, Outside: []checkedGroup{}, Refused: []checkedRefusal{}}
	homes, told := homesOf(r.Groups), map[portAt]bool{}
	for _, m := range r.Meshes {
		mesh := checkedMeshOf(m)
		for _, g := range r.Groups {
			if g.Controller != m.Controller || g.Binding.Name != m.Binding || !homes.concerns(g) {
				continue
			}
			told[servicePort(g)] = true
			mesh.Groups = append(mesh.Groups, checkedGroupOf(g))
			mesh.Counts.add(g.Verdict)
		}
		mesh.nameless()
		if all := mesh.yields(out.Meshes); !all && m.Binding != "" {
			out.Counts.plus(mesh.Counts)
		}
		out.Meshes = append(out.Meshes, mesh)
	}
	for _, g := range r.Groups {
		if !told[servicePort(g)] {
			told[servicePort(g)] = true
			out.Outside = append(out.Outside, checkedGroupOf(g))
			out.Counts.add(g.Verdict)
		}
	}
	return out
}

// portAt is a Service's port.
type portAt struct {
	service translate.Key
	port    int32
}

func servicePort(g translate.MeshGroup) portAt { return portAt{g.Service, g.Port} }

// homes are the meshes that the pods behind a port are members of.
type homes map[portAt]map[string]bool

func homesOf(all []translate.MeshGroup) homes {
	out := homes{}
	for _, g := range all {
		if g.Verdict.Membership != meshsync.Meshed {
			continue
		}
		if out[servicePort(g)] == nil {
			out[servicePort(g)] = map[string]bool{}
		}
		out[servicePort(g)][g.Controller] = true
	}
	return out
}

// concerns says whether a group is the business of the mesh that judged it: members
// are, what they share a port with, and what is refused. All else is the business of
// another mesh, or of none.
func (h homes) concerns(g translate.MeshGroup) bool {
	return h[servicePort(g)][g.Controller] || g.Verdict.Membership == meshsync.MembershipUnknown || g.Verdict.Path == meshsync.Blocked
}

func checkedMeshOf(m translate.MeshFound) checkedMesh {
	out := checkedMesh{
		Mesh: m.Controller, Binding: m.Binding, Installed: m.Mesh.Installed, TrustDomain: m.Mesh.TrustDomain,
		Roots: []checkedRoot{}, Gateways: []string{}, Groups: []checkedGroup{},
		Says: append([]string{}, m.Mesh.Says...), Problems: append([]string{}, m.Problems...),
	}
	for _, root := range m.Trust.Roots {
		out.Roots = append(out.Roots, checkedRoot{root.Subject, root.SHA256, root.NotAfter.UTC().Format(time.RFC3339)})
	}
	for _, key := range m.Gateways {
		out.Gateways = append(out.Gateways, keyName(key))
	}
	return out
}

// nameless says how to name a trust domain that no object has.
func (m *checkedMesh) nameless() {
	unknown := slices.ContainsFunc(m.Groups, func(g checkedGroup) bool { return g.Reason == meshsync.ReasonIdentityUnknown })
	if m.TrustDomain == "" && unknown {
		m.Problems = append(m.Problems, "its trust domain is in no object: name it with --trust-domain "+m.Mesh+"=DOMAIN")
	}
}

// yields says which of the binding's gateways have their backends of this mesh from
// another one already, that comes first by name, and whether all of them have.
func (m *checkedMesh) yields(before []checkedMesh) (all bool) {
	for _, first := range before {
		both := slices.DeleteFunc(slices.Clone(m.Gateways), func(g string) bool { return !slices.Contains(first.Gateways, g) })
		if first.Mesh != m.Mesh || len(both) == 0 {
			continue
		}
		m.Problems = append(m.Problems, fmt.Sprintf("MeshBinding %s lets %s in too and comes first by name, so this one has none of their backends: delete one of the two, or let them select other gateways",
			first.Binding, strings.Join(both, ", ")))
		all = all || len(both) == len(m.Gateways)
	}
	return all
}

func checkedGroupOf(g translate.MeshGroup) checkedGroup {
	v := g.Verdict
	out := checkedGroup{
		Service: g.Service.Namespace + "/" + g.Service.Name, Port: g.Port, Pods: append([]string{}, g.Group.Pods...), Accounts: []string{},
		Membership: v.Membership, Path: v.Path, Reason: v.Reason, TLS: v.TLS, Selected: g.Selected, Detail: v.Detail,
		SNI: g.Group.Inbound.SNI,
	}
	out.Losses, out.Names = append(out.Losses, v.Losses...), append(out.Names, g.Group.Inbound.Names...)
	for _, account := range g.Group.Accounts {
		out.Accounts = append(out.Accounts, account.Name)
	}
	if fix, needed := fixOf(g); needed {
		out.Fix = &checkedFix{fix.Say, fix.YAML}
	}
	return out
}
