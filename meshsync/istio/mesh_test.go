package istio

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

func TestMeshDefaults(t *testing.T) {
	m := Dialect{}.Mesh(meshtest.Parse(t, shopNamespace))
	want := meshsync.Mesh{
		Namespace: "istio-system", TrustDomain: "cluster.local", TrustDomains: []string{"cluster.local"},
		Roots: []meshsync.RootsAt{
			{Kind: "ConfigMap", Namespace: "istio-system", Name: "istio-ca-root-cert", Key: "root-cert.pem"},
			{Kind: "ClusterTrustBundle", Name: "istio.io:istiod-ca:root-cert", Signer: "istio.io/istiod-ca"},
		},
		LeafLife: 24 * time.Hour, Propagation: m.Propagation,
		Settings: Settings{Root: "istio-system", Default: Permissive, Decides: "no PeerAuthentication says otherwise: it is Istio's default", Clients: []string{"cluster.local"}, MinVersion: "1.2"},
		Says:     m.Says,
	}
	diff(t, m, want, "what an installation with defaults has")
	if m.Propagation <= 12*time.Hour || m.Propagation >= 13*time.Hour {
		t.Errorf("propagation %v, want a little more than half of a leaf's life: proxies learn of roots when they renew", m.Propagation)
	}
	if !strings.Contains(m.Says[0], "PERMISSIVE") || !strings.Contains(m.Says[0], "Blocked (PermissiveInbound)") {
		t.Errorf("says %q, want what the default means for a gateway", m.Says[0])
	}
	for _, say := range m.Says {
		if strings.Count(say, ". ") > 0 || !strings.HasSuffix(say, ".") {
			t.Errorf("%q is not one sentence", say)
		}
	}
}

func TestMeshConfig(t *testing.T) {
	w := meshtest.Parse(t, meshConfigMap(`
trustDomain: new.example.org
trustDomainAliases: [old.example.org, new.example.org]
rootNamespace: policies
meshMTLS: {minProtocolVersion: TLSV1_3}
defaultConfig: {proxyMetadata: {A: b}}
extensionProviders: [{name: x}]
caCertificates:
- {pem: "-----BEGIN CERTIFICATE-----", certSigners: [a/b]}
- {pem: "other mesh", trustDomains: [other.example.org]}
- {spiffeBundleUrl: "https://bundle.example.org", trustDomains: [old.example.org]}`),
		peer("policies", "default", "1", `{mtls: {mode: STRICT}}`))
	m := Dialect{}.Mesh(w)
	if !m.Installed || m.TrustDomain != "new.example.org" {
		t.Errorf("got %+v", m)
	}
	diff(t, m.TrustDomains, []string{"new.example.org", "old.example.org"}, "a repeated alias is none")
	diff(t, ClientPrefixes(m), []string{"spiffe://new.example.org/", "spiffe://old.example.org/", "spiffe://other.example.org/"}, "whom a sidecar lets in")
	diff(t, m.Settings.(Settings).Default, Strict, "of the root namespace that is configured")
	diff(t, m.Settings.(Settings).MinVersion, "1.3", "of the whole mesh")
	diff(t, m.Roots, []meshsync.RootsAt{
		{Kind: "ConfigMap", Namespace: "policies", Name: "istio-ca-root-cert", Key: "root-cert.pem"},
		{Kind: "ClusterTrustBundle", Name: "istio.io:istiod-ca:root-cert", Signer: "istio.io/istiod-ca"},
		{Kind: "ConfigMap", Namespace: "istio-system", Name: "istio", Key: "mesh", PEM: "-----BEGIN CERTIFICATE-----"},
		{Kind: "SPIFFEBundle", Name: "new.example.org", URL: "https://bundle.example.org"},
	}, "roots of another mesh's clients are not those of our backends")
	if !reflect.DeepEqual(m, Dialect{}.Mesh(w)) {
		t.Error("the same world gives another Mesh")
	}
}

func TestRevision(t *testing.T) {
	config := strings.Replace(meshConfigMap("trustDomain: blue"), "name: istio,", "name: istio-blue,", 1)
	for revision, want := range map[string]string{"blue": "blue", "default": "cluster.local", "": "blue"} {
		if got := (Dialect{Revision: revision}).Mesh(meshtest.Parse(t, config)).TrustDomain; got != want {
			t.Errorf("revision %q: trust domain %s, want %s", revision, got, want)
		}
	}
}

func TestSays(t *testing.T) {
	for _, c := range []struct{ name, object, want string }{
		{"strict", wide("STRICT"), "STRICT (PeerAuthentication istio-system/default"},
		{"disabled", wide("DISABLE"), "InboundDisabled"},
		{"garbage", wide("X"), "Nothing can be said"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (Dialect{}).Mesh(meshtest.Parse(t, c.object)).Says[0]; !strings.Contains(got, c.want) {
				t.Errorf("says %q, want %q", got, c.want)
			}
		})
	}
}

// A mesh configuration that cannot be read leaves every pod of the mesh Blocked,
// and those outside of it alone.
func TestGarbageMeshConfig(t *testing.T) {
	for _, text := range []string{"{", "- a", "trustDomain: [a]", "trustDomain: a/b", "trustDomain: 'a b'", "trustDomainAliases: ['*']", "trustDomainAliases: [UPPER]", "caCertificates: 1", "meshMTLS: x"} {
		t.Run(text, func(t *testing.T) {
			config := meshConfigMap(text)
			in := shop(t, shopService, shopPod, wide("STRICT"), config)
			if len(in.Chains) > 0 || in.Plain || in.Names != nil || in.Blocked != meshsync.ReasonIdentityUnknown {
				t.Errorf("got %+v, want nothing sent there", in)
			}
			if !strings.Contains(in.Detail, "ConfigMap istio-system/istio") {
				t.Errorf("detail %q does not name the ConfigMap", in.Detail)
			}
			if out := shop(t, shopService, podOf(`labels: {}`, app), config); out.Membership != meshsync.NotMeshed {
				t.Errorf("got %s for a pod outside of the mesh", out.Membership)
			}
		})
	}
}
