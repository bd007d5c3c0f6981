package meshsync_test

import (
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

// TestAbilities takes one ability at a time away from a provider that has all. The
// Detail names it, and what of the pods asks for it.
func TestAbilities(t *testing.T) {
	mixed := linkerd()
	mixed.Names = append(mixed.Names, uri("spiffe://cluster.local/x"))
	six := istioStrictHTTP()
	six.Names = []lbmodel.SAN{spiffe("a"), spiffe("b"), spiffe("c"), spiffe("d"), spiffe("e"), spiffe("f")}
	nameless := istioStrictHTTP()
	nameless.Names = nil
	onlySNI := linkerd()
	onlySNI.Names = nil
	anonymous := hop(lbmodel.PoolHTTP1)
	anonymous.Anonymous = true
	rsa := hop(lbmodel.PoolHTTP1)
	rsa.ClientKey = KeyRSA
	manyRoots := hop(lbmodel.PoolHTTP1)
	manyRoots.Roots = 3
	twoRoots := fakeLike()
	twoRoots.Limits.Roots = 2
	http1 := hop(lbmodel.PoolHTTP1)
	const direct = "Direct ClientAndServer HTTP1"
	for _, c := range []struct {
		name, why string
		in        Inbound
		hop       Hop
		has       lbmodel.Features
		want      string
		says      []string
		fix       string
	}{
		{"own roots", "the mesh's CA is its own", istioStrictHTTP(), http1, without(fakeLike(), lbmodel.FeatureBackendTLSTrust),
			"Blocked PrivateRootsUnsupported", []string{"BackendTLSTrust", "PeerAuthentication shop/default"}, "BackendTLSTrust"},
		{"client certificate", "the proxy lets in nobody without", istioStrictHTTP(), http1, without(fakeLike(), lbmodel.FeatureBackendTLSIdentity),
			"Blocked ClientCertificateUnsupported", []string{"BackendTLSClientCertificate", "PeerAuthentication shop/default"}, "BackendTLSClientCertificate"},
		{"anonymous gateway", "the same, and the provider is not to blame", istioStrictHTTP(), anonymous, fakeLike(),
			"Blocked ClientCertificateUnsupported", []string{"the gateway has none"}, "identity.issuer"},
		{"RSA client key", "Linkerd's verifier knows ECDSA only, also where nobody need show a certificate", linkerd(), rsa, fakeLike(),
			"Blocked ClientCertificateUnsupported", []string{"ECDSA", "RSA"}, "Use ECDSA"},
		{"RSA client key, and others verify it", "", istioStrictHTTP(), rsa, fakeLike(), direct, nil, ""},
		{"server name", "the proxy ends only TLS for its name", linkerd(), http1, without(fakeLike(), lbmodel.FeatureBackendTLSSNI),
			"Blocked SNIUnsupported", []string{"BackendTLSSNI", "linkerd-proxy"}, "BackendTLSSNI"},
		{"no server name needed", "any or none reaches an Istio sidecar", istioStrictHTTP(), http1, without(fakeLike(), lbmodel.FeatureBackendTLSSNI),
			direct, nil, ""},
		{"URI names", "nothing else is in the certificate", istioStrictHTTP(), http1, without(fakeLike(), lbmodel.FeatureBackendTLSURISAN),
			"Blocked SANUnsupported", []string{"BackendTLSURISAN"}, "names of this kind"},
		{"DNS name that is the server name", "ordinary verification is exactly right", linkerd(), http1, without(fakeLike(), lbmodel.FeatureBackendTLSDNSSAN),
			direct + " -AppHealth", nil, ""},
		{"DNS name next to others", "a list replaces the server name, so it must be in the list", mixed, http1, without(fakeLike(), lbmodel.FeatureBackendTLSDNSSAN),
			"Blocked SANUnsupported", []string{"BackendTLSDNSSAN"}, "names of this kind"},
		{"server name without names", "the server name is verified", onlySNI, http1, fakeLike(), direct + " -AppHealth", nil, ""},
		{"no name at all", "roots alone would accept every member of the mesh", nameless, http1, fakeLike(),
			"Blocked IdentityUnknown", []string{"nothing says whom"}, "name their pods"},
		{"six names", "GCP takes five", six, http1, gcpLike(),
			"Blocked TooManySANs", []string{"at most 5", "there are 6"}, "fewer ServiceAccounts"},
		{"five names", "as many as it takes", func() Inbound { in := six; in.Names = in.Names[:5]; return in }(), http1, gcpLike(), direct, nil, ""},
		{"three roots", "a rotation under way needs room", istioStrictHTTP(), manyRoots, twoRoots,
			"Blocked TooManyRoots", []string{"at most 2 roots", "there are 3"}, "dropped its old roots"},
		{"TLS 1.3", "neither spoken nor demanded", linkerd(), http1, without(fakeLike(), lbmodel.FeatureBackendTLS13, lbmodel.FeatureBackendTLSMin13),
			"Blocked TLS13Unsupported", []string{"BackendTLS13"}, "BackendTLS13"},
		{"TLS 1.3, demanded", "who can demand it speaks it", linkerd(), http1, without(fakeLike(), lbmodel.FeatureBackendTLS13), direct + " -AppHealth", nil, ""},
		{"TLS 1.3, not asked for", "Istio takes 1.2", istioStrictHTTP(), http1, without(fakeLike(), lbmodel.FeatureBackendTLS13, lbmodel.FeatureBackendTLSMin13),
			direct, nil, ""},
		{"ALPN control", "gRPC to a proxy that negotiates nothing", linkerd(), hop(lbmodel.PoolGRPC), without(fakeLike(), lbmodel.FeatureBackendTLSALPN),
			"Blocked ALPNUnsupported", []string{"GRPC", "BackendTLSALPN"}, "Speak HTTP/1.1"},
		{"all of them", "the worst is the reason, and all are told", linkerd(), http1, offering(),
			"Blocked PrivateRootsUnsupported", []string{"BackendTLSTrust", "BackendTLSSNI", "BackendTLS13"}, "BackendTLSTrust"},
		{"pods and provider", "what the pods decide comes first, for no other provider of the kind would do", istioPermissiveHTTP(), http1, albLike(),
			"Blocked PermissiveInbound", []string{"BackendTLSClientCertificate", "PERMISSIVE"}, "STRICT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Judge(c.in, c.hop, c.has)
			if got := outcome(v); got != c.want {
				t.Fatalf("%s:\n got %s\nwant %s", c.why, got, c.want)
			}
			for _, part := range c.says {
				if !strings.Contains(v.Detail, part) {
					t.Errorf("%q does not say %q: %s", v.Detail, part, c.why)
				}
			}
			if got := fixOf(v); !strings.Contains(got, c.fix) || c.fix == "" && got != "" {
				t.Errorf("the fix is %q, want one with %q", got, c.fix)
			}
		})
	}
}

func fixOf(v Verdict) string {
	if v.Fix == nil {
		return ""
	}
	return v.Fix.Say
}

// TestMixedNames keeps the server name in a list of names, which replaces it.
func TestMixedNames(t *testing.T) {
	in := linkerd()
	in.Names = []lbmodel.SAN{dns(linkerdName), uri("spiffe://cluster.local/x")}
	v := Judge(in, hop(lbmodel.PoolHTTP1), fakeLike())
	if len(v.BackendTLS.SANs) != 2 || v.BackendTLS.SNI != linkerdName {
		t.Errorf("%+v", v.BackendTLS)
	}
	if &v.BackendTLS.SANs[0] == &in.Names[0] {
		t.Error("the verdict shares its names with the Inbound")
	}
}
