package translate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// bindingText is a binding's status, short enough to compare.
func bindingText(s *v1alpha1.MeshBindingStatus) string {
	var out strings.Builder
	for _, c := range s.Conditions {
		fmt.Fprintf(&out, "%s=%s/%s ", c.Type, c.Status, c.Reason)
	}
	fmt.Fprintf(&out, "gateways %d/%d groups %d,%d,%d,%d", s.Gateways.Joined, s.Gateways.Selected, s.Groups.Direct, s.Groups.LandingPad, s.Groups.Blocked, s.Groups.NotMeshed)
	for _, r := range s.Roots {
		fmt.Fprintf(&out, " root %s", r.State)
	}
	for _, b := range s.Blocked {
		fmt.Fprintf(&out, " %s:%d %s", b.Service, b.Port, b.Reason)
	}
	return out.String()
}

func bindingStatuses(t *testing.T, text string, outcome Outcome) map[string]string {
	t.Helper()
	x := indexOf(t, text)
	results, outcomes := translateAll(t, x), map[Key]Outcome{}
	for key := range results {
		outcomes[key] = outcome
	}
	out := map[string]string{}
	patches := BindingStatus(x, results, outcomes, now())
	for _, p := range patches {
		out[p.Key.Name] = bindingText(p.Status.(*v1alpha1.MeshBindingStatus))
	}
	next, concerned := x.With(written(t, x, patches))
	if again := BindingStatus(next, results, outcomes, now()); len(again)+len(concerned) > 0 {
		t.Errorf("what was written leads to %d patches and concerns %v", len(again), concerned)
	}
	return out
}

// heldRoots are what a provider shows of Istio's roots.
func heldRoots(t *testing.T, files ...string) map[string][]lbmodel.Root {
	t.Helper()
	out := map[string][]lbmodel.Root{"MeshBinding/istio": nil}
	for _, file := range files {
		out["MeshBinding/istio"] = append(out["MeshBinding/istio"], rootsIn(t, file)...)
	}
	return out
}

// TestBindingStatus: the golden cases, summed up by their bindings.
func TestBindingStatus(t *testing.T) {
	leaf := lbmodel.Leaf{NotAfter: now().Add(time.Hour)}
	held := Outcome{Leaves: map[string]lbmodel.Leaf{"MeshBinding/istio": leaf, "MeshBinding/linkerd": leaf}}
	cases := []struct {
		dir, why string
		outcome  Outcome
		want     map[string]string
	}{
		{"mesh-istio-strict", "the roots and the certificate are there", held, map[string]string{
			"istio": "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed gateways 1/1 groups 1,0,0,0 root Trusted"}},
		{"mesh-istio-strict", "the certificate is not there yet, nor are the roots", Outcome{Pending: true}, map[string]string{
			"istio": "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=False/Pending gateways 0/1 groups 1,0,0,0 root Adding"}},
		{"mesh-istio-strict", "something else is pending; the roots that a provider shows are the truth", Outcome{Pending: true, Roots: heldRoots(t, "ca1.pem", "ca2.pem")}, map[string]string{
			"istio": "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=False/Pending gateways 0/1 groups 1,0,0,0 root Trusted root Removing"}},
		{"mesh-istio-strict", "nothing is pending, and the root is not there", Outcome{Roots: heldRoots(t), Leaves: held.Leaves}, map[string]string{
			"istio": "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed gateways 1/1 groups 1,0,0,0 root Adding"}},
		{"mesh-istio-permissive", "one of the gateways reaches the pods, so they count as blocked", held, map[string]string{
			"istio": "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed gateways 2/2 groups 0,0,1,0 root Trusted apps/a:80 PermissiveInbound"}},
		{"mesh-rollout", "a pod without a proxy, and a Service without one", held, map[string]string{
			"istio": "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed gateways 1/1 groups 1,0,0,2 root Trusted"}},
		{"mesh-landing-pad", "", held, map[string]string{
			"istio": "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed gateways 1/1 groups 0,1,0,0 root Trusted"}},
		{"mesh-roots-unreadable", "", held, map[string]string{
			"istio": "Accepted=True/Accepted ResolvedRefs=False/RootsUnreadable Programmed=False/Pending gateways 0/1 groups 1,0,0,0"}},
		{"mesh-no-match", "", held, map[string]string{
			"istio": "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=False/NoGateways gateways 0/0 groups 0,0,0,0 root Trusted"}},
		{"mesh-two-bindings", "each counts its own; the mesh that nobody knows is told apart", held, map[string]string{
			"istio":   "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed gateways 1/1 groups 1,0,0,0 root Trusted",
			"linkerd": "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed gateways 1/1 groups 1,0,0,0 root Trusted",
			"odd":     "Accepted=False/UnknownMesh Programmed=False/Invalid gateways 0/1 groups 0,0,1,0 apps/c:80 IdentityUnknown"}},
	}
	for _, c := range cases {
		t.Run(c.dir+" "+c.why, func(t *testing.T) {
			got := bindingStatuses(t, readFile(t, c.dir, "in.yaml"), c.outcome)
			for name, text := range c.want {
				want(t, name, got[name], text)
			}
		})
	}
}

