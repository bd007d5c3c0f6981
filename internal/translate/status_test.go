package translate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// TestConditionList holds what the API says about conditions that several
// writers share.
func TestConditionList(t *testing.T) {
	early := metav1.Unix(1000, 0)
	have := []metav1.Condition{
		{Type: "acme.test/Odd", Status: "True", Reason: "Theirs", LastTransitionTime: early},
		{Type: condAccepted, Status: "True", Reason: "Accepted", ObservedGeneration: 3, LastTransitionTime: early},
		{Type: condPartial, Status: "True", Reason: "UnsupportedValue", ObservedGeneration: 3, LastTransitionTime: early},
	}
	cases := []struct {
		name, why  string
		generation int64
		do         func(*conditionList)
		want       string
	}{
		{"same status", "the time of transition stays, the generation moves", 4,
			func(c *conditionList) { c.set(condAccepted, yes("Accepted", "")) }, "acme.test/Odd@0 t1000, Accepted=True@4 t1000, PartiallyInvalid@3 t1000"},
		{"other status", "the time moves", 4,
			func(c *conditionList) { c.set(condAccepted, no("Invalid", "")) }, "acme.test/Odd@0 t1000, Accepted=False@4 t2000, PartiallyInvalid@3 t1000"},
		{"older copy", "observedGeneration is never lowered: our copy is the old one", 2,
			func(c *conditionList) { c.set(condAccepted, no("Invalid", "")); c.remove(condPartial) }, "acme.test/Odd@0 t1000, Accepted=True@3 t1000, PartiallyInvalid@3 t1000"},
		{"gone", "a condition of negative polarity exists while it is true", 3,
			func(c *conditionList) { c.put(condPartial, verdict{}) }, "acme.test/Odd@0 t1000, Accepted=True@3 t1000"},
		{"full", "eight are the most; foreign ones are not pushed out", 3,
			func(c *conditionList) {
				for i := range 9 {
					c.set(fmt.Sprintf("X%d", i), yes("Y", ""))
				}
			}, "acme.test/Odd@0 t1000, Accepted=True@3 t1000, PartiallyInvalid@3 t1000, X0@3 t2000, X1@3 t2000, X2@3 t2000, X3@3 t2000, X4@3 t2000"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			list := newConditions(have, c.generation, metav1.Unix(2000, 0))
			c.do(list)
			want(t, c.why, conditionsText(list.list), c.want)
		})
	}
}

func conditionsText(list []metav1.Condition) string {
	var out []string
	for _, c := range list {
		status := ""
		if c.Type == condAccepted {
			status = "=" + string(c.Status)
		}
		out = append(out, fmt.Sprintf("%s%s@%d t%d", c.Type, status, c.ObservedGeneration, c.LastTransitionTime.Unix()))
	}
	return strings.Join(out, ", ")
}

