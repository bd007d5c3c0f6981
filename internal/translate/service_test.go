package translate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/lbmodel"
)

// serviceOf is a Service from YAML.
func serviceOf(t testing.TB, text string) *corev1.Service {
	t.Helper()
	return decode(t, "kind: Service\n"+text)[0].(*corev1.Service)
}

// serviceStatus is the status of the one Service in patches.
func serviceStatus(t testing.TB, patches []Patch) *corev1.ServiceStatus {
	t.Helper()
	for _, p := range patches {
		if s, is := p.Status.(*corev1.ServiceStatus); is {
			return s
		}
	}
	t.Fatal("no status of a Service is written")
	return nil
}

// TestC51Claims says whose a Service is. Somebody else's class is never ours,
// whatever the Service was before; what was ours is known by our conditions.
func TestC51Claims(t *testing.T) {
	const signed = `
status: {conditions: [{type: fake.gatehouse.dev/Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: null}]}`
	const held = "metadata: {name: s, namespace: apps, finalizers: [gatehouse.dev/cloud-resources]}"
	const dying = `metadata: {name: s, namespace: apps, deletionTimestamp: "2026-01-02T03:04:05Z", finalizers: [gatehouse.dev/cloud-resources]}`
	const plain = "metadata: {name: s, namespace: apps}"
	ours := func(meta string) string {
		return meta + "\nspec: {type: LoadBalancer, loadBalancerClass: gatehouse.dev/fake}"
	}
	unset := func(meta string) string { return meta + "\nspec: {type: LoadBalancer}" }
	foreign := func(meta string) string {
		return meta + "\nspec: {type: LoadBalancer, loadBalancerClass: other.test/lb}"
	}
	former := func(meta string) string { return meta + "\nspec: {type: ClusterIP}" }
	unknown := map[string]bool{ // nobody here can say whose the finalizer is
		"unset": true, "foreign": true, "foreign, going": true, "foreign, held": true, "foreign, that we served and left": true, "another provider's": true,
	}
	cases := []struct{ name, why, text, byDefault, want string }{
		{"ours", "", ours(plain), "", "fake"},
		{"ours, going", "", ours(dying), "", "fake deleting"},
		{"unset", "somebody else is the default", unset(plain), "", "not ours"},
		{"unset, and we are the default", "", unset(plain), "fake", "fake"},
		{"foreign", "", foreign(plain), "fake", "not ours"},
		{"foreign, going", "the deletion path is no exception", foreign(dying), "fake", "not ours"},
		{"foreign, held", "the finalizer is that of every provider's manager", foreign(held), "fake", "not ours"},
		{"foreign, that we served", "its type changed to ClusterIP and back while we were away", foreign(held) + signed, "fake", "fake deleting"},
		{"foreign, that we served and left", "only another manager has to do with it", foreign(plain) + signed, "fake", "not ours"},
		{"ClusterIP with an old status", "whose it was nobody can say", former(plain) + "\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}", "fake", "not ours"},
		{"ClusterIP, held", "likewise: see foreign, held", former(held), "fake", "not ours"},
		{"ClusterIP that we served", "", former(held) + signed, "", "fake deleting"},
		{"ClusterIP, clean but for its status", "its load balancer was gone before the finalizer went", former(plain) + signed, "", "not ours"},
		{"another provider's", "a manager for that provider has it", former(held) + strings.Replace(signed, "fake.", "acme.", 1), "", "not ours"},
		{"unset, no default any more", "switching the default off deletes nothing", unset(held) + signed, "", "fake waiting"},
		{"unset, no default any more, going", "", unset(dying) + signed, "", "fake deleting"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			svc := serviceOf(t, c.text)
			o := Options{Controllers: map[string]string{"gatehouse.dev/fake": "fake"}, ServiceDefault: c.byDefault}
			x := New(snapshotOf(svc), o)
			key := Key{KindService, "apps", "s"}
			r := x.Gateway(key)
			got := r.Provider
			switch {
			case r.Gone:
				got = "not ours"
			case r.Deleting:
				got += " deleting"
			case r.Skip != "":
				got += " waiting"
			}
			want(t, c.why, got, c.want)
			if listed := slices.Contains(x.Gateways(), key); listed == r.Gone || x.Belonging(key).Ours == r.Gone {
				t.Errorf("Gateways: %v, Belonging: %+v, and Gone is %v", listed, x.Belonging(key), r.Gone)
			}
			if b := x.Belonging(key); !b.Exists || b.ClassExists == unknown[c.name] {
				t.Errorf("Belonging is %+v", b)
			}
			for _, p := range Status(x, map[Key]Result{key: r}, nil, now()) {
				if s := p.Status.(*corev1.ServiceStatus); r.Gone && (len(s.Conditions) > 0 || !strings.Contains(c.text, "type: fake.")) {
					t.Errorf("a status is written: %+v, want nothing but ours removed from it", s)
				}
			}
		})
	}
}

