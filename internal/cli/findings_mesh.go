package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// bound are findings about MeshBindings. A status has them in the MeshBinding and in
// gateways' MeshMember; who reads a plan sees neither, and last good roots that stay in
// use change nothing there.
func bound(x *translate.Index, gateways []reconcile.Gateway, now time.Time) []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, b := range x.Bounds() {
		about := lbmodel.Source{Kind: translate.KindMeshBinding, Name: b.Binding.Name}
		switch {
		case b.Dialect == nil:
			out = append(out, lbmodel.Finding{
				About: about, Condition: "Accepted", Reason: "UnknownMesh", Code: lbmodel.CodeUnresolved,
				Detail: strings.Join(b.Problems, "; ") + ". Until it is corrected this binding joins no gateway to anything, and protects no backend",
			})
		case len(b.Problems) > 0:
			out = append(out, lbmodel.Finding{
				About: about, Condition: "ResolvedRefs", Reason: "RootsUnreadable", Code: lbmodel.CodeUnresolved,
				Detail: strings.Join(b.Problems, "; ") + "; a gateway that has roots keeps them",
			})
		case ended(b.Trust.Roots, now):
			out = append(out, lbmodel.Finding{
				About: about, Condition: "ResolvedRefs", Reason: "RootsEnded", Code: lbmodel.CodeUnresolved,
				Detail: fmt.Sprintf("every root that the mesh publishes has ended (%d), the last at %s: nothing is verified by them", len(b.Trust.Roots), lastEnd(b.Trust.Roots).UTC().Format(time.RFC3339)),
			})
		}
	}
	return slices.Concat(out, lost(gateways), strangers(gateways), failed(gateways))
}

func ended(roots []lbmodel.Root, now time.Time) bool {
	return len(roots) > 0 && !lastEnd(roots).After(now)
}

func lastEnd(roots []lbmodel.Root) (last time.Time) {
	for _, r := range roots {
		if r.NotAfter.After(last) {
			last = r.NotAfter
		}
	}
	return last
}

// lost are the backends that another binding has, which comes first by name.
func lost(gateways []reconcile.Gateway) []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, g := range gateways {
		for i := range g.Result.Meshes {
			m := &g.Result.Meshes[i]
			if len(m.Lost) == 0 {
				continue
			}
			out = append(out, lbmodel.Finding{
				About: lbmodel.Source{Kind: translate.KindMeshBinding, Name: m.Binding.Name}, Parent: lbmodel.Source{Kind: g.Key.Kind, Namespace: g.Key.Namespace, Name: g.Key.Name},
				Condition: "Programmed", Reason: "Conflicted", Code: lbmodel.CodeOK,
				Detail: "backends that another MeshBinding has, which comes first by name: " + strings.Join(m.Lost, ", "),
			})
		}
	}
	return out
}

// strangers are gateways whose own certificate leads to none of a mesh's roots.
func strangers(gateways []reconcile.Gateway) []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, g := range gateways {
		for i := range g.Result.Meshes {
			if m := &g.Result.Meshes[i]; m.Stranger != "" {
				out = append(out, lbmodel.Finding{
					About: lbmodel.Source{Kind: g.Key.Kind, Namespace: g.Key.Namespace, Name: g.Key.Name}, Condition: translate.CondMeshMember, Reason: "ForeignCertificate", Code: lbmodel.CodeOK,
					Detail: m.Binding.String() + ": " + m.Stranger,
				})
			}
		}
	}
	return out
}

// failed are the hops that a probe saw fail (MeshBinding.spec.probe).
func failed(gateways []reconcile.Gateway) []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, g := range gateways {
		for i := range g.Result.Meshes {
			for _, group := range g.Result.Meshes[i].Groups {
				if group.Probe == nil || !group.Probe.Fails {
					continue
				}
				out = append(out, lbmodel.Finding{
					About: lbmodel.Source{Kind: group.Service.Kind, Namespace: group.Service.Namespace, Name: group.Service.Name}, Parent: lbmodel.Source{Kind: g.Key.Kind, Namespace: g.Key.Namespace, Name: g.Key.Name},
					Condition: "gatehouse.dev/BackendTLS", Reason: string(meshsync.ReasonProbeFailed), Code: lbmodel.CodeUnresolved,
					Detail: group.Backend + ": the probe says: " + group.Probe.Text,
				})
			}
		}
	}
	return out
}

// tellUnlooked says which endpoints a check did not look at, since no gateway may send
// to them: without them a Service seems to have no pods.
func (a *app) tellUnlooked(v view) {
	told := map[string]bool{}
	for _, key := range v.index.Gateways() {
		for _, f := range reconcile.Read(v.index, key).Findings {
			if f.Reason == "EndpointsRefused" && !told[f.Detail] {
				told[f.Detail] = true
				a.err.Printf("%s %s: %s\n", a.err.Paint(term.Yellow, "!"), f.About.Object(), f.Detail)
			}
		}
	}
}

// tellUnread says which roots cannot be listed.
func (a *app) tellUnread(v view) {
	for _, b := range v.index.Bounds() {
		for _, problem := range b.Problems {
			a.err.Printf("%s %s/%s: %s\n", a.err.Paint(term.Yellow, "!"), translate.KindMeshBinding, b.Binding.Name, problem)
		}
	}
}