// TestBindingsFight: a backend with pods of two meshes is the first binding's, and
// the other one says so; so is what only one of two bindings of a mesh can have.
func TestBindingsFight(t *testing.T) {
	text := readFile(t, "mesh-istio-strict", "in.yaml")
	text += strings.ReplaceAll(text[strings.Index(text, "kind: MeshBinding"):strings.Index(text, "kind: Service")], "name: istio", "name: second")
	got := bindingStatuses(t, text, Outcome{Leaves: map[string]lbmodel.Leaf{"MeshBinding/istio": {NotAfter: now().Add(time.Hour)}}})
	want(t, "istio", got["istio"], "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed gateways 1/1 groups 1,0,0,0 root Trusted")
	// It is no member by the second: there is nothing that it would show a certificate to.
	want(t, "second", got["second"], "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=False/Conflicted gateways 0/1 groups 0,0,0,0 root Trusted")
}

// TestMeshMember: the certificate's way into the cloud, and what can go wrong with
// it and with the roots.
func TestMeshMember(t *testing.T) {
	text := readFile(t, "mesh-istio-strict", "in.yaml")
	stale := strings.Replace(readFile(t, "mesh-roots-unreadable", "in.yaml"), "kind: Gateway\n", "kind: Gateway\nstatus: {conditions: [{type: gatehouse.dev/MeshMember, status: \"True\", reason: Joined, message: \"\", lastTransitionTime: null}]}\n", 1)
	name := "MeshBinding/istio"
	source := lbmodel.Source{Kind: KindMeshBinding, Name: "istio", Section: "identity"}
	refused := lbmodel.Errorf(lbmodel.CodeDenied, "issue", lbmodel.ID{}, "%s", "the CA says no")
	waits := lbmodel.Errorf(lbmodel.CodePending, "issue", lbmodel.ID{}, "%s", "somebody must approve")
	leaf := func(d time.Duration) map[string]lbmodel.Leaf {
		return map[string]lbmodel.Leaf{name: {NotAfter: now().Add(d)}}
	}
	cases := []struct {
		name, why, text string
		outcome         *Outcome
		want            string
	}{
		{"not looked at", "what the status says stays", text, nil, ""},
		{"pending", "", text, &Outcome{}, "False/IdentityPending"},
		{"waiting", "somebody must be told what for", text, &Outcome{Waiting: map[lbmodel.Source]error{source: waits}}, "False/IdentityPending"},
		{"joined", "", text, &Outcome{Leaves: leaf(time.Hour)}, "True/Joined"},
		{"refused", "", text, &Outcome{Failed: map[lbmodel.Source]error{source: refused}}, "False/IdentityRefused"},
		{"refused later", "the old certificate goes on", text, &Outcome{Leaves: leaf(time.Hour), Failed: map[lbmodel.Source]error{source: refused}}, "True/Joined"},
		{"renewal waits", "somebody must be told before it ends", text, &Outcome{Leaves: leaf(time.Hour), Waiting: map[lbmodel.Source]error{source: waits}}, "True/Joined"},
		{"expired", "", text, &Outcome{Leaves: leaf(-time.Hour)}, "False/IdentityExpired"},
		{"no roots yet", "", readFile(t, "mesh-roots-unreadable", "in.yaml"), &Outcome{Leaves: leaf(time.Hour)}, "False/TrustPending"},
		{"roots gone", "it was a member, and the roots stay", stale, &Outcome{Leaves: leaf(time.Hour)}, "False/TrustStale"},
		{"no certificate with this provider", "", strings.Replace(text, "offcluster", "plain", 1) + plainClass, &Outcome{}, "False/ClientCertificateUnsupported"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, c.text)
			results, outcomes := translateAll(t, x), map[Key]Outcome{}
			key := Key{KindGateway, "apps", "edge"}
			if c.outcome != nil {
				outcomes[key] = *c.outcome
			}
			v := (&statusWriter{x: x, results: results, outcomes: outcomes, now: now()}).view(key, results[key])
			got, _ := v.meshMember(newConditions(conditionsIn(x, key), 1, now()).get(CondMeshMember))
			text := ""
			if got.reason != "" {
				text = string(got.status) + "/" + got.reason
			}
			want(t, c.why+" "+got.message, text, c.want)
			for name, says := range map[string]string{"waiting": "somebody must approve", "renewal waits": "somebody must approve", "refused later": "next certificate is not there yet: issue: Denied: the CA says no"} {
				if c.name == name && !strings.Contains(got.message, says) {
					t.Errorf("told is %q, want %q", got.message, says)
				}
			}
		})
	}
}

