package meshsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

// TestMinimum is what becomes of less than mutual TLS.
func TestMinimum(t *testing.T) {
	noCertificate := without(fakeLike(), lbmodel.FeatureBackendTLSIdentity)
	selected := lowered(lbmodel.PoolHTTP1, lbmodel.TLSNone)
	selected.Selected = true
	anonymous := lowered(lbmodel.PoolHTTP1, lbmodel.TLSServerOnly)
	anonymous.Anonymous = true
	selectedAnonymous := anonymous
	selectedAnonymous.Selected = true
	at := func(minimum lbmodel.TLSLevel) Hop { return lowered(lbmodel.PoolHTTP1, minimum) }
	for _, c := range []struct {
		name, why string
		in        Inbound
		hop       Hop
		has       lbmodel.Features
		want      string
	}{
		{"no client certificate, any client", "the proxy verifies whom it is shown, and takes nobody as well", linkerd(), at(lbmodel.TLSServerOnly), noCertificate,
			"Direct ServerOnly HTTP1 -AppHealth -ClientIdentity"},
		{"anonymous, any client", "the same by the gateway's own choice", linkerd(), anonymous, fakeLike(),
			"Direct ServerOnly HTTP1 -AppHealth -ClientIdentity"},
		{"below the minimum", "never weaker than asked", linkerd(), at(lbmodel.TLSClientAndServer), noCertificate, "Blocked BelowMinimum"},
		{"selected and anonymous", "who is selected must have mutual TLS, whatever the minimum", linkerd(), selectedAnonymous, fakeLike(), "Blocked BelowMinimum"},
		{"unverified", "ALB encrypts and verifies nobody: enough where the operator says so and the pad lets anybody in", simplePad(), at(lbmodel.TLSUnverified), albLike(),
			"Direct Unverified HTTP1 -ClientIdentity"},
		{"unverified, minimum ServerOnly", "not enough", simplePad(), at(lbmodel.TLSServerOnly), albLike(), "Blocked PrivateRootsUnsupported"},
		{"unverified to a sidecar", "which wants a certificate", istioStrictHTTP(), at(lbmodel.TLSUnverified), albLike(), "Blocked ClientCertificateUnsupported"},
		{"better than the minimum", "a low minimum lowers nothing that can be had", istioStrictHTTP(), at(lbmodel.TLSNone), fakeLike(), "Direct ClientAndServer HTTP1"},
		{"clear text to a member", "only where the minimum is None by name", istioPermissiveHTTP(), at(lbmodel.TLSNone), gcpLike(), "Direct None HTTP1 -ClientIdentity"},
		{"clear text, minimum Unverified", "anything above None is a promise", istioPermissiveHTTP(), at(lbmodel.TLSUnverified), gcpLike(), "Blocked PermissiveInbound"},
		{"clear text to STRICT", "it does not reach the application", istioStrictHTTP(), at(lbmodel.TLSNone), albLike(), "Blocked ClientCertificateUnsupported"},
		{"clear text, selected", "losing TLS is no permission", istioPermissiveHTTP(), selected, gcpLike(), "Blocked PermissiveInbound"},
		{"clear text, DISABLE", "mutual TLS is switched off at the port", istioDisabled(), at(lbmodel.TLSNone), fakeLike(), "Direct None HTTP1 -ClientIdentity"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outcome(Judge(c.in, c.hop, c.has)); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.why, got, c.want)
			}
		})
	}
}

// TestOutsiders is what becomes of pods that are no members, or may be none.
func TestOutsiders(t *testing.T) {
	edit := func(change func(*Hop)) Hop {
		h := lowered(lbmodel.PoolHTTP1, lbmodel.TLSNone)
		change(&h)
		return h
	}
	plain, selected, own := edit(func(*Hop) {}), edit(func(h *Hop) { h.Selected = true }), edit(func(h *Hop) { h.OwnTLS = true })
	both, strict := edit(func(h *Hop) { h.Selected, h.OwnTLS = true, true }), hop(lbmodel.PoolHTTP1)
	udp := lowered(lbmodel.PoolUDP, lbmodel.TLSNone)
	for _, c := range []struct {
		name, why string
		in        Inbound
		hop       Hop
		want      string
	}{
		{"no member", "as without a mesh", notMeshed(), plain, "Direct None HTTP1"},
		{"no member, UDP", "as without a mesh", notMeshed(), udp, "Direct None UDP"},
		{"no member, minimum", "the class wants TLS", notMeshed(), strict, "Blocked BelowMinimum"},
		{"no member, own TLS", "the application's, whose level the caller holds to the minimum", notMeshed(), own, "Direct OwnTLS HTTP1"},
		{"no member, selected", "losing a sidecar is no permission", notMeshed(), selected, "Blocked NotMeshed"},
		{"no member, selected, own TLS", "it must be the mesh's", notMeshed(), both, "Blocked NotMeshed"},
		{"unknown", "as no member", unknown(), plain, "Direct None HTTP1"},
		{"unknown, selected", "nobody knows whose certificate to expect", unknown(), selected, "Blocked IdentityUnknown"},
		{"no membership said", "is unknown", Inbound{}, selected, "Blocked IdentityUnknown"},
		{"mixed", "no pod can be, so it is unknown", Inbound{Membership: Mixed}, selected, "Blocked IdentityUnknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Judge(c.in, c.hop, fakeLike())
			if got := outcome(v); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.why, got, c.want)
			}
			if v.BackendTLS != nil || v.Health != nil {
				t.Errorf("the mesh settles something of no member: %+v", v)
			}
			if v.Path == Blocked && (v.Fix == nil || v.Detail == "") {
				t.Errorf("blocked without a word or a way out: %+v", v)
			}
		})
	}
}