// TestOutcomes: what the cloud said becomes the conditions of the design's error
// table, for the Gateway and for single listeners.
func TestOutcomes(t *testing.T) {
	x := indexOf(t, `
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 1}
spec:
  gatewayClassName: offcluster
  listeners: [{name: one, port: 80, protocol: HTTP}, {name: two, port: 81, protocol: HTTP}]
`)
	key := Key{KindGateway, "apps", "edge"}
	address := []lbmodel.Address{{Type: lbmodel.AddressIP, Value: "192.0.2.1"}}
	failed := func(section string, code lbmodel.Code) map[lbmodel.Source]error {
		return map[lbmodel.Source]error{key.source(section): lbmodel.Errorf(code, "CreateX", lbmodel.ID{}, "%w", errors.New("limit 50 reached"))}
	}
	cases := []struct {
		name, why         string
		outcome           *Outcome
		gateway, one, two string
	}{
		{"not applied", "no news about the cloud", nil, "", "", ""},
		{"applied", "", &Outcome{Addresses: address}, "True/Programmed", "True/Programmed", "True/Programmed"},
		{"converging", "", &Outcome{Addresses: address, Pending: true}, "False/Pending", "False/Pending", "False/Pending"},
		{"no address", "", &Outcome{}, "False/AddressNotAssigned", "False/Pending", "False/Pending"},
		{"one listener failed", "the other is served, and so is the Gateway", &Outcome{Addresses: address, Failed: failed("one", lbmodel.CodeQuota)},
			"True/Programmed", "False/NoResources", "True/Programmed"},
		{"quota", "", &Outcome{Addresses: address, Failed: failed("", lbmodel.CodeQuota)}, "False/NoResources", "False/Pending", "False/Pending"},
		{"denied", "", &Outcome{Addresses: address, Failed: failed("", lbmodel.CodeDenied)}, "False/Denied", "False/Pending", "False/Pending"},
		{"throttled", "a try again is no news", &Outcome{Addresses: address, Failed: failed("", lbmodel.CodeThrottled)}, "", "", ""},
		{"the cloud does not answer", "whoever waits must not be told nothing", &Outcome{Addresses: address, Failed: failed("", lbmodel.CodeUnavailable)}, "False/Pending", "", ""},
		{"not seen", "what translation knows is told all the same", &Outcome{Unseen: lbmodel.Errorf(lbmodel.CodeDenied, "Observe", lbmodel.ID{}, "no")}, "False/Pending", "", ""},
		{"no answer yet", "no news about the cloud", &Outcome{Underway: true}, "", "", ""},
		{"refused address", "Restrict's finding", &Outcome{Findings: []lbmodel.Finding{{About: key.source(""), Condition: condAccepted, Reason: "UnsupportedAddress"}}},
			"False/Invalid", "False/Invalid", "False/Invalid"},
		{"one address of several refused", "a finding about one of spec.addresses is the Gateway's own", &Outcome{Addresses: address, Findings: []lbmodel.Finding{{About: key.source("addresses[1]"), Condition: condProgrammed, Reason: "AddressNotUsable"}}},
			"False/AddressNotUsable", "False/Pending", "False/Pending"},
		{"refused listener", "Restrict's finding", &Outcome{Addresses: address, Findings: []lbmodel.Finding{{About: key.source("two"), Parent: key.source(""), Condition: condAccepted, Reason: "UnsupportedProtocol"}}},
			"True/Programmed", "True/Programmed", "False/Invalid"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			outcomes := map[Key]Outcome{}
			if c.outcome != nil {
				outcomes[key] = *c.outcome
			}
			patches := Status(x, translateAll(t, x), outcomes, now())
			i := slices.IndexFunc(patches, func(p Patch) bool { return p.Key == key })
			s := patches[i].Status.(*gwv1.GatewayStatus)
			want(t, c.why+" Gateway", condition(s.Conditions, condProgrammed), c.gateway)
			want(t, c.why+" one", condition(s.Listeners[0].Conditions, condProgrammed), c.one)
			want(t, c.why+" two", condition(s.Listeners[1].Conditions, condProgrammed), c.two)
		})
	}
}

// TestUnseen: what is told of a cloud that cannot be looked at, beside what a status
// says already. Why this table: an outage is no reason to call broken what serves, nor
// to call in sync what nobody can see, and the same outage is written once.
func TestUnseen(t *testing.T) {
	const gateway = "kind: Gateway\nmetadata: {name: edge, namespace: apps, generation: 2%s}\nspec: {gatewayClassName: offcluster, listeners: [{name: one, port: 80, protocol: HTTP}]}\n"
	const deleted = `, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [gatehouse.dev/cloud-resources]`
	programmed := func(generation int) string {
		return fmt.Sprintf("status: {conditions: [{type: Programmed, status: \"True\", reason: Programmed, message: \"\", lastTransitionTime: null, observedGeneration: %d}]}", generation)
	}
	tests := []struct{ name, meta, status, want string }{
		{"new", "", "", "False/Pending: it cannot be programmed now (Unavailable), and is tried again"},
		{"programmed", "", programmed(2), "True/Programmed"},
		{"edited since", "", programmed(1), "False/Pending: it cannot be programmed now (Unavailable), and is tried again"},
		{"deleted", deleted, programmed(2), "False/Pending: it cannot be deleted now (Unavailable), and is tried again"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			x, key := indexOf(t, fmt.Sprintf(gateway, c.meta)+c.status), Key{KindGateway, "apps", "edge"}
			for try := range 2 {
				outcome := Outcome{Unseen: lbmodel.Errorf(lbmodel.CodeUnavailable, "Observe", lbmodel.ID{}, "from port %d", try)}
				patches := Status(x, map[Key]Result{key: x.Gateway(key)}, map[Key]Outcome{key: outcome}, now())
				i := slices.IndexFunc(patches, func(p Patch) bool { return p.Key == key })
				if try > 0 {
					want(t, "patches of the same outage", fmt.Sprint(i), "-1")
					return
				}
				s := patches[i].Status.(*gwv1.GatewayStatus)
				have := condition(s.Conditions, condProgrammed)
				for _, cond := range s.Conditions {
					if text, _, there := strings.Cut(cond.Message, ": "); cond.Type == condProgrammed && there {
						have += ": " + text
					}
				}
				want(t, "Programmed", have, c.want)
				want(t, "InSync", condition(s.Conditions, CondInSync), "Unknown/Unseen")
				want(t, "Accepted", condition(s.Conditions, condAccepted), "True/Accepted")
				x, _ = x.With(written(t, x, patches))
			}
		})
	}
}

