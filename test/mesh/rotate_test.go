package mesh

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
)

// A rotation's calls.
var (
	trustOnce       = map[string]int{"UpdateTrust": 1}
	certificateOnce = map[string]int{"UpdateCertificate": 1}
)

// withPods is a mesh with a Service of members.
func withPods(t *testing.T, mesh flavour, o options) *world {
	t.Helper()
	w := newWorld(t, mesh, o)
	for i := range *podsFor {
		w.start(fmt.Sprint("cart-", i), mesh.member)
	}
	return w
}

// TestRotations does what each mesh's operators do to change its CA, under load:
// nobody notices, and the provider is told no more than it must be. The least that a
// rotation costs is one change of the roots to add one, one to drop the other, and
// one of the gateway's certificate; that a root was dropped by its mesh is written
// down too, which is one more.
func TestRotations(t *testing.T) {
	for _, c := range []struct {
		name, why string
		mesh      flavour
		more      string // of the MeshBinding
		steps     []step
		floor     int // trust and certificate
		roots     []string
	}{
		{
			name: "Istio, A to A+B to A+B+B to B", floor: 3 + 1, roots: []string{"a", "b"},
			why:  "istio #30947: bundles with a root twice are on the way; the gateway's certificate lives for a week",
			mesh: week(istioMesh()), steps: istioSteps(),
		},
		{
			name: "Istio, its proxies drop A at once", floor: 3 + 1, roots: []string{"a", "b"},
			why:  "a gateway whose certificate lives for a day has moved before a day is over",
			mesh: istioMesh(), steps: hastySteps(),
		},
		{
			name: "Istio, the same key signed anew", floor: 1, roots: []string{"a"},
			why:  "what a self-signed istiod does by itself: old certificates verify under the new root",
			mesh: istioMesh(),
			steps: []step{
				{name: "sign A anew", do: all(resignA, publish, trusting), want: trustOnce},
				{name: "pods renew", do: renewing},
			},
		},
		{
			name: "Linkerd, old and new anchors", floor: 3 + 1, roots: []string{"a", "b"},
			why:  "pods keep the anchors of their injection, so the certificate of B waits until the last was restarted",
			mesh: linkerdMesh(), steps: linkerdSteps(),
		},
		{
			name: "SPIRE, prepare, activate, taint, revoke", floor: 3 + 1, roots: []string{"a", "b"},
			why:  "certificates live for an hour, so the gateway has moved before A is revoked",
			mesh: spireMesh(), steps: spireSteps(),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := withPods(t, c.mesh, options{})
			r := w.under(c.steps)
			r.check()
			if n := r.mutations["UpdateTrust"] + r.mutations["UpdateCertificate"] - scheduled(c.steps); n != c.floor {
				t.Errorf("the rotation took %d changes of roots and certificate, want %d: %s", n, c.floor, c.why)
			}
			gateway, pods := w.byRoot(r.root)
			for _, root := range c.roots {
				if gateway[root] == 0 || pods[root] == 0 {
					t.Errorf("no handshake under root %s: %v, %v", root, gateway, pods)
				}
			}
			if len(gateway) != len(c.roots) || len(pods) != len(c.roots) {
				t.Errorf("handshakes under other roots: %v, %v", gateway, pods)
			}
			figures.rotation(c.name, r, c.steps)
		})
	}
}

// week has the gateway's certificate live for seven days.
func week(m flavour) flavour {
	m.gatewayLife = 7 * 24 * time.Hour
	return m
}

func resignA(w *world) {
	w.clock.pass(time.Hour) // or it would be the same
	w.do(w.ca.Resign("a"))
}

func istioSteps() []step {
	return []step{
		{name: "add B", do: all(addB, publish, trusting), want: trustOnce},
		{name: "half a day later", do: later(13 * time.Hour)},
		{name: "B signs, and is listed twice", do: all(signB, repeatB, publish)},
		{name: "pods renew", do: slowly(renew)},
		{name: "a day later", do: later(24 * time.Hour)},
		// The proxies learn of it later, each when it renews its certificate.
		{name: "drop A", do: all(dropA, publish), want: both()},
		{name: "pods drop A", do: slowly(func(w *world, p *pod) { p.Trust(w.ca.Roots()) })},
		{name: "23 hours later", do: later(23 * time.Hour)},
		{name: "a day after", do: later(time.Hour + time.Minute), want: trustOnce},
	}
}

