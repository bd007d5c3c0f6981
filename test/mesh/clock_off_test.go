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
		w.expect("HTTPRoute", backendTLS, "True/ProtectedWithLosses")
		w.works("ten minutes behind")
	})
	t.Run("ahead", func(t *testing.T) {
		t.Parallel()
		w := withPods(t, istioMesh(), probing("Gate"))
		off(w, 10*time.Minute)
		w.pass()
		w.expect("HTTPRoute", backendTLS, "False/ProbeFailed", "expired certificate: ", "holds only from ", "is a clock wrong?")
		w.held("before their time", "is a clock wrong?")
		w.closed("before their time")
		w.clock.pass(10*time.Minute + time.Second)
		w.settle()
		w.expect("HTTPRoute", backendTLS, "True/ProtectedWithLosses")
		w.works("when the time has come")
	})
}

// TestRevokedIsTold: an authority that its mesh does not publish any more is trusted
// while pods show certificates of it, and no longer; the conditions of the binding name
// it meanwhile.
func TestRevokedIsTold(t *testing.T) {
	w := withPods(t, istioMesh(), probing("Report"))
	w.settle()
	addB(w)
	publish(w)
	trusting(w)
	w.settle()
	w.clock.pass(13 * time.Hour)
	signB(w)
	dropA(w)
	publish(w)
	w.settle()
	if got := w.trusted(); len(got) != 2 {
		t.Errorf("roots %v are trusted, want both for the overlap", got)
	}
	renewing(w)
	w.clock.pass(24*time.Hour + time.Minute)
	renewing(w)
	w.settle()
	if got := w.trusted(); len(got) != 1 {
		t.Errorf("roots %v are trusted, want one: nobody shows the other", got)
	}
	w.works("with the authority that is left")
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
	w.expect("HTTPRoute", backendTLS, "False/NotMeshed", "cart-0")
	w.works("with what is left of the members")
	w.pods[0].become(w.mesh.member)
	renew(w, w.pods[0])
	w.clock.pass(time.Minute)
	w.settle()
	w.expect("HTTPRoute", backendTLS, "True/ProtectedWithLosses")
	w.works("mended")
}