// TestClassNotThere: an entry without a controller's name is one that the API server
// refuses, with all others of the object.
func TestClassNotThere(t *testing.T) {
	const text = `
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 1}
spec: {gatewayClassName: offcluster, listeners: [{name: one, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {name: told, namespace: apps, generation: 2}
spec: {parentRefs: [{name: edge}]}
status: {parents: [{parentRef: {name: edge}, controllerName: gatehouse.dev/fake, conditions: []}]}
---
kind: HTTPRoute
metadata: {name: new, namespace: apps, generation: 1}
spec: {parentRefs: [{name: edge}]}
`
	x, key := indexOf(t, text), Key{KindGateway, "apps", "edge"}
	results := map[Key]Result{key: x.Gateway(key)}
	x, _ = x.With(Change{Delete: []Key{{Kind: KindGatewayClass, Name: "offcluster"}}})
	told := false
	for _, p := range Status(x, results, nil, now()) {
		s, is := p.Status.(*gwv1.HTTPRouteStatus)
		if !is {
			continue
		}
		told = told || p.Key.Name == "told" && len(s.Parents) == 1
		for _, parent := range s.Parents {
			want(t, "controller of "+p.Key.Name, string(parent.ControllerName), "gatehouse.dev/fake")
		}
	}
	if !told {
		t.Error("the entry that is there is not kept up to date")
	}
}

// TestLeavingKeepsProgrammed: a gateway that is going wants nothing, so nothing is
// wrong with what it wants; that is no news about the cloud.
func TestLeavingKeepsProgrammed(t *testing.T) {
	x := indexOf(t, `
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 2, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [gatehouse.dev/cloud-resources]}
spec:
  gatewayClassName: offcluster
  listeners: [{name: one, port: 80, protocol: HTTP}]
status:
  conditions: [{type: Programmed, status: "False", reason: AddressNotUsable, message: "taken", lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1}]
`)
	key := Key{KindGateway, "apps", "edge"}
	outcome := Outcome{Addresses: []lbmodel.Address{{Type: lbmodel.AddressIP, Value: "192.0.2.1"}}, Sync: Sync{Reason: Paused}}
	for _, p := range Status(x, translateAll(t, x), map[Key]Outcome{key: outcome}, now()) {
		if p.Key == key {
			s := p.Status.(*gwv1.GatewayStatus)
			want(t, "Programmed", condition(s.Conditions, condProgrammed), "False/AddressNotUsable")
			want(t, "InSync", condition(s.Conditions, CondInSync), "False/Paused")
			return
		}
	}
	t.Error("the pause is not told")
}

// TestRestrictReachesStatus: what a provider cannot do, found by Restrict, is
// told on the route and the policy; a route whose every rule is refused is not
// accepted.
func TestRestrictReachesStatus(t *testing.T) {
	w := newWorld(t, strings.Replace(twoGateways, "rules: [{", "rules: [{matches: [{method: GET}], ", 1)+`---
kind: BackendTLSPolicy
metadata: {name: p, namespace: apps, generation: 1}
spec: {targetRefs: [{group: "", kind: Service, name: a}], validation: {hostname: x.test, wellKnownCACertificates: System}}
`)
	results, outcomes := translateAll(t, w.x), map[Key]Outcome{}
	weak := lbmodel.Features{Has: map[lbmodel.Feature]lbmodel.Support{lbmodel.FeatureHTTP: lbmodel.Yes, lbmodel.FeatureBackendTLSSNI: lbmodel.Yes}}
	for key, r := range results {
		_, findings := lbmodel.Restrict(r.Gateway, weak)
		outcomes[key] = Outcome{Findings: findings, Addresses: []lbmodel.Address{{Type: lbmodel.AddressIP, Value: "192.0.2.1"}}}
	}
	w.write(Status(w.x, results, outcomes, now()))
	parent := w.route("r").Status.Parents[1]
	want(t, "route Accepted", condition(parent.Conditions, condAccepted), "False/UnsupportedValue")
	g, _ := lookup[*gwv1.Gateway](w.x, KindGateway, "apps", "edge")
	if n := g.Status.Listeners[0].AttachedRoutes; n != 0 {
		t.Errorf("attachedRoutes is %d; a route that is not accepted does not count", n)
	}
	policy, _ := lookup[*gwv1.BackendTLSPolicy](w.x, KindBackendTLSPolicy, "apps", "p")
	want(t, "policy BackendTLS", condition(policy.Status.Ancestors[0].Conditions, CondBackendTLS), "False/UnsupportedValue")
}

