package translate

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// saysTLS are the conditions of the only route and the only Service in a status.
func saysTLS(x *Index, results map[Key]Result) (route, service string) {
	for _, p := range Status(x, results, nil, now()) {
		if s, is := p.Status.(*gwv1.HTTPRouteStatus); is {
			route = sayingOf(s.Parents[0].Conditions, CondBackendTLS)
		}
	}
	for _, p := range ServiceTLS(x, results, now()) {
		if s, is := p.Status.(*corev1.ServiceStatus); is {
			service = sayingOf(s.Conditions, "fake."+CondBackendTLS)
		}
	}
	return route, service
}

// TestRefusals: a hop whose mesh refuses the gateway for sure is told with the policy and
// the way out. Nothing that is programmed hangs on it, and what is not sure is not told.
func TestRefusals(t *testing.T) {
	istio, linkerd := readFile(t, "mesh-istio-strict", "in.yaml"), readFile(t, "mesh-linkerd-accounts", "in.yaml")
	policy := func(spec string) string {
		return "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: p, namespace: apps}\nspec: " + spec
	}
	const well = "True/ProtectedWithLosses"
	for _, c := range []struct {
		name, why, in, policy string
		want                  string // of both conditions
		says, way             string
	}{
		{"no policy", "Istio lets in everybody", istio, "", well, "", ""},
		{"denied by default", "", istio, policy("{}"), "False/NotAllowed", "the mesh does not let Gateway apps/edge in: AuthorizationPolicy apps/p selects the pods, and no policy names the gateway.", "`gatehouse mesh allow apps/edge` prints what lets it in."},
		{"denied by name", "no object alone helps", istio, policy("{action: DENY, rules: [{}]}"), "False/NotAllowed", "AuthorizationPolicy apps/p denies it", "except the gateway there."},
		{"let in", "", istio, policy("{rules: [{from: [{source: {namespaces: [gatehouse-system]}}]}]}"), well, "", ""},
		{"on conditions", "it is not sure", istio, policy("{rules: [{to: [{operation: {paths: [/api]}}]}]}"), well, "", ""},
		{"a form that is not known", "it may mean anything", istio, policy("{unless: x}"), well, "", ""},
		{"of other pods", "", istio, policy("{selector: {matchLabels: {app: other}}}"), well, "", ""},
		{"Linkerd", "the Server of the port denies", linkerd, "apiVersion: policy.linkerd.io/v1beta3\nkind: Server\nmetadata: {name: a, namespace: apps}\nspec: {podSelector: {}, port: 8080, proxyProtocol: HTTP/1}", "False/NotAllowed", "accessPolicy of Server apps/a is deny", "prints what lets it in."},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, c.in)
			before := translateAll(t, x)
			if c.policy != "" {
				put := decode(t, c.policy)
				var concerned []Key
				if x, concerned = x.With(Change{Put: put}); len(concerned) != 1 {
					t.Errorf("%v are concerned, want the member", concerned)
				}
			}
			after := translateAll(t, x)
			for key := range before {
				if a, b := before[key].Gateway, after[key].Gateway; len(a.Pools) != len(b.Pools) || len(a.Listeners) != len(b.Listeners) {
					t.Errorf("what is programmed of %s hangs on a policy", key)
				}
			}
			route, service := saysTLS(x, after)
			for where, got := range map[string]string{"the route": route, "the Service": service} {
				refused := strings.Contains(got, "does not let Gateway")
				if !strings.HasPrefix(got, c.want+" ") || refused != (c.says != "") || !strings.Contains(got, c.says) || !strings.HasSuffix(got, c.way) {
					t.Errorf("%s\n%s says %q\nwant %s: %s %s", c.why, where, got, c.want, c.says, c.way)
				}
			}
		})
	}
}

// TestRefusalsAreAsked: without the policies' kinds read, nothing is told.
func TestRefusalsAreAsked(t *testing.T) {
	x := indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml")+"\n---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: p, namespace: apps}\nspec: {}")
	if route, service := saysTLS(x, translateAll(t, x)); !strings.Contains(route, "NotAllowed") || !strings.Contains(service, "NotAllowed") {
		t.Fatalf("the route says %q, the Service %q: this test tests nothing", route, service)
	}
	x.options.Refusals = false
	if route, service := saysTLS(x, translateAll(t, x)); strings.Contains(route+service, "NotAllowed") {
		t.Errorf("the route says %q, the Service %q", route, service)
	}
}

// TestRefusedPod: a new endpoint whose pod a policy refuses, as no pod before, is more
// than an endpoint: the conditions must say so.
func TestRefusedPod(t *testing.T) {
	x := indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml")+"\n---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: p, namespace: apps}\nspec: {selector: {matchLabels: {version: v2}}}")
	gateway := Key{KindGateway, "apps", "edge"}
	before := x.Gateway(gateway)
	pod := x.Object(Key{KindPod, "apps", "a-0"}).(*corev1.Pod).DeepCopy()
	pod.Name, pod.UID, pod.Status.PodIP, pod.Labels = "a-9", "a-9", "10.0.0.9", map[string]string{"version": "v2"}
	pod.Status.PodIPs = nil
	x, _ = x.With(Change{Put: []any{pod}})
	var slice *discoveryv1.EndpointSlice
	for _, v := range x.graph.all() {
		if s, is := v.obj.(*discoveryv1.EndpointSlice); is && s.Namespace == "apps" && s.Labels[discoveryv1.LabelServiceName] == "a" {
			slice = s.DeepCopy()
		}
	}
	more := *slice.Endpoints[0].DeepCopy()
	more.Addresses, more.TargetRef = []string{"10.0.0.9"}, &corev1.ObjectReference{Kind: KindPod, Namespace: "apps", Name: "a-9", UID: "a-9"}
	slice.Endpoints = append(slice.Endpoints, more)
	x, _ = x.With(Change{Put: []any{slice}})
	if _, _, again := x.PoolsOf(ServiceKey(slice), before); !again {
		t.Error("the fast path is taken, which tells nobody")
	}
	if route, _ := saysTLS(x, translateAll(t, x)); !strings.HasPrefix(route, "False/NotAllowed ") {
		t.Errorf("the route says %q", route)
	}
}

// TestPoliciesConcern: a policy concerns all members wherever it is, since it may be
// referred to from elsewhere; one of a mesh that nobody joined concerns nobody.
func TestPoliciesConcern(t *testing.T) {
	x := indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml"))
	for _, c := range []struct {
		group, kind string
		want        int
	}{{"security.istio.io/v1", "AuthorizationPolicy", 1}, {"policy.linkerd.io/v1alpha1", "AuthorizationPolicy", 0}, {"security.istio.io/v1", "RequestAuthentication", 0}} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		o.SetAPIVersion(c.group)
		o.SetKind(c.kind)
		o.SetNamespace("elsewhere")
		o.SetName("p")
		o.SetCreationTimestamp(metav1.Now())
		if _, concerned := x.With(Change{Put: []any{o}}); len(concerned) != c.want {
			t.Errorf("%s %s concerns %v, want %d", c.group, c.kind, concerned, c.want)
		}
	}
}
