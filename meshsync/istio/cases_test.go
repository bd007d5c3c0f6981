package istio

import (
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

// The tests of this file are reports of Istio's users, each a small input with the
// outcome that would have told them.

// judged is the verdict on the shop's pod for a selected backend over HTTP/1.1.
func judged(t *testing.T, features lbmodel.Features, documents ...string) meshsync.Verdict {
	t.Helper()
	hop := meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Minimum: lbmodel.TLSClientAndServer, Selected: true, Roots: 1}
	return meshsync.Judge(shop(t, documents...), hop, features)
}

// istio #48836: a client outside of the mesh with a certificate of its CA fails
// under PERMISSIVE and works under STRICT.
func TestInput01(t *testing.T) {
	for mode, want := range map[string]string{
		"STRICT": "Direct ClientAndServer HTTP1", "PERMISSIVE": "Blocked PermissiveInbound", "DISABLE": "Blocked InboundDisabled",
	} {
		if got := meshtest.Outcome(judged(t, meshtest.GCP(), shopService, shopPod, wide(mode))); got != want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
	}
}

// istio #14130, #35232: PERMISSIVE and mutual TLS without Istio's ALPN is reset.
func TestInput02(t *testing.T) {
	in := shop(t, shopService, shopPod)
	for _, alpn := range []string{"h2", "http/1.1", ""} {
		if result, err := meet(in, alpn, nil); result != "none" || err != noChain {
			t.Errorf("ALPN %q: %s, want a reset", alpn, result)
		}
	}
	if !in.Plain {
		t.Error("clear text still works: that is the trap")
	}
	v := judged(t, meshtest.GCP(), shopService, shopPod)
	if v.Path != meshsync.Blocked || v.Reason != meshsync.ReasonPermissiveInbound || !strings.Contains(v.Detail, "PERMISSIVE") {
		t.Errorf("got %+v, want the mode to be named", v)
	}
}

// istio #43056: a load balancer without client certificates in front of STRICT
// answers 502 to everybody.
func TestInput03(t *testing.T) {
	v := judged(t, meshtest.ALB(), shopService, shopPod, wide("STRICT"))
	if v.Path != meshsync.Blocked || v.Reason != meshsync.ReasonClientCertificate || v.BackendTLS != nil {
		t.Errorf("got %+v, want nothing programmed", v)
	}
	if !strings.Contains(v.Detail, string(lbmodel.FeatureBackendTLSIdentity)) {
		t.Errorf("detail %q does not name the missing ability", v.Detail)
	}
}

