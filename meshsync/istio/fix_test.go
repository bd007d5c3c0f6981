package istio

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	securityv1 "istio.io/api/security/v1"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

// A gateway whose backend a binding selects, with the abilities of GCP's.
func outcome(in meshsync.Inbound) string {
	hop := meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Minimum: lbmodel.TLSClientAndServer, Selected: true, Roots: 1}
	return meshtest.Outcome(meshsync.Judge(in, hop, meshtest.GCP()))
}

// What a fix says is tried: its YAML is applied to the world, and the port is then
// Direct, with nothing lost.
func TestFixes(t *testing.T) {
	const lossless = "Direct ClientAndServer HTTP1"
	noSelector := strings.Replace(shopService, "selector: {app: shop}", "type: ClusterIP", 1)
	for _, c := range []struct {
		name, why string
		objects   []string
		before    string
		says      []string // in this order
	}{
		{"permissive", "the default", []string{shopService, shopPod}, "Blocked PermissiveInbound",
			[]string{"PeerAuthentication apps/shop-8080-strict", "clear text"}},
		{"disabled", "", []string{shopService, shopPod, wide("DISABLE")}, "Blocked InboundDisabled", []string{"PeerAuthentication apps/shop-8080-strict"}},
		{"no protocol", "it is declared first", []string{shopAuto, shopPod, wide("STRICT")}, "Direct ClientAndServer HTTP1 -L7Policy", []string{"Declare", "appProtocol"}},
		{"no protocol, permissive", "both, in this order", []string{shopAuto, shopPod}, "Blocked PermissiveInbound", []string{"Declare", "then", "PeerAuthentication"}},
		{"a policy selects the pod", "a new one would be younger, and lose", []string{shopService, shopPod, wide("STRICT"),
			peer("apps", "old", "2", `{`+selectsShop+`, mtls: {mode: PERMISSIVE}, portLevelMtls: {"9000": {mode: DISABLE}}}`)}, "Blocked PermissiveInbound", []string{"PeerAuthentication apps/old"}},
		{"a policy selects the port", "", []string{shopService, shopPod,
			peer("apps", "old", "2", `{`+selectsShop+`, portLevelMtls: {"8080": {mode: DISABLE}}}`)}, "Blocked InboundDisabled", []string{"PeerAuthentication apps/old"}},
		{"two policies select the pod", "the older counts", []string{shopService, shopPod,
			peer("apps", "young", "3", `{`+selectsShop+`, mtls: {mode: STRICT}}`), peer("apps", "old", "2", `{`+selectsShop+`}`)}, "Blocked PermissiveInbound", []string{"PeerAuthentication apps/old"}},
		{"no selector, but a policy", "", []string{noSelector, shopPod, peer("apps", "old", "2", `{`+selectsShop+`}`)}, "Blocked PermissiveInbound", []string{"PeerAuthentication apps/old"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := meshtest.Parse(t, c.objects...)
			in := w.Accepts(Dialect{}, "apps", "shop", "shop-1")
			if got := outcome(in); got != c.before {
				t.Fatalf("before: %s, want %s", got, c.before)
			}
			if in.Fix == nil {
				t.Fatalf("no fix: %s", c.why)
			}
			inOrder(t, in.Fix.Say, c.says)
			w.Apply(in.Fix.YAML)
			after := w.Accepts(Dialect{}, "apps", "shop", "shop-1")
			if got := outcome(after); got != lossless {
				t.Errorf("after: %s, want %s: %s\n%s", got, lossless, c.why, in.Fix.YAML)
			}
			if after.Fix != nil {
				t.Errorf("a fix is left: %+v", after.Fix)
			}
		})
	}
}

func inOrder(t *testing.T, text string, words []string) {
	t.Helper()
	rest := text
	for _, word := range words {
		_, after, ok := strings.Cut(rest, word)
		if !ok {
			t.Errorf("%q has not %q in this place", text, word)
		}
		rest = after
	}
}

