package member

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/istiod"
	"gatehouse.dev/fake/mesh/linkerdid"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

func (w *world) istiod() *istiod.Server {
	w.Helper()
	s, err := istiod.Start(istiod.Config{CA: w.ca, Tokens: w.tokens.Check})
	w.do(err)
	w.Cleanup(func() { w.do(s.Close()) })
	w.reach = s.Addr()
	return s
}

// TestIstio has a gateway get its certificate of a real istiod, whose CA goes by the
// token alone.
func TestIstio(t *testing.T) {
	w := newWorld(t)
	s := w.istiod()
	w.read(istioMesh, "")
	m := w.members()
	m.Over(w)
	id := w.identity()
	pair, err := m.Keyring(noSecrets)(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(pair.Leaf.URIs) != 1 || pair.Leaf.URIs[0].String() != id.SPIFFEID || !strings.HasPrefix(id.SPIFFEID, "spiffe://cluster.local/ns/gatehouse-system/sa/gatehouse-") {
		t.Errorf("the certificate is of %v, want %s", pair.Leaf.URIs, id.SPIFFEID)
	}
	calls := s.Calls()
	if len(calls) != 1 || calls[0].Account.Namespace != "gatehouse-system" || !strings.HasSuffix(id.SPIFFEID, "/"+calls[0].Account.Name) {
		t.Errorf("istiod was asked %+v", calls)
	}
	if len(w.told) != 1 || w.told[0] != "mesh OK" || !has(w.asked, "istiod.istio-system.svc:15012") {
		t.Errorf("told %v, asked at %v", w.told, w.asked)
	}
}

// TestPropagation: a certificate of another authority waits until every proxy knows
// its root, and what was seen before a restart does not count.
func TestPropagation(t *testing.T) {
	w := newWorld(t)
	s := w.istiod()
	w.read(istioMesh, "")
	m := w.members()
	m.Over(w)
	id := w.identity()
	pair, err := m.Keyring(noSecrets)(t.Context(), id)
	w.do(err)
	w.live(id, pair)
	w.do(w.ca.Add(ca.Root{Name: "b"}))
	w.read(istioMesh, "")
	m.See()
	w.do(w.ca.SignBy("b"))
	if _, err := m.Keyring(noSecrets)(t.Context(), w.identity()); lbmodel.CodeOf(err) != lbmodel.CodePending || !strings.Contains(err.Error(), "first seen published") {
		t.Fatalf("another authority's certificate, at once: %v", err)
	}
	w.pass(13 * time.Hour)
	again := w.members()
	again.Over(w)
	if _, err := again.Keyring(noSecrets)(t.Context(), w.identity()); lbmodel.CodeOf(err) != lbmodel.CodePending {
		t.Errorf("after a restart: %v, want that it waits anew", err)
	}
	if _, err := m.Keyring(noSecrets)(t.Context(), w.identity()); err != nil {
		t.Errorf("when every proxy knows the root: %v", err)
	}
	if n := len(s.Calls()); n != 3 {
		t.Errorf("%d certificates, want 3: of each authority one, and one after the restart", n)
	}
}

// TestLinkerd: a certificate of another authority waits until the pods behind the
// gateway were restarted, whatever the time.
func TestLinkerd(t *testing.T) {
	w := newWorld(t)
	s, err := linkerdid.Start(linkerdid.Config{CA: w.ca, Tokens: w.tokens.Check})
	w.do(err)
	t.Cleanup(func() { w.do(s.Close()) })
	w.reach = s.Addr()
	old := w.ca.Bundle()
	w.read(linkerdMesh, "", old...)
	m := w.members()
	m.Over(w)
	id := w.identity()
	pair, err := m.Keyring(noSecrets)(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(pair.Leaf.DNSNames) != 1 || pair.Leaf.DNSNames[0] != id.DNSNames[0] || !has(w.asked, "linkerd-identity-headless.linkerd.svc:8080") {
		t.Errorf("the certificate is of %v, want %v; asked at %v", pair.Leaf.DNSNames, id.DNSNames, w.asked)
	}
	w.live(id, pair)
	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	w.read(linkerdMesh, "", old...)
	m.See()
	if _, err := m.Keyring(noSecrets)(t.Context(), w.identity()); lbmodel.CodeOf(err) != lbmodel.CodePending || !strings.Contains(err.Error(), "apps/a-0") {
		t.Fatalf("with a pod that lacks the root: %v, want that it is named", err)
	}
	w.read(linkerdMesh, "", w.ca.Bundle()...)
	if _, err := m.Keyring(noSecrets)(t.Context(), w.identity()); err != nil {
		t.Errorf("with all pods restarted: %v", err)
	}
	w.read(linkerdMesh, "serverName: linkerd-identity.linkerd.corp", w.ca.Bundle()...)
	other := w.members()
	other.Over(w)
	if _, err := other.Keyring(noSecrets)(t.Context(), w.identity()); lbmodel.CodeOf(err) != lbmodel.CodeUnavailable {
		t.Errorf("a service that is to prove another name: %v", err)
	}
}

// TestRefusals: what cannot be issued is refused before any CA is asked. Why this
// table: each has another way out.
func TestRefusals(t *testing.T) {
	mesh := "MeshBinding/mesh"
	tests := []struct {
		name, identity string
		change         func(*lbmodel.Identity)
		want           lbmodel.Code
		says           string
	}{
		{"a gateway that is gone", "", func(id *lbmodel.Identity) { id.SPIFFEID += "x" }, lbmodel.CodeUnresolved, "plan again"},
		{"a binding that is gone", "", func(id *lbmodel.Identity) { id.Issuer = "MeshBinding/other" }, lbmodel.CodeUnresolved, ""},
		{"cert-manager without a cluster", "issuer: CertManager, issuerRef: {name: mesh}", nil, lbmodel.CodeUnsupported, "there is no cluster here that has CertificateRequests of cert-manager"},
		{"a signer without a cluster", "issuer: CertificateSigningRequest, signerName: mesh.test/clients", nil, lbmodel.CodeUnsupported, "there is no cluster here that has CertificateSigningRequests"},
		{"an agent that nobody knows", "issuer: WorkloadAPI", nil, lbmodel.CodeInvalid, "identity.socket"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			s := w.istiod()
			w.read(istioMesh, "")
			id := w.identity()
			if tt.identity != "" {
				w.read(istioMesh, tt.identity)
			}
			if tt.change != nil {
				tt.change(&id)
			}
			m := w.members()
			m.Over(w)
			_, err := m.Keyring(noSecrets)(t.Context(), id)
			if lbmodel.CodeOf(err) != tt.want || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %s with %q", err, tt.want, tt.says)
			}
			if n := len(s.Calls()); n != 0 {
				t.Errorf("%d certificates were issued", n)
			}
		})
	}
	t.Run("an address that is none", func(t *testing.T) {
		b := translate.Bound{Binding: &v1alpha1.MeshBinding{}}
		b.Binding.Spec.Identity.Address = "nowhere"
		if _, err := newWorld(t).members().at(b, place{"usual:1", "usual"}); lbmodel.CodeOf(err) != lbmodel.CodeInvalid {
			t.Errorf("error %v, want Invalid", err)
		}
	})
	t.Run("before anything is known", func(t *testing.T) {
		_, err := newWorld(t).members().Keyring(noSecrets)(t.Context(), lbmodel.Identity{Name: mesh, Issuer: mesh, SPIFFEID: "spiffe://a/ns/b/sa/c"})
		if lbmodel.CodeOf(err) != lbmodel.CodeUnresolved {
			t.Errorf("error %v, want Unresolved", err)
		}
	})
}

