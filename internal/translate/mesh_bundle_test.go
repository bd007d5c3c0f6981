package translate

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/consul"
	"gatehouse.dev/meshsync/kuma"
)

// rootsText is a binding's trust in one line.
func rootsText(b Bound) string {
	var out []string
	for _, r := range b.Trust.Roots {
		out = append(out, r.Subject)
	}
	slices.Sort(out)
	if b.Trust.Unknown {
		out = append(out, "unknown")
	}
	if len(b.Problems) > 0 {
		out = append(out, strings.Join(b.Problems, "; "))
	}
	return strings.Join(out, ", ")
}

func rootsIn(t *testing.T, file string) []lbmodel.Root {
	t.Helper()
	roots, err := lbmodel.ParseRoots([]byte(readFile(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	return roots
}

// TestRootsOutside: roots that no object has are brought by whoever fetches them, and
// a change of them concerns the members of that mesh and nobody else.
func TestRootsOutside(t *testing.T) {
	at := meshsync.RootsAt{Kind: meshsync.RootsSPIFFE, Name: "cluster.local", URL: "https://user:pass@spire.test/bundle"}
	x := indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml")+`
---
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data: {mesh: "caCertificates: [{spiffeBundleUrl: \"`+at.URL+`\"}]"}
`)
	for _, c := range []struct {
		name, why string
		bundle    *Bundle
		want      string
		concerned int
	}{
		{"not read yet", "a root that only it has must not go", &Bundle{At: at, Problem: "it has not been read yet"},
			"unknown, SPIFFEBundle cluster.local: it has not been read yet", 1},
		{"read", "they join those of the ConfigMap", &Bundle{At: at, Roots: rootsIn(t, "ca2.pem")}, "CN=test ca1, CN=test ca2", 1},
		{"read again", "nothing differs", &Bundle{At: at, Roots: rootsIn(t, "ca2.pem")}, "CN=test ca1, CN=test ca2", 0},
		{"stale", "the last good ones count, and a person is told", &Bundle{At: at, Roots: rootsIn(t, "ca2.pem"), Problem: "it does not answer"},
			"CN=test ca1, CN=test ca2, SPIFFEBundle cluster.local: it does not answer", 1},
		{"empty", "a bundle does not become empty", &Bundle{At: at}, "unknown, SPIFFEBundle cluster.local: there are none", 1},
		{"of another place", "", &Bundle{At: meshsync.RootsAt{Kind: meshsync.RootsSPIFFE, Name: "cluster.local", URL: "https://other.test"}},
			"unknown, SPIFFEBundle cluster.local: there are none", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, keys := x.With(Change{Put: []any{c.bundle}})
			b, _ := next.Bound("istio")
			want(t, c.why, rootsText(b), c.want)
			if len(keys) != c.concerned {
				t.Errorf("it concerns %v, want %d", keys, c.concerned)
			}
			if key, _ := KeyOf(c.bundle); strings.Contains(key.String(), "pass") {
				t.Errorf("key %s has the URL in it", key)
			}
			x = next
		})
	}
	gone, keys := x.With(Change{Delete: []Key{BundleKey(at)}})
	b, _ := gone.Bound("istio")
	if got := rootsText(b); len(keys) != 1 || !strings.Contains(got, "unknown, SPIFFEBundle cluster.local: nobody fetches these roots") {
		t.Errorf("when it is gone: %s, concerns %v", got, keys)
	}
}

// TestRootsOfDialects: roots in objects of a mesh's own, and of a mesh that has none in
// any object.
func TestRootsOfDialects(t *testing.T) {
	options := testOptions()
	options.Dialects = map[string]meshsync.Dialect{kuma.Controller: kuma.Dialect{}, consul.Controller: consul.Dialect{TrustDomain: "c.consul"}}
	const text = `
kind: MeshBinding
metadata: {name: m}
spec: {controllerName: kuma.io/kuma, gateways: {namespaceSelector: {}}}
---
kind: MeshBinding
metadata: {name: c}
spec: {controllerName: consul.hashicorp.com/consul, gateways: {namespaceSelector: {}}}
---
apiVersion: kuma.io/v1alpha1
kind: Mesh
metadata: {name: default}
---
apiVersion: kuma.io/v1alpha1
kind: MeshIdentity
metadata: {name: identity, namespace: kuma-system}
spec: {spiffeID: {trustDomain: a.test}, selector: {dataplane: {matchLabels: {}}}, provider: {type: Bundled}}
`
	trust := func(name, domain, list string) string {
		return "\n---\napiVersion: kuma.io/v1alpha1\nkind: MeshTrust\nmetadata: {name: " + name + ", namespace: kuma-system}\nspec: {trustDomain: " + domain + ", caBundles: " + list + "}\n"
	}
	pem := func(file string) string {
		return "[{type: Pem, pem: {value: " + strconv.Quote(readFile(t, file)) + "}}]"
	}
	consulRoots := &Bundle{At: meshsync.RootsAt{Kind: meshsync.RootsConsul, Namespace: "consul", Name: "c.consul"}, Roots: rootsIn(t, "ca1.pem")}
	for _, c := range []struct {
		name, why, more string
		binding         string
		want            string
	}{
		{"Kuma", "", trust("own", "a.test", pem("ca1.pem")), "m", "CN=test ca1"},
		{"Kuma, two", "an old and a new CA", trust("own", "a.test", pem("ca1.pem")) + trust("next", "a.test", pem("ca2.pem")), "m", "CN=test ca1, CN=test ca2"},
		{"Kuma, of others", "whom the mesh lets in says nothing of its proxies", trust("own", "a.test", pem("ca1.pem")) + trust("guests", "gatehouse", pem("ca2.pem")), "m", "CN=test ca1"},
		{"Kuma, one that cannot be read", "it may have had the root that is used", trust("own", "a.test", pem("ca1.pem")) + trust("next", "a.test", "[{type: Secret}]"), "m",
			"unknown, MeshTrust kuma-system/next: spec.caBundles[0] is not of type Pem"},
		{"Kuma, junk", "", trust("own", "a.test", "[{type: Pem, pem: {value: junk}}]"), "m", "unknown, MeshTrust kuma-system/own: "},
		{"Consul", "its CA is asked", "", "c", "CN=test ca1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := snapshotOf(decode(t, text+c.more)...)
			s.Bundles = append(s.Bundles, consulRoots)
			b, ok := New(s, options).Bound(c.binding)
			if got := rootsText(b); !ok || !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: got %q, want %q", c.why, got, c.want)
			}
		})
	}
}
