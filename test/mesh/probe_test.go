package mesh

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/lbmodel"
)

// probing is a binding that wants probes.
func probing(mode string) options { return options{binding: "  probe: {mode: " + mode + "}\n"} }

// all has every pod be or show something.
func (w *world) each(do func(*world, *pod)) {
	for _, p := range w.pods {
		do(w, p)
	}
}

// shown are certificates of pods that must not be believed.
func shown(w *world, p *pod, what string) {
	w.Helper()
	cart := ca.Request{URIs: []string{"spiffe://cluster.local/ns/apps/sa/cart"}}
	switch what {
	case "wrong CA":
		leaf, err := another(w).Issue(cart)
		w.do(err)
		p.Renew(leaf)
	case "wrong SAN":
		p.Renew(w.leaf(ca.Request{URIs: []string{"spiffe://cluster.local/ns/apps/sa/other"}}, role{}))
	case "expired certificate":
		cart.Life, cart.Age = time.Hour, 2*time.Hour
		p.Renew(w.leaf(cart, role{}))
	}
}

// held wants something to wait for probes.
func (w *world) held(when string, words ...string) {
	w.Helper()
	w.expect("Gateway", inSync, "False/ProbeFailed", append(words, "waits")...)
	if w.last.Settled {
		w.Errorf("%s: nothing waits", when)
	}
}

// TestGateAtFirst has something be wrong before a gateway ever speaks to the pods: no
// rule is made for them, and the conditions say which of the two sides must do what.
func TestGateAtFirst(t *testing.T) {
	for _, c := range []struct {
		name, why string
		broken    func(*world, *pod)
		says      []string
	}{
		{"wrong CA", "anybody can write a name into a certificate", func(w *world, p *pod) { shown(w, p, "wrong CA") }, []string{"wrong CA: ", "leads to none of the roots"}},
		{"wrong SAN", "istio #49874: names by another template than we derive", func(w *world, p *pod) { shown(w, p, "wrong SAN") }, []string{"wrong SAN: ", "spiffe://cluster.local/ns/apps/sa/other, and not spiffe://cluster.local/ns/apps/sa/cart"}},
		{"expired leaf", "an agent that died shows its last certificate for ever", func(w *world, p *pod) { shown(w, p, "expired certificate") }, []string{"expired certificate: ", "ended at "}},
		{"no TLS", "the sidecar was injected and takes nothing over", func(_ *world, p *pod) { p.Become(inbound.Plain{}) }, []string{"no TLS: ", "clear text"}},
		{"tunnel only", "the mode that counts is another than what the objects say", func(_ *world, p *pod) { p.Become(inbound.Ambient{Mode: inbound.Strict}) }, []string{"no TLS: ", "was closed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := withPods(t, istioMesh(), probing("Gate"))
			w.each(c.broken)
			w.pass()
			w.expect("HTTPRoute", backendTLS, "False/ProbeFailed", c.says...)
			w.held(c.name, "no pod of apps/cart")
			if ok, refused := w.answers(); ok > 0 || refused == 0 {
				t.Errorf("%d requests were answered by the application: %s", ok, c.why)
			}
			if n := w.writes.take()["CreateCertificate"]; n > 0 {
				t.Error("a certificate was made that nobody has a use for")
			}
			w.each(func(w *world, p *pod) { p.Become(p.role.proxy); renew(w, p) })
			w.clock.pass(time.Minute)
			w.settle()
			w.expect("HTTPRoute", backendTLS, "True/ProtectedWithLosses")
			w.expect("Gateway", meshMember, "True/Joined")
			if ok, _ := w.answers(); ok == 0 {
				t.Error("mended, and no request is answered")
			}
		})
	}
}

// TestGateOfOne: one pod of several that takes nothing is told, and costs the others
// nothing.
func TestGateOfOne(t *testing.T) {
	w := withPods(t, istioMesh(), probing("Gate"))
	shown(w, w.pods[0], "expired certificate")
	w.settle()
	w.expect("HTTPRoute", backendTLS, "False/ProbeFailed", "expired certificate: ")
	renew(w, w.pods[0])
	w.clock.pass(time.Minute)
	w.settle()
	w.expect("HTTPRoute", backendTLS, "True/ProtectedWithLosses")
}

// TestGateUnreachable: with Report, that nobody here can see the pods is told and holds
// up nothing; with Gate nothing is made that was not seen to work.
func TestGateUnreachable(t *testing.T) {
	for _, c := range []struct {
		mode, why, condition string
		settled              bool
	}{
		{"Report", "the load balancer may well reach what the manager does not", "True/ProtectedWithLosses", true},
		{"Gate", "who asks for proof gets nothing without", "False/ProbeFailed", false},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			w := withPods(t, istioMesh(), probing(c.mode))
			w.each(func(w *world, p *pod) { p.end() })
			w.pass()
			if w.last.Settled != c.settled {
				t.Errorf("settled: %t, want %t: %s; %v", w.last.Settled, c.settled, c.why, w.last.Failed)
			}
			w.expect("HTTPRoute", backendTLS, c.condition, "unreachable: ", "from where the manager runs")
		})
	}
}

