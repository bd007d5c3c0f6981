package translate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/lbmodel"
)

// long is a host name as nobody has one.
func long() string { return strings.Repeat("x", 9_990) + ".long.test" }

// garbage are objects that no API server would let in, that one once did, or that
// make no sense together.
func garbage() []struct {
	name, why string
	objects   func() []any
} {
	return []struct {
		name, why string
		objects   func() []any
	}{
		{"64 listeners of one host of 10,000 characters", "each condition names them all", manyListeners},
		{"16 parents and 16 hosts of 10,000 characters", "each parent has a status that names what is wrong", manyParents},
		{"invalid regular expressions", "they are the user's text and end in messages", badExpressions},
		{"references in circles", "following them must end", circles},
		{"bytes that are no text", "messages are UTF-8", notText},
		{"nothing but names", "every field is missing", bare},
	}
}

func garbageGateway(name string, listeners ...gwv1.Listener) *gwv1.Gateway {
	return &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, Generation: 1},
		Spec:       gwv1.GatewaySpec{GatewayClassName: "ours", Listeners: listeners},
	}
}

func garbageRoute(name string, rules []gwv1.HTTPRouteRule, parents ...gwv1.ParentReference) *gwv1.HTTPRoute {
	r := &gwv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, Generation: 1}, Spec: gwv1.HTTPRouteSpec{Rules: rules}}
	r.Spec.ParentRefs = parents
	return r
}

func manyListeners() []any {
	var all []gwv1.Listener
	for i := range 64 {
		l := gwv1.Listener{Name: gwv1.SectionName(fmt.Sprint("l", i)), Port: gwv1.PortNumber(80 + i/8), Protocol: gwv1.HTTPProtocolType, Hostname: new(gwv1.Hostname(long()))}
		if i%3 == 0 {
			l.Protocol, l.TLS = gwv1.HTTPSProtocolType, &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: gwv1.ObjectName(long())}}}
		}
		all = append(all, l)
	}
	set := &gwv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "set", Generation: 1}}
	set.Spec.ParentRef.Name = "edge"
	for _, l := range all {
		set.Spec.Listeners = append(set.Spec.Listeners, gwv1.ListenerEntry{Name: l.Name, Port: l.Port, Protocol: l.Protocol, Hostname: l.Hostname})
	}
	g := garbageGateway("edge", all...)
	g.Spec.AllowedListeners = &gwv1.AllowedListeners{Namespaces: &gwv1.ListenerNamespaces{From: new(gwv1.NamespacesFromAll)}}
	return []any{g, set}
}

func manyParents() []any {
	var parents []gwv1.ParentReference
	out := []any{}
	for i := range 16 {
		name := fmt.Sprint("g", i)
		parents = append(parents, gwv1.ParentReference{Name: gwv1.ObjectName(name)}, gwv1.ParentReference{Name: gwv1.ObjectName(name), SectionName: new(gwv1.SectionName(long()))})
		out = append(out, garbageGateway(name, gwv1.Listener{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}))
	}
	var rules []gwv1.HTTPRouteRule
	for range 16 {
		rules = append(rules, gwv1.HTTPRouteRule{BackendRefs: []gwv1.HTTPBackendRef{{BackendRef: gwv1.BackendRef{BackendObjectReference: gwv1.BackendObjectReference{Name: gwv1.ObjectName(long())}}}}})
	}
	r := garbageRoute("r", rules, parents...)
	for range 16 {
		r.Spec.Hostnames = append(r.Spec.Hostnames, gwv1.Hostname(long()))
	}
	return append(out, r)
}

func badExpressions() []any {
	var rules []gwv1.HTTPRouteRule
	for _, e := range []string{"(", "[z-a]", "a{1001}", "(?<n>", strings.Repeat("(", 5000), "\xff", strings.Repeat("(a*)*", 1000)} {
		rules = append(rules, gwv1.HTTPRouteRule{Matches: []gwv1.HTTPRouteMatch{{
			Path:        &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchRegularExpression), Value: new(e)},
			Headers:     []gwv1.HTTPHeaderMatch{{Type: new(gwv1.HeaderMatchRegularExpression), Name: "h", Value: e}},
			QueryParams: []gwv1.HTTPQueryParamMatch{{Type: new(gwv1.QueryParamMatchRegularExpression), Name: gwv1.HTTPHeaderName(e), Value: e}},
		}}})
	}
	return []any{garbageGateway("edge", gwv1.Listener{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}), garbageRoute("r", rules, gwv1.ParentReference{Name: "edge"})}
}

