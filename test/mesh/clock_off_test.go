package mesh

import (
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
)

// TestClocksOff: certificates of pods by a clock ten minutes off. One that is behind
// harms nobody. One that is ahead makes certificates that nobody may believe yet: with
// a probe the conditions say which clock to look at, nothing is closed that works, and
// everything comes by itself when the time has come.
func TestClocksOff(t *testing.T) {
	off := func(w *world, by time.Duration) {
		w.each(func(w *world, p *pod) { p.Renew(w.leaf(ca.Request{Age: -by}, p.role)) })
	}
	t.Run("behind", func(t *testing.T) {
		t.Parallel()
		w := withPods(t, istioMesh(), probing("Gate"))
		off(w, -10*time.Minute)
		w.settle()
		w.exactly("HTTPRoute", backendTLS, reached)
		w.works("ten minutes behind")
	})
	t.Run("ahead", func(t *testing.T) {
		t.Parallel()
		w := withPods(t, istioMesh(), probing("Gate"))
		off(w, 10*time.Minute)
		w.pass()
		const early = "expired certificate: the certificate … holds only from …: is a clock wrong?"
		w.exactly("HTTPRoute", backendTLS, "False/ProbeFailed: "+theHop+": the probe says: "+early)
		w.exactly("Gateway", inSync, "False/ProbeFailed: Certificate.… is needed only with Pool.…, which waits: no pod of apps/cart:80 that was dialled takes it: "+early)
		w.closed("before their time")
		w.clock.pass(10*time.Minute + time.Second)
		w.settle()
		w.exactly("HTTPRoute", backendTLS, reached)
		w.works("when the time has come")
	})
}

// TestInjectionBreaks: half a rollout comes up without sidecars. The pods with one are
// spoken to as before, those without get nothing, and the condition names them.
func TestInjectionBreaks(t *testing.T) {
	o := probing("Gate")
	o.binding += "  labelSelector: {matchLabels: {meshed: \"true\"}}\n"
	w := withPods(t, istioMesh(), o)
	w.settle()
	w.works("before")
	w.pods[0].become(plain())
	w.settle()
	w.exactly("HTTPRoute", backendTLS, "False/NotMeshed: "+theRef+": pod cart-0 "+lostSidecar)
	w.works("with what is left of the members")
	w.pods[0].become(w.mesh.member)
	renew(w, w.pods[0])
	w.clock.pass(time.Minute)
	w.settle()
	w.exactly("HTTPRoute", backendTLS, reached)
	w.works("mended")
}