// TestGateKeepsWhatWorks: names that the mesh says have changed and the pods do not
// show yet do not come into use; the last good ones serve on.
func TestGateKeepsWhatWorks(t *testing.T) {
	w := withPods(t, istioMesh(), probing("Gate"))
	w.settle()
	w.works("before")
	w.writes.take()
	w.each(func(_ *world, p *pod) { p.role.account = "basket" }) // the objects; the certificates are of cart
	w.pass()
	w.expect("HTTPRoute", backendTLS, "False/ProbeFailed", "wrong SAN: ")
	w.held("another name", "wrong SAN: ")
	w.works("with the last good names")
	if n := w.writes.take()["UpdatePool"]; n > 0 {
		t.Errorf("the pool was changed %d times", n)
	}
	renewing(w)
	w.clock.pass(time.Minute)
	w.settle()
	w.works("with the new names")
}

// TestGateCertificate: a new client certificate that pods refuse never reaches the
// provider; the live one serves on.
func TestGateCertificate(t *testing.T) {
	w := withPods(t, istioMesh(), probing("Gate"))
	w.settle()
	addB(w)
	publish(w) // but the pods do not load it
	w.settle()
	w.clock.pass(13 * time.Hour)
	signB(w)
	renewing(w)
	w.each(func(w *world, p *pod) { p.Renew(w.leafOfA(p)) })
	w.clock.pass(4 * time.Hour) // it is due
	w.writes.take()
	w.pass()
	w.failed("ProbeFailed: the new certificate is held: pods of apps/cart:80: client certificate refused: ")
	w.works("with the live certificate")
	if n := w.writes.take()["UpdateCertificate"]; n > 0 {
		t.Errorf("the refused certificate was sent to the provider %d times", n)
	}
	trusting(w)
	w.settle()
	w.works("with the new certificate")
	if n := w.writes.take()["UpdateCertificate"]; n != 1 {
		t.Errorf("the certificate was changed %d times, want once", n)
	}
}

// leafOfA is one for a pod of the authority that the others know.
func (w *world) leafOfA(p *pod) leafKey {
	w.Helper()
	w.do(w.ca.SignBy("a"))
	defer signB(w)
	return w.leaf(ca.Request{}, p.role)
}

// failed wants a step to have failed for a reason.
func (w *world) failed(says string) {
	w.Helper()
	for _, err := range w.last.Failed {
		if strings.Contains(err.Error(), says) {
			if code := lbmodel.CodeOf(err); code != lbmodel.CodePending {
				w.Errorf("%v has the code %s, want that it waits", err, code)
			}
			return
		}
	}
	w.Errorf("no step failed since %q: %v", says, w.last.Failed)
}

// TestSeenRootStays: a root whose overlap is over goes only when no pod shows a
// certificate of it any more, whatever the mesh publishes.
func TestSeenRootStays(t *testing.T) {
	for _, mode := range []string{"Report", "Gate"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := withPods(t, week(istioMesh()), probing(mode))
			w.settle()
			stubborn := ca.Request{Life: 72 * time.Hour}
			w.each(func(w *world, p *pod) { p.Renew(w.leaf(stubborn, p.role)) })
			addB(w)
			publish(w)
			trusting(w)
			w.settle()
			w.clock.pass(13 * time.Hour)
			signB(w)
			dropA(w)
			publish(w)
			w.settle()
			w.clock.pass(25 * time.Hour)
			w.settle()
			if roots := w.trusted(); len(roots) != 2 {
				t.Fatalf("roots %v are trusted, want both: pods show certificates of the old one", roots)
			}
			w.states(v1alpha1.RootTrusted, v1alpha1.RootRemoving)
			w.works("with pods of the root that is not published any more")
			again := w.restarted()
			if roots := again.trusted(); len(roots) != 2 {
				t.Fatalf("after a restart %v are trusted, want both", roots)
			}
			renewing(w)
			w.clock.pass(11 * time.Minute)
			w.settle()
			if roots := w.trusted(); len(roots) != 1 {
				t.Errorf("roots %v are trusted, want one: nobody shows the old one any more", roots)
			}
			w.states(v1alpha1.RootTrusted)
			w.works("with the new root")
		})
	}
}

// restarted is the world with another process at work.
func (w *world) restarted() *world {
	w.Helper()
	w.stack = w.open(w.first)
	w.pass()
	return w
}

// trusted are the roots that the provider holds.
func (w *world) trusted() []string {
	w.Helper()
	var out []string
	for _, g := range w.stack.Loop.Gateways() {
		for _, roots := range w.stack.Loop.Roots(g) {
			for _, r := range roots {
				out = append(out, r.SHA256[:8])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
