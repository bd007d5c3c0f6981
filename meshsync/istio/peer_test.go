package istio

import (
	"strings"
	"testing"

	"gatehouse.dev/meshsync/meshtest"
)

// peer is a PeerAuthentication; age orders them, the lowest is the oldest.
func peer(namespace, name, age, spec string) string {
	return `{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: ` + name + `, namespace: ` + namespace +
		`, creationTimestamp: "2026-01-0` + age + `T00:00:00Z"}, spec: ` + spec + `}`
}

const selectsShop = `selector: {matchLabels: {app: shop}}`

func TestComposition(t *testing.T) {
	for _, c := range []struct {
		name    string
		why     string
		objects []string
		want    Mode
		decides string // part of it
	}{
		{name: "nothing", why: "Istio's default", want: Permissive, decides: "Istio's default"},
		{name: "mesh", objects: []string{wide("STRICT")}, want: Strict, decides: "istio-system/default, field spec.mtls.mode"},
		{name: "namespace over mesh", objects: []string{wide("STRICT"), peer("apps", "a", "2", `{mtls: {mode: PERMISSIVE}}`)}, want: Permissive, decides: "apps/a"},
		{name: "workload over namespace", objects: []string{peer("apps", "a", "1", `{mtls: {mode: PERMISSIVE}}`), peer("apps", "b", "2", `{`+selectsShop+`, mtls: {mode: STRICT}}`)}, want: Strict, decides: "apps/b"},
		{name: "port over workload", objects: []string{peer("apps", "b", "2", `{`+selectsShop+`, mtls: {mode: DISABLE}, portLevelMtls: {"8080": {mode: STRICT}}}`)}, want: Strict, decides: "portLevelMtls[8080].mode"},
		{name: "by the pod's port", why: "the Service's port 80 is not the pod's", objects: []string{peer("apps", "b", "2", `{`+selectsShop+`, portLevelMtls: {"80": {mode: STRICT}}}`)}, want: Permissive},
		{name: "another port", objects: []string{peer("apps", "b", "2", `{`+selectsShop+`, mtls: {mode: STRICT}, portLevelMtls: {"9000": {mode: DISABLE}}}`)}, want: Strict},
		{name: "unset port inherits", objects: []string{peer("apps", "b", "2", `{`+selectsShop+`, mtls: {mode: STRICT}, portLevelMtls: {"8080": {mode: UNSET}}}`)}, want: Strict, decides: "mtls.mode"},
		{name: "unset workload inherits", objects: []string{peer("apps", "a", "1", `{mtls: {mode: STRICT}}`), peer("apps", "b", "2", `{`+selectsShop+`, mtls: {mode: UNSET}}`)}, want: Strict, decides: "apps/a"},
		{name: "unset namespace inherits", objects: []string{wide("STRICT"), peer("apps", "a", "1", `{}`)}, want: Strict, decides: "istio-system/default"},
		{name: "unset mesh is permissive", objects: []string{wide("UNSET")}, want: Permissive},
		{name: "null is unset", objects: []string{wide("STRICT"), peer("apps", "a", "1", `{mtls: null, selector: null}`)}, want: Strict},
		{name: "oldest of a namespace", objects: []string{peer("apps", "a", "3", `{mtls: {mode: STRICT}}`), peer("apps", "z", "2", `{mtls: {mode: DISABLE}}`)}, want: Disable, decides: "apps/z"},
		{name: "oldest though it sets nothing", why: "the younger one is ignored as a whole", objects: []string{peer("apps", "a", "3", `{mtls: {mode: STRICT}}`), peer("apps", "z", "2", `{}`)}, want: Permissive},
		{name: "oldest of a workload", objects: []string{peer("apps", "a", "3", `{`+selectsShop+`, portLevelMtls: {"8080": {mode: STRICT}}}`), peer("apps", "z", "2", `{`+selectsShop+`}`)}, want: Permissive},
		{name: "oldest of the mesh", objects: []string{wide("STRICT"), peer("istio-system", "a", "2", `{mtls: {mode: DISABLE}}`)}, want: Strict},
		{name: "of one age by name", objects: []string{peer("apps", "b", "2", `{mtls: {mode: STRICT}}`), peer("apps", "a", "2", `{mtls: {mode: DISABLE}}`)}, want: Disable},
		{name: "selector of other pods", objects: []string{peer("apps", "b", "2", `{selector: {matchLabels: {app: shop, version: v2}}, mtls: {mode: STRICT}}`)}, want: Permissive},
		{name: "empty selector is the namespace's", objects: []string{peer("apps", "b", "2", `{selector: {matchLabels: {}}, mtls: {mode: STRICT}}`)}, want: Strict},
		{name: "port without selector", why: "Istio ignores it", objects: []string{peer("apps", "b", "2", `{portLevelMtls: {"8080": {mode: STRICT}}}`)}, want: Permissive},
		{name: "selector in the root namespace", why: "Istio ignores it", objects: []string{peer("istio-system", "b", "2", `{`+selectsShop+`, mtls: {mode: STRICT}, portLevelMtls: {"8080": {mode: STRICT}}}`)}, want: Permissive},
		{name: "another namespace", objects: []string{peer("other", "b", "2", `{mtls: {mode: STRICT}}`)}, want: Permissive},
		{name: "unknown fields", why: "Istio ignores them", objects: []string{peer("apps", "a", "1", `{mtls: {mode: STRICT, more: [1]}, extra: {}}`)}, want: Strict},
		{name: "v1beta1", objects: []string{strings.Replace(wide("STRICT"), "/v1,", "/v1beta1,", 1)}, want: Strict},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := shop(t, append([]string{shopService, shopPod}, c.objects...)...)
			if want := "mode " + string(c.want) + ":"; !strings.HasPrefix(in.Detail, want) {
				t.Errorf("detail %q, want %q: %s", in.Detail, want, c.why)
			}
			if !strings.Contains(in.Detail, c.decides) {
				t.Errorf("detail %q names not %q", in.Detail, c.decides)
			}
		})
	}
}