const plainClass = `
---
kind: GatewayClass
metadata: {name: plain, generation: 1}
spec: {controllerName: gatehouse.dev/plain}
`

func conditionsIn(x *Index, key Key) []metav1.Condition {
	g, _ := lookup[*gwv1.Gateway](x, key.Kind, key.Namespace, key.Name)
	return g.Status.Conditions
}

// TestMeshReport: without any binding, a mesh that is there shows what joining would
// mean for each of its pods; with one, all pods are told.
func TestMeshReport(t *testing.T) {
	bound := readFile(t, "mesh-rollout", "in.yaml")
	unbound := bound[:strings.Index(bound, "kind: MeshBinding")] + bound[strings.Index(bound, "kind: Service"):]
	line := func(g MeshGroup) string {
		return fmt.Sprintf("%s %s %s %s %d pods", g.Controller, g.Backend, g.Verdict.Membership, g.Verdict.Path, len(g.Group.Pods))
	}
	cases := []struct {
		name, why, text string
		class           string
		services        MeshServices
		want            []string
	}{
		{"bound", "", bound, "offcluster", RoutedServices, []string{
			"istio.io/istio apps/a:80 NotMeshed Direct 1 pods", "istio.io/istio apps/a:80 Meshed Direct 2 pods", "istio.io/istio apps/b:80 NotMeshed Direct 1 pods"}},
		{"all", "c is routed to by nobody", bound, "", AllServices, []string{
			"istio.io/istio apps/a:80 NotMeshed Direct 1 pods", "istio.io/istio apps/a:80 Meshed Direct 2 pods", "istio.io/istio apps/b:80 NotMeshed Direct 1 pods", "istio.io/istio apps/c:80 NotMeshed Direct 1 pods"}},
		{"unbound", "what is no member would be as before", unbound, "offcluster", RoutedServices, []string{"istio.io/istio apps/a:80 Meshed Direct 2 pods"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := snapshotOf(decode(t, readFile(t, "common.yaml")+"\n---\n"+readFile(t, "meshes.yaml")+"\n---\n"+c.text)...)
			report, ok := New(s, meshOptions()).MeshReport(c.class, c.services)
			if !ok {
				t.Fatal("the class is not known")
			}
			var got []string
			for _, g := range report.Groups {
				if g.Controller == "istio.io/istio" {
					got = append(got, line(g))
				}
			}
			want(t, c.why, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			if len(report.Meshes) == 0 || report.Meshes[0].Mesh.TrustDomain != "cluster.local" || report.Meshes[0].Trust.Unknown {
				t.Errorf("the meshes are %+v", report.Meshes)
			}
		})
	}
	if _, ok := indexOf(t, bound).MeshReport("nobody's", RoutedServices); ok {
		t.Error("a class that is not there has a report")
	}
}
