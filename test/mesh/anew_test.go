package mesh

import (
	"testing"
	"time"
)

// TestIssuedAnew: another issuer, and a life that is to be shorter, are taken up at once,
// with one certificate and nothing else; a longer life with the next one.
func TestIssuedAnew(t *testing.T) {
	for _, c := range []struct {
		name, why string
		change    func(*world)
		issued    int
		life      time.Duration
	}{
		{"shorter", "whoever shortens it does not want to wait for the end of a longer one", func(w *world) { w.mesh.gatewayLife = 12 * time.Hour }, 1, 12 * time.Hour},
		{"longer", "what is live is as short as anybody wants", func(w *world) { w.mesh.gatewayLife = 48 * time.Hour }, 0, 24 * time.Hour},
		{"another issuer", "its CA may be about to be trusted no more", func(w *world) { w.options.identity = `, address: "127.0.0.1:15012"` }, 1, 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := withPods(t, istioMesh(), options{})
			w.settle()
			w.works("before")
			issued := w.issuers.count()
			c.change(w)
			w.put("binding", w.bindingYAML())
			w.settle()
			w.works("after")
			if n := w.issuers.count() - issued; n != c.issued {
				t.Errorf("%d certificates were issued, want %d: %s", n, c.issued, c.why)
			}
			for _, leaf := range w.stack.Loop.Leaves(w.stack.Loop.Gateways()[0]) {
				if life := leaf.NotAfter.Sub(leaf.NotBefore); life < c.life || life > c.life+time.Hour {
					t.Errorf("it lives for %s, want %s: %s", life, c.life, c.why)
				}
			}
			w.writes.take()
			w.settle()
			w.stack = w.open(w.first)
			w.settle()
			if got := w.writes.take(); total(got) > 0 || w.issuers.count() != issued+c.issued {
				t.Errorf("then, and after a restart, the cloud was changed: %s", told(got))
			}
		})
	}
}