// TestServiceLeaves: a Service that becomes a ClusterIP keeps our conditions until
// its load balancer is gone, since they say whose it is, and then nothing of ours.
func TestServiceLeaves(t *testing.T) {
	key := Key{KindService, "apps", "s"}
	w := newWorld(t, `
kind: Service
metadata: {name: s, namespace: apps, finalizers: [gatehouse.dev/cloud-resources, other.test/x]}
spec: {type: LoadBalancer, loadBalancerClass: gatehouse.dev/fake, ports: [{port: 80}]}
status: {conditions: [{type: other.test/Odd, status: "True", reason: Theirs, message: "", lastTransitionTime: null}]}
`)
	now := func() *corev1.Service {
		svc, _ := lookup[*corev1.Service](w.x, key.Kind, key.Namespace, key.Name)
		return svc.DeepCopy()
	}
	have := func() (out []string) {
		for _, c := range now().Status.Conditions {
			out = append(out, c.Type+"="+c.Reason)
		}
		return out
	}
	want(t, "served", strings.Join(have(), " "), "other.test/Odd=Theirs fake.gatehouse.dev/Accepted=Accepted fake.gatehouse.dev/Programmed=Programmed fake.gatehouse.dev/InSync=InSync")
	svc := now()
	svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
	if concerned, _ := w.change(Change{Put: []any{svc}}); !slices.Contains(concerned, key) {
		t.Errorf("the change of type concerns %v", concerned)
	}
	want(t, "leaving", strings.Join(have(), " "), "other.test/Odd=Theirs fake.gatehouse.dev/Accepted=Accepted fake.gatehouse.dev/Programmed=Deleting fake.gatehouse.dev/InSync=InSync")
	svc = now()
	svc.Finalizers = []string{"other.test/x"}
	w.change(Change{Put: []any{svc}})
	want(t, "left", strings.Join(have(), " "), "other.test/Odd=Theirs")
	if n := len(now().Status.LoadBalancer.Ingress); n != 0 || len(w.x.Gateways()) != 0 {
		t.Errorf("%d addresses are left, and Gateways is %v", n, w.x.Gateways())
	}
}

// TestServiceFailure: an error of the cloud names the call on the Service, also
// while it goes, and its port says so.
func TestServiceFailure(t *testing.T) {
	x := indexOf(t, `
kind: Service
metadata: {name: s, namespace: apps}
spec: {type: LoadBalancer, loadBalancerClass: gatehouse.dev/fake, ipFamilies: [IPv6, IPv4], ports: [{name: a, port: 80}, {name: b, port: 81}]}
`)
	key := Key{KindService, "apps", "s"}
	denied := lbmodel.Errorf(lbmodel.CodeDenied, "DeleteBalancer", lbmodel.ID{}, "by the test")
	outcome := Outcome{
		Addresses: []lbmodel.Address{{Type: lbmodel.AddressHostname, Value: "lb.test"}, {Type: lbmodel.AddressIP, Value: "192.0.2.1"}, {Type: lbmodel.AddressIP, Value: "2001:db8::1"}},
		Failed:    map[lbmodel.Source]error{key.source("b"): denied},
	}
	results := translateAll(t, x)
	s := serviceStatus(t, Status(x, results, map[Key]Outcome{key: outcome}, now()))
	var at []string
	for _, in := range s.LoadBalancer.Ingress {
		at = append(at, fmt.Sprint(in.IP, in.Hostname, deref(in.IPMode, ""), deref(in.Ports[1].Error, "")))
	}
	want(t, "the first family is first, a hostname has no mode", strings.Join(at, " "),
		"2001:db8::1Proxygatehouse.dev/Denied lb.testgatehouse.dev/Denied 192.0.2.1Proxygatehouse.dev/Denied")
	want(t, "one port of two is served", condition(s.Conditions, "fake.gatehouse.dev/Programmed"), "True/Programmed")

	going := results[key]
	going.Deleting = true
	s = serviceStatus(t, Status(x, map[Key]Result{key: going}, map[Key]Outcome{key: outcome}, now()))
	want(t, "going", condition(s.Conditions, "fake.gatehouse.dev/Programmed"), "False/Denied")
	i := slices.IndexFunc(s.Conditions, func(c metav1.Condition) bool { return c.Type == "fake.gatehouse.dev/Programmed" })
	if !strings.Contains(s.Conditions[i].Message, "DeleteBalancer") {
		t.Errorf("the message is %q, want the call in it", s.Conditions[i].Message)
	}
}

