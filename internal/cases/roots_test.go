package cases

import (
	"encoding/base64"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
)

// fingerprints are those of all roots that gateway edge trusts backends by.
func (h *harness) fingerprints() (out []string) {
	h.Helper()
	for _, trust := range h.gateway("edge").Trust {
		for _, r := range trust.Roots {
			out = append(out, r.SHA256)
		}
	}
	return out
}

func sortedPrints(roots ...*authority) (out []string) {
	for _, a := range roots {
		out = append(out, a.fingerprint())
	}
	slices.Sort(out)
	return out
}

// headed is a root as PEM with headers, which no certificate needs and some tools
// write.
func headed(a *authority) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"friendlyName": "root", "localKeyID": "7"}, Bytes: a.cert.Raw}))
}

const tokens = "[p11-kit-object-v1]\nlabel: \"root\"\ntrusted: true\n"

// TestC39 takes every root of a bundle, and nothing else of it: the second one
// too, behind comments and a trust store's own lines. What order they stand in
// says nothing. (The bundle stands in a ConfigMap's ca.crt, as BackendTLSPolicy
// has it; the mesh's own ConfigMap comes with meshsync, and the parser is one.)
func TestC39(t *testing.T) {
	h := begin(t, policyYAML("one", "ConfigMap", "ca"), policyYAML("two", "ConfigMap", "ca"), routeYAML("r", `
  rules:
  - {matches: [{path: {value: /one}}], backendRefs: [{name: one, port: 80}]}
  - {matches: [{path: {value: /two}}], backendRefs: [{name: two, port: 80}]}`))
	r1, r2 := newAuthority(t, "R1"), newAuthority(t, "R2")
	h.tlsBackend("one", r1.issue(t, "one.internal.test"))
	h.tlsBackend("two", r2.issue(t, "two.internal.test"))
	h.put(h.configMap("ca", "ca.crt", "# old root\n"+headed(r1)+tokens+r2.pem()+"\nend of the file"))
	h.apply()
	answers{"http://x.test/one": "one", "http://x.test/two": "two"}.check(h)
	if got, want := h.fingerprints(), sortedPrints(r1, r2); !slices.Equal(got, want) {
		t.Errorf("the model trusts %v, want %v", got, want)
	}
	for _, word := range []string{"old root", "p11-kit", "friendlyName", "end of the file"} {
		if strings.Contains(h.modelText("edge"), word) {
			t.Errorf("%q is in the model", word)
		}
	}
	h.put(h.configMap("ca", "ca.crt", "# the order is another\n"+r2.pem()+r1.pem()))
	h.nothingToDo("the same roots in another order")
}

// TestC40 reads bundles that were joined, converted and copied by hand. Either all
// of a bundle counts or none of it: reading the first certificate and calling it
// success is how a rotation breaks on the day the old root goes.
func TestC40(t *testing.T) {
	r1, r2 := newAuthority(t, "R1"), newAuthority(t, "R2")
	clean := r1.pem() + r2.pem()
	h := begin(t, policyYAML("a", "ConfigMap", "ca"), routeYAML("r", "  rules: [{backendRefs: [{name: a, port: 80}]}]"))
	h.put(h.configMap("ca", "ca.crt", clean))
	h.apply()
	both := sortedPrints(r1, r2)
	if got := h.fingerprints(); !slices.Equal(got, both) {
		t.Fatalf("the clean bundle has roots %v, want %v", got, both)
	}
	for _, c := range []struct{ name, text, refusal string }{
		{"CRLF", strings.ReplaceAll(clean, "\n", "\r\n"), ""},
		{"no final newline", strings.TrimSuffix(clean, "\n"), ""},
		{"three final newlines", clean + "\n\n", ""},
		{"a byte order mark", "\ufeff" + clean, ""},
		{"glued", strings.TrimSuffix(r1.pem(), "\n") + r2.pem(), ""},
		{"OpenSSL's own kind", strings.ReplaceAll(clean, " CERTIFICATE-", " TRUSTED CERTIFICATE-"), "offset 0"},
		{"only the second one", r1.pem() + strings.ReplaceAll(r2.pem(), " CERTIFICATE-", " TRUSTED CERTIFICATE-"), "TRUSTED CERTIFICATE"},
		{"encoded twice", base64.StdEncoding.EncodeToString([]byte(clean)), "base64"},
	} {
		h.put(h.configMap("ca", "ca.crt", c.text))
		if c.refusal == "" {
			h.nothingToDo(c.name)
			if got := h.fingerprints(); !slices.Equal(got, both) {
				t.Errorf("%s: roots %v, want %v", c.name, got, both)
			}
			continue
		}
		h.apply()
		h.expect("BackendTLSPolicy", "a", "edge", "ResolvedRefs", "False/InvalidCACertificateRef", "ConfigMap apps/ca", c.refusal)
		if got := h.fingerprints(); len(got) > 0 {
			t.Errorf("%s: refused, and %v are trusted", c.name, got)
		}
		if got := h.get("http://x.test/"); got.Status < 500 {
			t.Errorf("%s: answered %s, want a 5xx", c.name, got)
		}
		h.put(h.configMap("ca", "ca.crt", clean))
		h.apply()
	}
}