// istio #32595: mutual TLS from outside, directly to the pods.
func TestInput04(t *testing.T) {
	v := judged(t, meshtest.GCP(), shopService, shopPod, wide("STRICT"))
	if v.Path != meshsync.Direct || v.TLS != lbmodel.TLSClientAndServer || len(v.Losses) > 0 {
		t.Fatalf("got %+v, want Direct without a loss", v)
	}
	diff(t, v.BackendTLS.SANs, []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://cluster.local/ns/apps/sa/shop"}}, "whom to expect")
	if v.BackendTLS.SNI != "" || v.BackendTLS.MinVersion != "1.2" {
		t.Errorf("got %+v, want any SNI and TLS 1.2", v.BackendTLS)
	}
}

// istio #51482: a load balancer in front of ambient pods under STRICT is refused.
func TestInput05(t *testing.T) {
	v := judged(t, meshtest.GCP(), shopService, ambientPod, wide("STRICT"))
	if v.Path != meshsync.Blocked || v.Reason != meshsync.ReasonTunnelRequired || v.Fix == nil || !strings.Contains(v.Fix.Say, "landing pad") {
		t.Errorf("got %+v, want Blocked with a landing pad as the way out", v)
	}
}

// ztunnel #1761, istio #59155: "istio_converted_static_strict" denies clear text.
func TestInput06(t *testing.T) {
	strict := shop(t, shopService, ambientPod, wide("STRICT"))
	if strict.Plain || strict.Otherwise != meshsync.Resets || !strings.Contains(strict.Detail, "STRICT: PeerAuthentication istio-system/default") {
		t.Errorf("got %+v, want clear text refused, and the policy that does it", strict)
	}
	open := shop(t, shopService, ambientPod, wide("STRICT"), peer("apps", "open", "2", `{`+selectsShop+`, portLevelMtls: {"8080": {mode: PERMISSIVE}}}`))
	if !open.Plain || open.Blocked != meshsync.ReasonTunnelRequired {
		t.Errorf("got %+v, want clear text to the opened port, and mutual TLS still only in the tunnel", open)
	}
}

// istio #53666: a change of trust domain breaks names: both hold while it lasts.
func TestInput16(t *testing.T) {
	for _, c := range []struct {
		name, config string
		want         []string
	}{
		{"before", `trustDomain: old`, []string{"spiffe://old/ns/apps/sa/shop"}},
		{"announced", "trustDomain: old\ntrustDomainAliases: [new]", []string{"spiffe://new/ns/apps/sa/shop", "spiffe://old/ns/apps/sa/shop"}},
		{"changed", "trustDomain: new\ntrustDomainAliases: [old]", []string{"spiffe://new/ns/apps/sa/shop", "spiffe://old/ns/apps/sa/shop"}},
		{"after", `trustDomain: new`, []string{"spiffe://new/ns/apps/sa/shop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := judged(t, meshtest.GCP(), shopService, shopPod, wide("STRICT"), meshConfigMap(c.config))
			var got []string
			for _, san := range v.BackendTLS.SANs {
				got = append(got, san.Value)
			}
			slices.Sort(got)
			diff(t, got, c.want, "no pod is refused at any step")
		})
	}
}

// istio #49874: with SPIRE and a template of its own, names are not those of
// namespace and ServiceAccount. What is derived depends on nothing else, so that a
// probe can hold it against what a pod really shows; and the mesh says so.
func TestInput17(t *testing.T) {
	spire := strings.Replace(shopPod, "serviceAccountName: shop", "serviceAccountName: shop\n  volumes: [{name: workload-socket, csi: {driver: csi.spiffe.io}}]", 1)
	in := shop(t, shopService, spire, wide("STRICT"))
	diff(t, in.Names, []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://cluster.local/ns/apps/sa/shop"}}, "derived, to be probed")
	m := Dialect{}.Mesh(meshtest.Parse(t, shopNamespace))
	if !slices.ContainsFunc(m.Says, func(s string) bool { return strings.Contains(s, "SPIRE") && strings.Contains(s, "probe") }) {
		t.Errorf("says %q, want that names may differ", m.Says)
	}
}

// ingress-gce #553, grpc-health-probe #7: a health check shows no certificate, so it
// never asks the application's port.
func TestInput18(t *testing.T) {
	silent := podOf(`labels: {app: shop}`, proxy)
	for name, c := range map[string]struct {
		pod    string
		port   int32
		losses []meshsync.Loss
	}{
		"rewritten probe": {shopPod, 15020, nil},
		"no probe":        {silent, 15021, []meshsync.Loss{meshsync.LossAppHealth}},
	} {
		v := judged(t, meshtest.GCP(), shopService, c.pod, wide("STRICT"))
		if v.Health == nil || v.Health.Protocol != "HTTP" || v.Health.Port != c.port {
			t.Errorf("%s: health %+v, want port %d", name, v.Health, c.port)
		}
		diff(t, v.Losses, c.losses, name)
	}
}

// istio #36922: a load balancer that can show no certificate has a landing pad that
// asks for none.
func TestPadWithoutClientCertificate(t *testing.T) {
	w := meshtest.Parse(t, kubeGateway)
	in := PadOf(Dialect{}.Mesh(w), w.Objects(gateway, "apps")[0], "simple", meshsync.Account{Namespace: "apps", Name: "pad-istio"}).Inbound
	without := meshtest.GCP()
	delete(without.Has, lbmodel.FeatureBackendTLSIdentity)
	for name, features := range map[string]lbmodel.Features{"without": without, "with, which the listener never asks for": meshtest.GCP()} {
		hop := meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Minimum: lbmodel.TLSServerOnly, Roots: 1}
		if got, want := meshtest.Outcome(meshsync.Judge(in, hop, features)), "Direct ServerOnly HTTP1 -AppHealth -ClientIdentity"; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		hop.Selected = true
		if got := meshtest.Outcome(meshsync.Judge(in, hop, features)); !strings.HasPrefix(got, "Blocked") {
			t.Errorf("%s: got %s, want Blocked: it is not mutual TLS", name, got)
		}
	}
}