// TestAddress finds the CA and the name that it must prove. Why this table: a token
// must reach nobody else.
func TestAddress(t *testing.T) {
	tests := []struct {
		name, identity, address string
		works                   bool
	}{
		{"the mesh's own", "", "istiod.istio-system.svc:15012", true},
		{"an IP address is another place of the same server", "address: \"127.0.0.1:7\"", "127.0.0.1:7", true},
		{"an IPv6 address too", "address: \"[::1]:7\"", "[::1]:7", true},
		{"the name that it has anyway", "address: istiod.istio-system.svc:443", "istiod.istio-system.svc:443", true},
		{"a name must be proved", "address: istiod.example.com:443", "istiod.example.com:443", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.istiod()
			w.read(istioMesh, tt.identity)
			m := w.members()
			m.Over(w)
			_, err := m.Keyring(noSecrets)(t.Context(), w.identity())
			if (err == nil) != tt.works {
				t.Errorf("error %v, want that it works: %v", err, tt.works)
			}
			if !has(w.asked, tt.address) {
				t.Errorf("asked at %v, want %s", w.asked, tt.address)
			}
		})
	}
}

// TestRevisionedIstiod: an istiod that is installed under a name of its own is asked
// there. Why this table: there is no Service istiod then.
func TestRevisionedIstiod(t *testing.T) {
	config := func(name string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: istio-system}\ndata: {mesh: \"trustDomain: cluster.local\"}\n"
	}
	for _, c := range []struct{ name, identity, configs, address string }{
		{"without a name", "", config("istio"), "istiod.istio-system.svc:15012"},
		{"with one", "", config("istio-blue"), "istiod-blue.istio-system.svc:15012"},
		{"both", "", config("istio-blue") + config("istio"), "istiod.istio-system.svc:15012"},
		{"two", "", config("istio-green") + config("istio-blue"), "istiod-blue.istio-system.svc:15012"},
		{"two, and one is said", "address: istiod-green.istio-system.svc:15012", config("istio-green") + config("istio-blue"), "istiod-green.istio-system.svc:15012"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			s, err := istiod.Start(istiod.Config{CA: w.ca, Tokens: w.tokens.Check, Names: []string{strings.TrimSuffix(c.address, ":15012")}})
			w.do(err)
			t.Cleanup(func() { w.do(s.Close()) })
			w.reach = s.Addr()
			w.read(c.configs+istioMesh, c.identity)
			m := w.members()
			m.Over(w)
			w.issued(m)
			if !has(w.asked, c.address) {
				t.Errorf("asked at %v, want %s", w.asked, c.address)
			}
		})
	}
}

