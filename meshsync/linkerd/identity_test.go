package linkerd

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/meshsync"
)

const localName = "$(_pod_sa).$(_pod_ns).serviceaccount.identity.$(_l5d_ns).$(_l5d_trustdomain)"

func TestName(t *testing.T) {
	noName := change{"- {name: LINKERD2_PROXY_IDENTITY_LOCAL_NAME, value: " + localName + "}", ""}
	for _, c := range []struct {
		name, why string
		changes   []change
		want      string // "" is IdentityUnknown
	}{
		{"by its environment", "references are resolved as kubelet does", nil, cartName},
		{"another trust domain", "16: a pod keeps the trust domain of its injection while the mesh's changes", []change{{"_l5d_trustdomain, value: cluster.local", "_l5d_trustdomain, value: old.example"}},
			"cart.shop.serviceaccount.identity.linkerd.old.example"},
		{"without the name", "a chart without it still has its parts", []change{noName}, cartName},
		{"without any", "the mesh's own trust domain is the last resort", []change{noName, {"- {name: _l5d_trustdomain, value: cluster.local}", ""}, {"identityTrustDomain: cluster.local", "identityTrustDomain: corp.example"}},
			"cart.shop.serviceaccount.identity.linkerd.corp.example"},
		{"another control plane", "the label is the injector's", []change{{"control-plane-ns: linkerd}", "control-plane-ns: linkerd-two}"}, {"_l5d_ns, value: linkerd", "_l5d_ns, value: linkerd-two"}},
			"cart.shop.serviceaccount.identity.linkerd-two.cluster.local"},
		{"no account", "a pod that names none runs as default", []change{{"serviceAccountName: cart", "hostname: x"}}, "default.shop.serviceaccount.identity.linkerd.cluster.local"},
		{"somebody else's name", "the CA would not sign it, so it is not expected", []change{{localName, "bank.pay.serviceaccount.identity.linkerd.cluster.local"}}, ""},
		{"a prefix of the name", "there is no trust domain in it", []change{{localName, "cart.shop.serviceaccount.identity.linkerd."}}, ""},
		{"an unknown reference", "it stays as it is, and is no name", []change{{localName, "$(_pod_sa).$(_pod_ns).serviceaccount.identity.linkerd.$(NOWHERE)"}}, ""},
		{"from elsewhere", "a Secret is not read", []change{{"value: " + localName, "valueFrom: {secretKeyRef: {name: a, key: b}}"}}, ""},
		{"a part from elsewhere", "", []change{{"_l5d_trustdomain, value: cluster.local", "_l5d_trustdomain, valueFrom: {configMapKeyRef: {name: a, key: b}}"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := cluster(t, c.changes).Accepts(Dialect{}, "shop", "cart", "cart-1")
			if got.SNI != c.want {
				t.Errorf("%s: %q, want %q (%s)", c.why, got.SNI, c.want, got.Detail)
			}
			if unknown := got.Blocked == meshsync.ReasonIdentityUnknown; unknown != (c.want == "") {
				t.Errorf("%s: blocked %q", c.why, got.Blocked)
			}
		})
	}
}

func TestMesh(t *testing.T) {
	roots := []meshsync.RootsAt{{Kind: "ConfigMap", Namespace: "linkerd", Name: "linkerd-identity-trust-roots", Key: "ca-bundle.crt"}}
	for _, c := range []struct {
		name, why string
		changes   []change
		want      meshsync.Mesh
	}{
		{"default", "the facts of the chart's values", nil, meshsync.Mesh{
			Installed: true, Namespace: "linkerd", TrustDomain: "cluster.local", TrustDomains: []string{"cluster.local"}, Roots: roots, LeafLife: 24 * time.Hour}},
		{"not there", "what an installation with defaults has", []change{{"name: linkerd-config", "name: other"}}, meshsync.Mesh{
			Namespace: "linkerd", TrustDomain: "cluster.local", TrustDomains: []string{"cluster.local"}, Roots: roots, LeafLife: 24 * time.Hour}},
		{"longer leaves", "an old root must outlive them", []change{{"24h0m0s", "72h"}, {"identityTrustDomain: cluster.local", "identityTrustDomain: corp.example"}}, meshsync.Mesh{
			Installed: true, Namespace: "linkerd", TrustDomain: "corp.example", TrustDomains: []string{"corp.example"}, Roots: roots, LeafLife: 72 * time.Hour}},
		{"shorter leaves", "leaves of before the change live on", []change{{"24h0m0s", "1h"}}, meshsync.Mesh{
			Installed: true, Namespace: "linkerd", TrustDomain: "cluster.local", TrustDomains: []string{"cluster.local"}, Roots: roots, LeafLife: 24 * time.Hour}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Dialect{}.Mesh(cluster(t, c.changes))
			if len(got.Says) < 4 {
				t.Errorf("the consequences of joining are said: %q", got.Says)
			}
			got.Settings, got.Says = nil, nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}

// TestGatewayName is what Linkerd's CA will sign for a gateway.
func TestGatewayName(t *testing.T) {
	w := cluster(t, nil)
	spiffe, names := meshsync.NameOf(Dialect{}, Dialect{}.Mesh(w), meshsync.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"})
	want := []string{"gatehouse-1.gatehouse-system.serviceaccount.identity.linkerd.cluster.local"}
	if spiffe != "" || !cmp.Equal(want, names) {
		t.Errorf("got %q and %q, want %q: the CA refuses URIs", spiffe, names, want)
	}
}