// TestSupportedFeatures: sorted as the API demands, no more than can be had, and
// within the status's bound.
func TestSupportedFeatures(t *testing.T) {
	all := Options{Infrastructure: true}.supportedFeatures(&class{everything: true})
	if len(all) != len(advertised) || len(all) > 64 {
		t.Errorf("%d features of %d; a status holds 64", len(all), len(advertised))
	}
	if !slices.IsSortedFunc(all, func(a, b gwv1.SupportedFeature) int { return strings.Compare(string(a.Name), string(b.Name)) }) {
		t.Error("the features are not sorted")
	}
	weak := class{features: lbmodel.Features{Has: map[lbmodel.Feature]lbmodel.Support{lbmodel.FeatureTLSPassthrough: lbmodel.Yes, lbmodel.FeatureTCP: "on Mondays"},
		Unclaimed: []lbmodel.Feature{lbmodel.FeatureTCP}}}
	var names []string
	for _, f := range (Options{NoTrustBundles: true}).supportedFeatures(&weak) {
		names = append(names, string(f.Name))
	}
	want(t, "features of a passthrough provider", strings.Join(names, " "), "Gateway GatewayRouteHostnameIntersectionPrecedence ListenerSet ReferenceGrant TLSRoute")
}

// TestPolicyIsFull: the seventeenth gateway finds no room in a policy's status,
// so the policy cannot be implemented for it and its backend answers 500. Other
// controllers' entries count and stay.
func TestPolicyIsFull(t *testing.T) {
	var text strings.Builder
	parents := ""
	for i := range 18 {
		fmt.Fprintf(&text, "kind: Gateway\nmetadata: {name: g%02d, namespace: apps}\nspec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}\n---\n", i)
		parents += fmt.Sprintf("{name: g%02d}, ", i)
	}
	fmt.Fprintf(&text, `kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec: {parentRefs: [%s], rules: [{backendRefs: [{name: a, port: 80}]}]}
---
kind: BackendTLSPolicy
metadata: {name: p, namespace: apps}
spec: {targetRefs: [{group: "", kind: Service, name: a}], validation: {hostname: x.test, wellKnownCACertificates: System}}
status: {ancestors: [{ancestorRef: {name: theirs}, controllerName: acme.test/x, conditions: []}]}
`, parents)
	w := newWorld(t, text.String())
	p, _ := lookup[*gwv1.BackendTLSPolicy](w.x, KindBackendTLSPolicy, "apps", "p")
	if n := len(p.Status.Ancestors); n != maxAncestors || p.Status.Ancestors[0].ControllerName != "acme.test/x" {
		t.Errorf("%d ancestors, the first of %s; want 16 and the other controller's first", n, p.Status.Ancestors[0].ControllerName)
	}
	protected := 0
	for _, r := range translateAll(t, w.x) {
		if r.Gateway.Listeners[0].Rules[0].Action.Forward.Backends[0].Fixed == nil {
			protected++
		}
	}
	if protected != 15 {
		t.Errorf("%d gateways use the policy, want the 15 that its status has room for", protected)
	}
	want(t, "the sixteenth's route", condition(w.route("r").Status.Parents[15].Conditions, condResolvedRefs), "False/InvalidBackendTLS")
}

// TestNoTrustBundles: where the kind is not served, a reference to one is of an
// unknown kind, and the feature is not advertised (GEP-5075).
func TestNoTrustBundles(t *testing.T) {
	objects := decode(t, readFile(t, "common.yaml")+`
---
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 1}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: a, port: 80}]}]}
---
kind: BackendTLSPolicy
metadata: {name: p, namespace: apps}
spec: {targetRefs: [{group: "", kind: Service, name: a}], validation: {hostname: x.test, caCertificateRefs: [{group: certificates.k8s.io, kind: ClusterTrustBundle, name: roots}]}}
---
kind: ClusterTrustBundle
metadata: {name: roots}
spec: {trustBundle: "@ca1"}
`)
	for _, c := range []struct {
		name, why, accepted, resolved string
		options                       Options
	}{
		{"served", "the bundle is good", "True/Accepted", "True/ResolvedRefs", testOptions()},
		{"not served", "the same text names nothing", "False/NoValidCACertificate", "False/InvalidKind", withoutBundles(testOptions())},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, judged := New(snapshotOf(objects...), c.options), 0
			for _, p := range Status(x, translateAll(t, x), nil, now()) {
				switch status := p.Status.(type) {
				case *gwv1.PolicyStatus:
					judged++
					want(t, c.why, condition(status.Ancestors[0].Conditions, condAccepted), c.accepted)
					want(t, c.why, condition(status.Ancestors[0].Conditions, condResolvedRefs), c.resolved)
				case *gwv1.GatewayClassStatus:
					offered := slices.ContainsFunc(status.SupportedFeatures, func(f gwv1.SupportedFeature) bool { return f.Name == "ClusterTrustBundle" })
					judged++
					if offered == c.options.NoTrustBundles {
						t.Errorf("%s: ClusterTrustBundle advertised: %v", c.why, offered)
					}
				}
			}
			if judged != 2 {
				t.Errorf("%d statuses of a class and a policy, want 2", judged)
			}
		})
	}
}

func withoutBundles(o Options) Options {
	o.NoTrustBundles = true
	return o
}