// TestServiceProvider: what a provider does not offer is left out where it was only
// preferred, and the mode of an address says how packets come to a backend.
func TestServiceProvider(t *testing.T) {
	cases := []struct {
		name, why string
		policy    corev1.IPFamilyPolicy
		offers    []lbmodel.Feature
		families  string
		mode      corev1.LoadBalancerIPMode
	}{
		{"preferred and not there", "IPv4 alone is what it can have", corev1.IPFamilyPolicyPreferDualStack, []lbmodel.Feature{lbmodel.FeatureTCP}, "IPv4", corev1.LoadBalancerIPModeVIP},
		{"required and not there", "Restrict refuses it", corev1.IPFamilyPolicyRequireDualStack, []lbmodel.Feature{lbmodel.FeatureTCP}, "IPv4 IPv6", corev1.LoadBalancerIPModeVIP},
		{"preferred and there", "", corev1.IPFamilyPolicyPreferDualStack, []lbmodel.Feature{lbmodel.FeatureTCP, lbmodel.FeatureIPv6, lbmodel.FeatureProxied}, "IPv4 IPv6", corev1.LoadBalancerIPModeProxy},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			svc := serviceOf(t, `
metadata: {name: s, namespace: apps}
spec: {type: LoadBalancer, ipFamilies: [IPv4, IPv6], ports: [{port: 80}, {name: u, port: 80, protocol: UDP}]}`)
			svc.Spec.IPFamilyPolicy = &c.policy
			o := Options{ServiceDefault: "weak", Offers: func(string, json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
				f := lbmodel.Features{Has: map[lbmodel.Feature]lbmodel.Support{}}
				for _, name := range c.offers {
					f.Has[name] = lbmodel.Yes
				}
				return f, nil
			}}
			x := New(snapshotOf(svc), o)
			results := translateAll(t, x)
			r := results[Key{KindService, "apps", "s"}]
			var families []lbmodel.IPFamily
			for _, a := range r.Gateway.Addresses {
				families = append(families, a.Family)
			}
			want(t, c.why, strings.ReplaceAll(joinWords(families), ",", ""), c.families)
			if len(r.Gateway.Listeners) != 1 || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Detail, "protocol UDP") {
				t.Errorf("%d listeners and findings %+v, want TCP alone and UDP refused", len(r.Gateway.Listeners), r.Findings)
			}
			s := serviceStatus(t, Status(x, results, appliedOutcomes(results), now()))
			if got := *s.LoadBalancer.Ingress[0].IPMode; got != c.mode {
				t.Errorf("ipMode is %s, want %s", got, c.mode)
			}
		})
	}
}

// TestServiceParameters: those of the provider hold for all of its Services, and
// with wrong ones nothing is planned.
func TestServiceParameters(t *testing.T) {
	const service = `
kind: Service
metadata: {name: s, namespace: apps}
spec: {type: LoadBalancer, loadBalancerClass: gatehouse.dev/fake, ports: [{port: 80, nodePort: 30080}]}
---
`
	key := Key{KindService, "apps", "s"}
	parameters := func(spec string) []any {
		return decode(t, "kind: GatewayParameters\nmetadata: {name: services, namespace: apps}\nspec: "+spec)
	}
	w := newWorld(t, service)
	steps := []struct{ name, spec, group, skip string }{
		{"nodes", "{serviceTargets: Nodes, fake: {}}", "apps/s:80+nodes", ""},
		{"no section", "{serviceTargets: Nodes}", "apps/s:80+nodes", "spec must have exactly one provider section"},
		{"pods", "{fake: {}}", "apps/s:80", ""},
	}
	for _, step := range steps {
		concerned, _ := w.change(Change{Put: parameters(step.spec)})
		if !slices.Contains(concerned, key) {
			t.Errorf("%s: concerned are %v", step.name, concerned)
		}
		r := w.x.Gateway(key)
		want(t, step.name, r.Gateway.Pools[0].Group, step.group)
		if (r.Skip == "") != (step.skip == "") || !strings.Contains(r.Skip, step.skip) {
			t.Errorf("%s: Skip is %q, want %q", step.name, r.Skip, step.skip)
		}
	}
	o := testOptions()
	o.ServiceParameters["fake"] = types.NamespacedName{Namespace: "apps", Name: "none"}
	r := New(snapshotOf(decode(t, service)...), o).Gateway(key)
	if !strings.Contains(r.Skip, "apps/none") || !strings.Contains(r.Skip, "does not exist") {
		t.Errorf("without the object Skip is %q", r.Skip)
	}
}