// A root namespace of its own name takes the place of istio-system.
func TestRootNamespace(t *testing.T) {
	in := shop(t, shopService, shopPod, meshConfigMap("rootNamespace: policies"),
		wide("STRICT"), peer("policies", "default", "1", `{mtls: {mode: DISABLE}}`))
	if in.Plain != true || !strings.Contains(in.Detail, "policies/default") {
		t.Errorf("got %+v, want the mode of the configured root namespace", in)
	}
}

// What Istio's API refuses is never taken for a permission, and costs only the pods
// that it may concern.
func TestGarbagePolicies(t *testing.T) {
	for _, c := range []struct {
		name, why, object string
		closed            bool
	}{
		{"unknown mode", "it may mean anything", peer("apps", "a", "1", `{mtls: {mode: STRICTEST}}`), true},
		{"mode is a number", "", peer("apps", "a", "1", `{mtls: {mode: 3}}`), true},
		{"mtls is a text", "", peer("apps", "a", "1", `{mtls: STRICT}`), true},
		{"spec is a list", "", peer("apps", "a", "1", `[]`), true},
		{"selector is a list", "it may select any pod", peer("apps", "a", "1", `{selector: [], mtls: {mode: STRICT}}`), true},
		{"label is a number", "", peer("apps", "a", "1", `{selector: {matchLabels: {app: 1}}}`), true},
		{"port is a name", "", peer("apps", "a", "1", `{`+selectsShop+`, portLevelMtls: {web: {mode: STRICT}}}`), true},
		{"port 0", "", peer("apps", "a", "1", `{`+selectsShop+`, portLevelMtls: {"0": {mode: STRICT}}}`), true},
		{"port's mode", "also of another port", peer("apps", "a", "1", `{`+selectsShop+`, portLevelMtls: {"9": {mode: no}}}`), true},
		{"of the whole mesh", "", peer("istio-system", "a", "2", `{mtls: {mode: x}}`), true},
		{"beside a good one", "the good one is older, and still nobody knows", peer("apps", "zz", "9", `{mtls: {mode: x}}`), true},
		{"of other pods", "its selector can be read", peer("apps", "a", "1", `{selector: {matchLabels: {app: other}}, mtls: {mode: x}}`), false},
		{"of another namespace", "", peer("other", "a", "1", `{mtls: {mode: x}}`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := shop(t, shopService, shopPod, peer("apps", "good", "1", `{mtls: {mode: STRICT}}`), c.object)
			closed := len(in.Chains) == 0 && !in.Plain && in.Otherwise == "Resets" && in.Blocked == "IdentityUnknown"
			if closed != c.closed {
				t.Errorf("got %+v, want closed %t: %s", in, c.closed, c.why)
			}
			if closed && !strings.Contains(in.Detail, "cannot be read") {
				t.Errorf("detail %q does not name what cannot be read", in.Detail)
			}
		})
	}
}

// Pods of the root namespace have no policies of their own beside the mesh's.
func TestPodsOfTheRootNamespace(t *testing.T) {
	move := strings.NewReplacer("namespace: apps", "namespace: istio-system")
	w := meshtest.Parse(t, move.Replace(shopService), move.Replace(shopPod),
		peer("istio-system", "b", "1", `{`+selectsShop+`, mtls: {mode: STRICT}}`))
	in := w.Accepts(Dialect{}, "istio-system", "shop", "shop-1")
	if !strings.HasPrefix(in.Detail, "mode PERMISSIVE") {
		t.Errorf("detail %q, want the default: a selector does not count in the root namespace", in.Detail)
	}
	if in.Fix == nil || !strings.Contains(in.Fix.YAML, "kind: Gateway") {
		t.Errorf("fix %+v, want a landing pad: no PeerAuthentication can do it here", in.Fix)
	}
}