func circles() []any {
	set := func(name, parent string) *gwv1.ListenerSet {
		s := &gwv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}
		s.Spec.ParentRef = gwv1.ParentGatewayReference{Name: gwv1.ObjectName(parent), Kind: new(gwv1.Kind(KindListenerSet))}
		return s
	}
	self := gwv1.BackendObjectReference{Kind: new(gwv1.Kind(KindHTTPRoute)), Group: new(gwv1.Group(groupGateway)), Name: "r"}
	rule := gwv1.HTTPRouteRule{
		Filters: []gwv1.HTTPRouteFilter{
			{Type: gwv1.HTTPRouteFilterRequestMirror, RequestMirror: &gwv1.HTTPRequestMirrorFilter{BackendRef: self}},
			{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: &gwv1.LocalObjectReference{Kind: KindHTTPRoute, Name: "r"}},
		},
		BackendRefs: []gwv1.HTTPBackendRef{{BackendRef: gwv1.BackendRef{BackendObjectReference: self}}},
	}
	ext := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "ext"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "ext.apps.svc.cluster.local"}}
	policy := &gwv1.BackendTLSPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "p"}}
	policy.Spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{{LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{Group: groupGateway, Kind: KindBackendTLSPolicy, Name: "p"}}}
	g := garbageGateway("edge", gwv1.Listener{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType})
	g.Spec.Infrastructure = &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{Group: groupGateway, Kind: KindGateway, Name: "edge"}}
	return []any{
		g, set("a", "b"), set("b", "a"), set("c", "c"), ext, policy,
		garbageRoute("r", []gwv1.HTTPRouteRule{rule}, gwv1.ParentReference{Name: "edge"}, gwv1.ParentReference{Name: "a", Kind: new(gwv1.Kind(KindListenerSet))}, gwv1.ParentReference{Name: "r", Kind: new(gwv1.Kind(KindHTTPRoute))}),
		garbageRoute("x", []gwv1.HTTPRouteRule{{BackendRefs: []gwv1.HTTPBackendRef{{BackendRef: gwv1.BackendRef{BackendObjectReference: gwv1.BackendObjectReference{Name: "ext", Port: new(gwv1.PortNumber(80))}}}}}}, gwv1.ParentReference{Name: "edge"}),
	}
}

func notText() []any {
	bad := "\xff\x00\xfe\n" + strings.Repeat("é", 5000)
	return []any{
		garbageGateway("edge", gwv1.Listener{Name: gwv1.SectionName(bad), Port: -1, Protocol: gwv1.ProtocolType(bad), Hostname: new(gwv1.Hostname(bad))}, gwv1.Listener{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}),
		garbageRoute("r", []gwv1.HTTPRouteRule{{Matches: []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchType(bad)), Value: new(bad)}, Method: new(gwv1.HTTPMethod(bad))}}}},
			gwv1.ParentReference{Name: "edge", SectionName: new(gwv1.SectionName(bad))}, gwv1.ParentReference{Name: "edge", Port: new(gwv1.PortNumber(-7))}, gwv1.ParentReference{Name: "edge"}),
	}
}

func bare() []any {
	meta := metav1.ObjectMeta{Namespace: "apps", Name: "edge"}
	return []any{
		garbageGateway("edge"), &gwv1.ListenerSet{ObjectMeta: meta}, &gwv1.HTTPRoute{ObjectMeta: meta}, &gwv1.GRPCRoute{ObjectMeta: meta}, &gwv1.TLSRoute{ObjectMeta: meta},
		&gwv1.TCPRoute{ObjectMeta: meta}, &gwv1.UDPRoute{ObjectMeta: meta}, &gwv1.BackendTLSPolicy{ObjectMeta: meta}, &gwxv1alpha1.XBackend{ObjectMeta: meta}, &corev1.Service{ObjectMeta: meta},
		garbageRoute("r", []gwv1.HTTPRouteRule{{}, {Filters: []gwv1.HTTPRouteFilter{{}}, BackendRefs: []gwv1.HTTPBackendRef{{}}}}, gwv1.ParentReference{}, gwv1.ParentReference{Name: "edge"}),
	}
}

// badOutcomes are what a cloud that says too much may make of results.
func badOutcomes(results map[Key]Result) map[Key]Outcome {
	out := map[Key]Outcome{}
	for key, r := range results {
		o := Outcome{Failed: map[lbmodel.Source]error{}, Sync: Sync{Reason: Drifted, Detail: strings.Repeat("ü", 100_000)}}
		for _, l := range r.Gateway.Listeners {
			o.Failed[l.Source] = lbmodel.Errorf(lbmodel.CodeQuota, "Create", lbmodel.ID{}, "\xff\x00")
		}
		for i := range r.Gateway.Pools {
			o.Failed[r.Gateway.Pools[i].Source] = lbmodel.Errorf(lbmodel.CodeQuota, "Create", lbmodel.ID{}, "%s", strings.Repeat("z", 100_000))
		}
		for range 20 {
			o.Addresses = append(o.Addresses, lbmodel.Address{Type: lbmodel.AddressIP, Value: "192.0.2.1"})
		}
		out[key] = o
	}
	return out
}