// An object that is there already keeps what it had: kubectl apply would take away
// what the file leaves out.
func TestFixKeepsTheRest(t *testing.T) {
	in := shop(t, shopAuto, shopPod, wide("STRICT"))
	var got map[string]any
	if err := yaml.Unmarshal([]byte(in.Fix.YAML), &got); err != nil {
		t.Fatal(err)
	}
	diff(t, got, map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{
			"name": "shop", "namespace": "apps", "labels": map[string]any{"team": "1"},
			"annotations": map[string]any{"note": `a "quoted" note: yes`},
		},
		"spec": map[string]any{
			"selector": map[string]any{"app": "shop"},
			"ports": []any{
				map[string]any{"name": "web", "port": 80.0, "targetPort": 8080.0, "protocol": "TCP", "appProtocol": "http"},
				map[string]any{"name": "other", "port": 81.0, "targetPort": 8081.0, "protocol": "TCP"},
			},
		},
	}, "only appProtocol of one port is new")

	old := peer("apps", "old", "2", `{`+selectsShop+`, mtls: {mode: PERMISSIVE}, portLevelMtls: {"9000": {mode: DISABLE}}}`)
	w := meshtest.Parse(t, shopService, shopPod, old)
	fix := w.Accepts(Dialect{}, "apps", "shop", "shop-1").Fix
	untouched, _ := mapAt(w.Objects(peerAuthentication, "apps")[0].Object, "spec")
	diff(t, untouched["portLevelMtls"], map[string]any{"9000": map[string]any{"mode": "DISABLE"}}, "objects of the world are shared")
	w.Apply(fix.YAML)
	spec, _ := mapAt(w.Objects(peerAuthentication, "apps")[0].Object, "spec")
	diff(t, spec, map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "shop"}}, "mtls": map[string]any{"mode": "PERMISSIVE"},
		"portLevelMtls": map[string]any{"8080": map[string]any{"mode": "STRICT"}, "9000": map[string]any{"mode": "DISABLE"}},
	}, "only the port is new")
}

// Where no PeerAuthentication can help, the fix is a gateway that a client without
// Istio's ALPN reaches.
func TestPadFixes(t *testing.T) {
	noSelector := strings.Replace(shopService, "selector: {app: shop}", "type: ClusterIP", 1)
	for _, c := range []struct {
		name, why string
		objects   []string
	}{
		{"ambient", "no mode makes it direct", []string{shopService, ambientPod}},
		{"ambient, strict", "", []string{shopService, ambientPod, wide("STRICT")}},
		{"no selector", "it does not say which pods are the Service's", []string{noSelector, shopPod}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := meshtest.Parse(t, c.objects...)
			in := w.Accepts(Dialect{}, "apps", "shop", "shop-1")
			if in.Fix == nil || !strings.Contains(in.Fix.Say, "landingPad") {
				t.Fatalf("fix %+v, want a landing pad: %s", in.Fix, c.why)
			}
			w.Apply(in.Fix.YAML)
			pad := PadOf(Dialect{}.Mesh(w), w.Objects(gateway, "apps")[0], "mesh", meshsync.Account{Namespace: "apps", Name: "shop-pad-istio"})
			if got, want := outcome(pad.Inbound), "Direct ClientAndServer HTTP1 -AppHealth"; got != want {
				t.Errorf("the pad is %s, want %s\n%s", got, want, in.Fix.YAML)
			}
		})
	}
}

// Text that YAML would take for something else stays text.
func TestScalars(t *testing.T) {
	for _, text := range []string{"", "true", "No", "y", "1", "1e3", "0x1", "~", "null", "- a", "a: b", "a #b", "'", `"`, "a\nb", "é", "=", "<<", "2026-01-01", ".", "plain", "a/b.c_d-e"} {
		var got map[string]any
		doc := documents(map[string]any{"list": []any{text, map[string]any{text: text}, []any{}, map[string]any{}}, "n": int64(1), "b": true})
		if err := yaml.Unmarshal([]byte(doc), &got); err != nil {
			t.Errorf("%q: %v\n%s", text, err, doc)
			continue
		}
		diff(t, got, map[string]any{"list": []any{text, map[string]any{text: text}, []any{}, map[string]any{}}, "n": 1.0, "b": true}, doc)
	}
}

func TestAuthorization(t *testing.T) {
	text := Authorization(Grant{
		Namespace: "apps", Name: "gatehouse-1-shop", Selector: map[string]string{"app": "shop"}, Port: 8080,
		Principals: []string{"example.org/ns/gatehouse-system/sa/gatehouse-1"},
	})
	var got map[string]any
	if err := yaml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	diff(t, got, map[string]any{
		"apiVersion": "security.istio.io/v1", "kind": "AuthorizationPolicy", "metadata": map[string]any{"name": "gatehouse-1-shop", "namespace": "apps"},
		"spec": map[string]any{
			"action": "ALLOW", "selector": map[string]any{"matchLabels": map[string]any{"app": "shop"}},
			"rules": []any{map[string]any{
				"from": []any{map[string]any{"source": map[string]any{"principals": []any{"example.org/ns/gatehouse-system/sa/gatehouse-1"}}}},
				"to":   []any{map[string]any{"operation": map[string]any{"ports": []any{"8080"}}}},
			}},
		},
	}, "the principal is the identity without its scheme")
	spec, err := json.Marshal(got["spec"])
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(spec, new(securityv1.AuthorizationPolicy)); err != nil {
		t.Errorf("Istio's own API refuses it: %v", err)
	}
}
