package istio

import (
	"testing"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

// BenchmarkInbound is one pod's port: Direct, and with the longest fix, which edits
// a Service and a policy. A pass over a cluster asks it once for each of its pods.
func BenchmarkInbound(b *testing.B) {
	for _, c := range []struct {
		name      string
		documents []string
	}{
		{"direct", []string{shopService, shopPod, wide("STRICT")}},
		{"fix", []string{shopAuto, shopPod, peer("apps", "old", "2", `{`+selectsShop+`}`)}},
		{"ambient", []string{shopService, ambientPod}},
	} {
		b.Run(c.name, func(b *testing.B) {
			w, d := meshtest.Parse(b, c.documents...), Dialect{}
			port, pod := w.Port("apps", "shop"), w.Pod("apps", "shop-1")
			m := d.Mesh(w)
			var in meshsync.Inbound
			b.ReportAllocs()
			for b.Loop() {
				in = d.Inbound(w, m, port, pod)
			}
			if in.Membership != meshsync.Meshed {
				b.Fatalf("got %+v", in)
			}
		})
	}
}
