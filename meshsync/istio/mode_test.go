package istio

import (
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

// TestModesAreReachedAlike: a hop of a provider that can say which ALPN to offer is
// the same in STRICT and PERMISSIVE, so that neither change of the mode resets a
// connection of a gateway that has not heard of it. Without that ability it is the
// standard's in STRICT, and there is none in PERMISSIVE.
func TestModesAreReachedAlike(t *testing.T) {
	able := meshtest.GCP()
	able.Has[lbmodel.FeatureBackendTLSALPN], able.Has[lbmodel.FeatureGRPC], able.Has[lbmodel.FeatureHTTP2] = lbmodel.Yes, lbmodel.Yes, lbmodel.Yes
	for _, proto := range []string{"HTTP", "TCP", "AUTO"} {
		for _, hop := range []lbmodel.PoolProtocol{lbmodel.PoolHTTP1, lbmodel.PoolHTTP2, lbmodel.PoolGRPC, lbmodel.PoolTCP} {
			t.Run(proto+" "+string(hop), func(t *testing.T) {
				strict, permissive := hopOf(t, "STRICT", proto, hop, able), hopOf(t, "PERMISSIVE", proto, hop, able)
				if strict.Path != meshsync.Direct || permissive.Path != meshsync.Direct {
					t.Fatalf("STRICT is %s (%s), PERMISSIVE is %s (%s)", strict.Path, strict.Detail, permissive.Path, permissive.Detail)
				}
				diff(t, strict.BackendTLS, permissive.BackendTLS, "one of them would be reset")
				diff(t, strict.Protocol, permissive.Protocol, "and so would this")
				plain := hopOf(t, "STRICT", proto, lbmodel.PoolHTTP1, meshtest.GCP())
				if plain.Path != meshsync.Direct || len(plain.BackendTLS.ALPN) > 0 {
					t.Errorf("without the ability STRICT is %s and offers %v, want what everybody offers", plain.Path, plain.BackendTLS)
				}
			})
		}
	}
}

func hopOf(t *testing.T, mode, proto string, hop lbmodel.PoolProtocol, features lbmodel.Features) meshsync.Verdict {
	t.Helper()
	name := map[string]string{"HTTP": "name: http", "TCP": "name: tcp", "AUTO": "name: web"}[proto]
	service := strings.Replace(shopService, "name: http", name, 1)
	if proto != "HTTP" && service == shopService {
		t.Fatal("the Service's port is not named as this test thinks")
	}
	return meshsync.Judge(shop(t, service, shopPod, wide(mode)),
		meshsync.Hop{Protocol: hop, Minimum: lbmodel.TLSClientAndServer, Selected: true, Roots: 1}, features)
}

// TestMatrixTakesIstiosALPN: what istiod configures for STRICT does for who offers
// Istio's ALPN what it does for others, or better (reads HTTP): that is why a hop may
// offer it.
func TestMatrixTakesIstiosALPN(t *testing.T) {
	results := map[string]map[string]string{} // by mode, protocol and port, then by ALPN
	for _, row := range matrix(t) {
		m := sidecarRow.FindStringSubmatch(row)
		if m == nil || m[1] != "STRICT" {
			continue
		}
		at := m[2] + " " + m[3]
		if results[at] == nil {
			results[at] = map[string]string{}
		}
		results[at][m[4]] = m[5]
	}
	for at, by := range results {
		for _, alpn := range []string{"h2", "http/1.1", "none-such"} {
			if own := by["istio-h2"]; own != by[alpn] && !strings.Contains(own, "HCM") {
				t.Errorf("%s: with Istio's ALPN %q, with %s %q", at, own, alpn, by[alpn])
			}
		}
	}
	if len(results) != 6 {
		t.Errorf("%d ports under STRICT, want 6", len(results))
	}
}