// TestOwnTLS keeps application TLS and mesh TLS apart.
func TestOwnTLS(t *testing.T) {
	for _, c := range []struct {
		name, why string
		in        Inbound
		selected  bool
		want      string
	}{
		{"STRICT", "the proxy ends it, and the application waits for its own", istioStrictTCP(), false, "Blocked DoubleTLS"},
		{"PERMISSIVE TCP", "ordinary TLS is passed on", istioPermissiveTCP(), false, "Direct OwnTLS HTTP1"},
		{"PERMISSIVE HTTP", "ordinary TLS is reset", istioPermissiveHTTP(), false, "Blocked PermissiveInbound"},
		{"DISABLE", "the port is the application's", istioDisabled(), false, "Direct OwnTLS HTTP1"},
		{"ambient", "ztunnel passes bytes on", ambient(), false, "Direct OwnTLS HTTP1"},
		{"ambient STRICT", "ztunnel denies whom it does not know", ambientStrict(), false, "Blocked TunnelRequired"},
		{"Linkerd", "a foreign server name is passed on", linkerd(), false, "Direct OwnTLS HTTP1"},
		{"Linkerd opaque port", "so is everything", linkerdOpaque(), false, "Direct OwnTLS HTTP1"},
		{"selected", "it must be the mesh's mutual TLS", linkerdOpaque(), true, "Blocked OpaquePort"},
		{"selected PERMISSIVE TCP", "it must be the mesh's mutual TLS", istioPermissiveTCP(), true, "Blocked PermissiveInbound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hop(lbmodel.PoolHTTP1)
			h.OwnTLS, h.Selected = true, c.selected
			v := Judge(c.in, h, fakeLike())
			if got := outcome(v); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.why, got, c.want)
			}
			if v.OwnTLS && (v.BackendTLS != nil || v.TLS != "") {
				t.Errorf("own TLS is the caller's: %+v", v)
			}
		})
	}
}

// TestUDP is left alone by every mesh, so it is never protected.
func TestUDP(t *testing.T) {
	selected := lowered(lbmodel.PoolUDP, lbmodel.TLSNone)
	selected.Selected = true
	for _, c := range []struct {
		name string
		hop  Hop
		want string
	}{
		{"minimum ClientAndServer", hop(lbmodel.PoolUDP), "Blocked UnmeshedProtocol"},
		{"minimum None", lowered(lbmodel.PoolUDP, lbmodel.TLSNone), "Direct None UDP -ClientIdentity"},
		{"selected", selected, "Blocked UnmeshedProtocol"},
	} {
		if got := outcome(Judge(istioStrictHTTP(), c.hop, fakeLike())); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestHealth is the pod's own probe, or a connection: never what a provider would do
// by itself.
func TestHealth(t *testing.T) {
	none := consul("http/1.1")
	none.Health = nil
	for _, c := range []struct {
		name, why string
		in        Inbound
		want      *lbmodel.HealthCheck
		losses    []Loss
	}{
		{"the application's", "rewritten, so that it needs no certificate", istioStrictHTTP(), istioStrictHTTP().Health, nil},
		{"the proxy's", "says nothing of the application", linkerd(), linkerd().Health, []Loss{LossAppHealth}},
		{"none", "a connection to where the proxy listens", none, &lbmodel.HealthCheck{Protocol: "TCP", Port: 20000}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Judge(c.in, hop(lbmodel.PoolHTTP1), fakeLike())
			if diff := cmp.Diff(c.want, v.Health) + cmp.Diff(c.losses, v.Losses); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
		})
	}
}

// TestFixes hands on the dialect's where the pods decide or something is lost.
func TestFixes(t *testing.T) {
	pad := "landingPad"
	for _, c := range []struct {
		name, why string
		in        Inbound
		has       lbmodel.Features
		want      string
	}{
		{"permissive", "the pods decide", istioPermissiveHTTP(), gcpLike(), "STRICT"},
		{"degraded", "what is lost can be had back", istioStrictAuto(), gcpLike(), "appProtocol"},
		{"nothing lost", "there is nothing to fix", istioStrictAuto(), fakeLike(), ""},
		{"the provider", "no change of the pods would help", istioPermissiveAuto(), without(fakeLike(), lbmodel.FeatureBackendTLSTrust), "BackendTLSTrust"},
		{"tunnel without a word", "the general way out", ambient(), fakeLike(), pad},
	} {
		if got := fixOf(Judge(c.in, hop(lbmodel.PoolHTTP1), c.has)); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: the fix is %q, want one with %q: %s", c.name, got, c.want, c.why)
		}
	}
}