// TestSecretsAreHandedOn: other identities are not the members' business.
func TestSecretsAreHandedOn(t *testing.T) {
	asked := ""
	secrets := func(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
		asked = id.Name
		return tls.Certificate{}, nil
	}
	if _, err := newWorld(t).members().Keyring(secrets)(t.Context(), lbmodel.Identity{Name: "tls", Issuer: lbmodel.IssuerSecret}); err != nil || asked != "tls" {
		t.Errorf("asked for %q, %v", asked, err)
	}
}

// TestReads: each kind is read in the version that its mesh likes best, and what two
// dialects read stands once.
func TestReads(t *testing.T) {
	var linkerd []string
	seen := map[string]bool{}
	for _, gvk := range Reads(Dialects()) {
		if seen[gvk.String()] {
			t.Errorf("%s stands twice", gvk)
		}
		seen[gvk.String()] = true
		if gvk.Group == "policy.linkerd.io" && gvk.Kind == "Server" {
			linkerd = append(linkerd, gvk.Version)
		}
	}
	if len(linkerd) < 2 || linkerd[0] != "v1beta3" {
		t.Errorf("versions of Server are %v, want the newest first", linkerd)
	}
	if len(seen) < len(translate.Options{Dialects: Dialects()}.Reads()) {
		t.Errorf("%d kinds are read, fewer than translation wants", len(seen))
	}
}
