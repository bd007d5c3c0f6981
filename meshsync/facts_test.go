package meshsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

// Issues that people filed against meshes and load balancers, as small inputs. Their
// numbers are those of our list of twenty; the others are about roots, leaves and
// rotation.

// Issue 1 (istio/istio#48836): a client from outside with a certificate of the
// mesh's CA fails with PERMISSIVE and works with STRICT.
func TestIssue1PermissiveFailsStrictWorks(t *testing.T) {
	if got := Judge(istioPermissiveHTTP(), hop(lbmodel.PoolHTTP1), gcpLike()); got.Path != Blocked || got.TLS != lbmodel.TLSNone {
		t.Errorf("PERMISSIVE: %s", outcome(got))
	}
	if got := outcome(Judge(istioStrictHTTP(), hop(lbmodel.PoolHTTP1), gcpLike())); got != "Direct ClientAndServer HTTP1" {
		t.Errorf("STRICT: %s", got)
	}
}

// Issue 2 (istio/istio#14130, #35232): PERMISSIVE, and mutual TLS without Istio's
// ALPN, is reset. The reason says which setting, and the fix how to change it.
func TestIssue2PermissiveResetsStandardALPN(t *testing.T) {
	v := Judge(istioPermissiveHTTP(), hop(lbmodel.PoolHTTP1), gcpLike())
	if v.Reason != ReasonPermissiveInbound || !strings.Contains(v.Detail, "port 8080 is PERMISSIVE") {
		t.Errorf("%s: %s", v.Reason, v.Detail)
	}
	if v.Fix == nil || !strings.Contains(v.Fix.YAML, "STRICT") {
		t.Errorf("the fix is %+v", v.Fix)
	}
}

// Issue 3 (istio/istio#43056): ALB to STRICT pods gave 502. It is refused beforehand,
// naming what the provider lacks.
func TestIssue3ALBToStrictPods(t *testing.T) {
	v := Judge(istioStrictHTTP(), hop(lbmodel.PoolHTTP1), albLike())
	if v.Path != Blocked || v.Reason != ReasonClientCertificate || v.BackendTLS != nil {
		t.Errorf("%s", outcome(v))
	}
	for _, ability := range []string{"BackendTLSClientCertificate", "BackendTLSTrust"} {
		if !strings.Contains(v.Detail, ability) {
			t.Errorf("%q does not name %s", v.Detail, ability)
		}
	}
}

// Issue 4 (istio/istio#32595): mutual TLS from outside directly to the pod, asked for
// since 2021.
func TestIssue4DirectFromOutside(t *testing.T) {
	v := Judge(istioStrictHTTP(), hop(lbmodel.PoolHTTP1), gcpLike())
	if got := outcome(v); got != "Direct ClientAndServer HTTP1" {
		t.Fatal(got)
	}
	if diff := cmp.Diff([]lbmodel.SAN{spiffe("cart")}, v.BackendTLS.SANs); diff != "" {
		t.Error(diff)
	}
}

// Issue 5 (istio/istio#51482): ambient, STRICT and an ALB of the outside: mutual TLS
// is only inside the tunnel, so the way is a landing pad.
func TestIssue5AmbientNeedsLandingPad(t *testing.T) {
	for _, has := range []lbmodel.Features{fakeLike(), gcpLike(), albLike()} {
		v := Judge(ambientStrict(), hop(lbmodel.PoolHTTP1), has)
		if v.Reason != ReasonTunnelRequired || !strings.Contains(fixOf(v), "landingPad") {
			t.Errorf("%s, fix %q", outcome(v), fixOf(v))
		}
	}
}

// Issue 6 (istio/ztunnel#1761, istio/istio#59155): istio_converted_static_strict
// denies clear text: the same words reach the person, and no minimum makes it pass.
func TestIssue6ConvertedStaticStrict(t *testing.T) {
	v := Judge(ambientStrict(), lowered(lbmodel.PoolHTTP1, lbmodel.TLSNone), fakeLike())
	if v.Reason != ReasonTunnelRequired || !strings.Contains(v.Detail, "istio_converted_static_strict") {
		t.Errorf("%s: %s", outcome(v), v.Detail)
	}
}

// Issue 16 (istio/istio#53666): a change of trust domain broke names. While pods of
// both run, both names count; when the last old one is gone, its name is gone.
func TestIssue16TrustDomainChange(t *testing.T) {
	before, after := istioStrictHTTP(), istioStrictHTTP()
	before.Names = []lbmodel.SAN{uri("spiffe://old/ns/shop/sa/cart")}
	after.Names = []lbmodel.SAN{uri("spiffe://new/ns/shop/sa/cart"), before.Names[0]} // the old one is an alias
	groups := Groups([]Placed{{"a", before}, {"b", after}})
	if len(groups) != 1 {
		t.Fatalf("%d groups: one pool would become two", len(groups))
	}
	v := Judge(groups[0].Inbound, hop(lbmodel.PoolHTTP1), gcpLike())
	if diff := cmp.Diff([]lbmodel.SAN{uri("spiffe://new/ns/shop/sa/cart"), uri("spiffe://old/ns/shop/sa/cart")}, v.BackendTLS.SANs); diff != "" {
		t.Error(diff)
	}
	after.Names = after.Names[:1]
	done := Groups([]Placed{{"b", after}})
	if diff := cmp.Diff(after.Names, done[0].Inbound.Names); diff != "" || done[0].Key != groups[0].Key {
		t.Errorf("key %q, was %q: %s", done[0].Key, groups[0].Key, diff)
	}
}

// Issue 17 (istio/istio#49874): a template of SPIRE's makes other names. A dialect
// that cannot derive them gives none, and that is refused: roots alone would take
// any member for the backend. (A wrong name is found by a probe.)
func TestIssue17UnknownTemplate(t *testing.T) {
	in := istioStrictHTTP()
	in.Names = nil
	if v := Judge(in, hop(lbmodel.PoolHTTP1), fakeLike()); v.Reason != ReasonIdentityUnknown {
		t.Errorf("%s", outcome(v))
	}
	named := Groups([]Placed{{"a", in}, {"b", istioStrictHTTP()}})
	if len(named) != 2 {
		t.Errorf("%d groups: the pod without a name lends itself another's", len(named))
	}
}

// Issue 18 (kubernetes/ingress-gce#553): a health check has no client certificate, so
// it goes to the port of the mesh and not to the application's.
func TestIssue18HealthWithoutCertificate(t *testing.T) {
	istioReady := istioStrictHTTP()
	istioReady.Health, istioReady.ProxyHealth = &lbmodel.HealthCheck{Protocol: "HTTP", Port: 15021, Path: "/healthz/ready"}, true
	for port, in := range map[int32]Inbound{15021: istioReady, 15020: istioStrictHTTP(), 4191: linkerd()} {
		v := Judge(in, hop(lbmodel.PoolHTTP1), gcpLike())
		if v.Health == nil || v.Health.Port != port || v.Health.Protocol != "HTTP" {
			t.Errorf("%+v, want HTTP to port %d", v.Health, port)
		}
	}
}