// TestGarbage: garbage gets conditions that the API server takes, not a crash.
func TestGarbage(t *testing.T) {
	for _, c := range garbage() {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			class := &gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "ours", Generation: 1}, Spec: gwv1.GatewayClassSpec{ControllerName: "gatehouse.dev/fake"}}
			x := New(snapshotOf(append(c.objects(), class)...), testOptions())
			results := map[Key]Result{}
			for _, key := range x.Gateways() {
				results[key] = x.Gateway(key)
			}
			if len(results) == 0 {
				t.Fatal("no gateway is ours")
			}
			for _, outcomes := range []map[Key]Outcome{nil, appliedOutcomes(results), badOutcomes(results)} {
				patches := Status(x, results, outcomes, now())
				if len(patches) == 0 {
					t.Errorf("%s: nobody is told anything", c.why)
				}
				checkStatuses(t, patches)
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("%s: it took %s", c.why, d)
			}
		})
	}
}

// TestStatusesAreValid: so do random objects.
func TestStatusesAreValid(t *testing.T) {
	eachWorld(t, func(t *testing.T, d *dice, _ *rand.Rand) {
		x := New(snapshotOf(d.objects(40)...), testOptions())
		results := translated(x)
		checkStatuses(t, Status(x, results, badOutcomes(results), now()))
	})
}

// TestOwnSlicesAreNoBackends: a route to the Service that carries a gateway's own
// address has no endpoint there; the gateway would send to itself.
func TestOwnSlicesAreNoBackends(t *testing.T) {
	const objects = `kind: Gateway
metadata: {name: edge, namespace: apps}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: Service
metadata: {name: edge-gatehouse, namespace: apps}
spec: {clusterIP: None, ports: [{name: tcp-80, port: 80}]}
---
kind: EndpointSlice
metadata: {name: s, namespace: apps, labels: {kubernetes.io/service-name: edge-gatehouse, endpointslice.kubernetes.io/managed-by: %s}}
addressType: IPv4
ports: [{name: tcp-80, port: 80, protocol: TCP}]
endpoints: [{addresses: [198.18.0.1]}]
---
kind: Pod
metadata: {name: p, namespace: apps}
status: {podIP: 198.18.0.1, podIPs: [{ip: 198.18.0.1}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: edge-gatehouse, port: 80}]}]}
`
	cases := []struct {
		name, why, manager string
		endpoints          int
	}{
		{"ours", "it is the gateway itself", SliceManager, 0},
		{"another's", "hand-made slices count", "acme.test", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, fmt.Sprintf(objects, c.manager))
			r := x.Gateway(Key{KindGateway, "apps", "edge"})
			if len(r.Gateway.Pools) != 1 || len(r.Gateway.Pools[0].Endpoints) != c.endpoints {
				t.Errorf("%s: %+v, findings %v", c.why, r.Gateway.Pools, r.Findings)
			}
		})
	}
}

// limits are those of the CRDs, by field.
func limits() map[string]int {
	return map[string]int{"conditions": 8, "listeners": 64, "parents": 32, "ancestors": 16, "supportedFeatures": 64, "addresses": 16, "supportedKinds": 8}
}

// checkStatuses holds the CRDs' rules for statuses.
func checkStatuses(t *testing.T, patches []Patch) {
	t.Helper()
	for _, p := range patches {
		most := limits()
		if p.Key.Kind == KindXBackend {
			most["ancestors"] = maxBackendAncestors
		}
		text, err := json.Marshal(p.Status)
		var status map[string]any
		if err == nil {
			err = json.Unmarshal(text, &status)
		}
		if err != nil {
			t.Fatal(err)
		}
		checkLists(t, p.Key.String(), status, most)
	}
}

// checkLists walks a status as JSON.
func checkLists(t *testing.T, at string, object map[string]any, most map[string]int) {
	t.Helper()
	for field, value := range object {
		list, isList := value.([]any)
		if n, bounded := most[field]; isList && bounded && len(list) > n {
			t.Errorf("%s: %d %s, the API allows %d", at, len(list), field, n)
		}
		for i, entry := range list {
			m, isMap := entry.(map[string]any)
			switch {
			case isMap && field == "conditions":
				checkCondition(t, fmt.Sprintf("%s.%v", at, m["type"]), m)
			case isMap:
				checkLists(t, fmt.Sprintf("%s.%s[%d]", at, field, i), m, most)
			}
		}
	}
}

// What metav1.Condition's markers say.
var (
	reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	typePattern   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
)

func checkCondition(t *testing.T, at string, c map[string]any) {
	t.Helper()
	kind, _ := c["type"].(string)
	status, _ := c["status"].(string)
	reason, _ := c["reason"].(string)
	message, isText := c["message"].(string)
	switch {
	case !typePattern.MatchString(kind) || len(kind) > 316:
		t.Errorf("%s: type %q", at, kind)
	case status != "True" && status != "False" && status != "Unknown":
		t.Errorf("%s: status %q", at, status)
	case !reasonPattern.MatchString(reason) || len(reason) > 1024:
		t.Errorf("%s: reason %q", at, reason)
	case !isText || utf8.RuneCountInString(message) > 32768 || strings.ContainsRune(message, utf8.RuneError):
		t.Errorf("%s: a message of %d bytes that the API refuses, or that is no text: %.60q", at, len(message), message)
	case c["lastTransitionTime"] == nil:
		t.Errorf("%s: no lastTransitionTime", at)
	}
}