func hastySteps() []step {
	return []step{
		{name: "add B", do: all(addB, publish, trusting), want: trustOnce},
		{name: "half a day later", do: later(13 * time.Hour)},
		{name: "B signs", do: signB},
		{name: "four hours later", do: later(4 * time.Hour), want: certificateOnce},
		{name: "a day after B signed", do: later(20 * time.Hour), want: certificateOnce}, // on schedule
		{name: "drop A", do: all(dropA, trusting, publish), want: trustOnce},
		{name: "16 hours later", do: later(16*time.Hour + time.Minute), want: certificateOnce}, // on schedule
		{name: "a day after", do: later(8 * time.Hour), want: trustOnce},
	}
}

func linkerdSteps() []step {
	return []step{
		{name: "add B, restart the control plane", do: all(addB, publish, controlPlane), want: trustOnce},
		{name: "restart one pod", do: func(w *world) { restart(w, w.pods[0]) }, want: endpoints(1)},
		{name: "B signs", do: all(signB, controlPlane)},
		// The gateway's certificate is due, and one pod does not know B.
		{name: "17 hours later", do: later(17 * time.Hour), held: true},
		{name: "restart the others", do: restartOthers, want: plus(endpoints(*podsFor-1), certificateOnce)},
		{name: "drop A", do: all(dropA, publish, controlPlane), want: trustOnce},
		{name: "restart all pods", do: slowly(restart), want: endpoints(*podsFor)},
		{name: "16 hours later", do: later(16 * time.Hour), want: certificateOnce}, // on schedule
		{name: "a day after", do: later(8*time.Hour + time.Minute), want: trustOnce},
	}
}

func spireSteps() []step {
	return []step{
		{name: "prepare B", do: all(addB, publish, trusting), want: trustOnce},
		{name: "ten minutes later", do: later(10 * time.Minute)},
		{name: "activate B", do: signB},
		{name: "half an hour later", do: later(31 * time.Minute), want: certificateOnce},
		{name: "taint A: agents renew", do: slowly(renew)},
		{name: "revoke A", do: all(dropA, publish, trusting), want: trustOnce},
		{name: "forty minutes later", do: later(40 * time.Minute), want: certificateOnce}, // on schedule
		{name: "an hour after", do: later(21 * time.Minute), want: trustOnce},
	}
}

// scheduled are the renewals that would have been without a rotation.
func scheduled(steps []step) (n int) {
	n = -1 // one of them brings the new authority
	for _, s := range steps {
		n += s.want["UpdateCertificate"]
	}
	return max(n, 0)
}

func repeatB(w *world) { w.do(w.ca.Repeat("b")) }

func renew(w *world, p *pod) { p.Renew(w.leaf(ca.Request{}, p.role)) }

// controlPlane restarts Linkerd's identity service: its own proxy gets the roots and
// a certificate.
func controlPlane(w *world) {
	proxy := w.issuers.linkerd.Proxy()
	proxy.Trust(w.ca.Roots())
	proxy.Renew(w.leaf(ca.Request{DNSNames: []string{"linkerd-identity.linkerd.serviceaccount.identity.linkerd.cluster.local"}, Life: 240 * time.Hour}, role{}))
}

func restartOthers(w *world) {
	for _, p := range slices.Clone(w.pods[:len(w.pods)-1]) { // the one that was restarted is the last now
		restart(w, p)
	}
}

func both() map[string]int { return plus(trustOnce, certificateOnce) }

// endpoints are the changes of a Service's endpoints when so many pods are replaced:
// one comes, and one goes.
func endpoints(pods int) map[string]int {
	if pods == 0 {
		return map[string]int{}
	}
	return map[string]int{"UpdateEndpointGroup": 2 * pods}
}

func plus(list ...map[string]int) map[string]int {
	out := map[string]int{}
	for _, m := range list {
		for name, n := range m {
			out[name] += n
		}
	}
	return out
}
