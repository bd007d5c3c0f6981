//go:build e2e

package e2e

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
)

// ofAPI is who the pods of the test are to their mesh.
const ofAPI = "spiffe://cluster.local/ns/shop/sa/default"

// podFault is a certificate that must not be believed, and what is said of it.
type podFault struct {
	name, why string
	shown     func(*probeWorld) tls.Certificate
	says      func(*probeWorld, tls.Certificate) string
}

func podFaults() []podFault {
	return []podFault{
		{
			name: "wrong CA", why: "anybody can write a name into a certificate",
			shown: func(w *probeWorld) tls.Certificate {
				other, err := ca.New(ca.Config{Name: "another"})
				w.do(err)
				return w.leaf(other, ca.Request{URIs: []string{ofAPI}})
			},
			says: func(w *probeWorld, pair tls.Certificate) string {
				return fmt.Sprintf("wrong CA: the certificate, issued by %q, leads to none of the roots (1: %s)", pair.Leaf.Issuer, w.mesh.ca.Roots()[0].Subject)
			},
		},
		{
			name: "wrong SAN", why: "istio #49874: names by another template than we derive",
			shown: func(w *probeWorld) tls.Certificate {
				return w.leaf(w.mesh.ca, ca.Request{URIs: []string{"spiffe://cluster.local/ns/shop/sa/other"}})
			},
			says: func(*probeWorld, tls.Certificate) string {
				return "wrong SAN: the certificate names spiffe://cluster.local/ns/shop/sa/other, and not " + ofAPI
			},
		},
		{
			name: "expired leaf", why: "an agent that died shows its last certificate for ever",
			shown: func(w *probeWorld) tls.Certificate {
				return w.leaf(w.mesh.ca, ca.Request{URIs: []string{ofAPI}, Life: time.Hour, Age: 2 * time.Hour})
			},
			says: func(_ *probeWorld, pair tls.Certificate) string {
				return fmt.Sprintf("expired certificate: the certificate %q ended at %s", lbmodel.CertificateName(pair.Leaf), pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
			},
		},
	}
}

// unreachable is what is said of pods to which the manager has no way.
const unreachable = "unreachable: nobody listens at the port; it is dialled from where the manager runs"

// TestProbe has the pods of a mesh dialled as the gateway would dial them
// (MeshBinding.spec.probe), with all that can be wrong with them. Report tells, and
// changes nothing. Gate keeps closed what is new, and what was there before goes on.
func TestProbe(t *testing.T) {
	w := newProbeWorld(t)
	w.well("api", "default")
	for _, f := range podFaults() {
		t.Run("Report/"+f.name, func(t *testing.T) { w.part(t, f.why).report(f) })
	}
	t.Run("Report/unreachable", func(t *testing.T) {
		w.part(t, "the load balancer may well reach what the manager does not").reportUnreachable()
	})
	w.gates()
	for i, f := range podFaults() {
		t.Run("Gate/"+f.name, func(t *testing.T) {
			w, app := w.part(t, f.why), fmt.Sprint("basket-", i)
			pair := f.shown(w)
			w.show(app, pair)
			w.gate(app, f.says(w, pair), func() { w.show(app, w.good()) })
		})
	}
	t.Run("Gate/unreachable", func(t *testing.T) {
		w := w.part(t, "who asks for proof gets nothing without")
		w.show("far", w.good())
		w.away.Store(true)
		defer w.away.Store(false)
		w.gate("far", unreachable, func() { w.away.Store(false) })
	})
	t.Run("Gate/another name", func(t *testing.T) {
		w.part(t, "the objects say one name, and the pods show another").gateName()
	})
	w.manager.stop(t)
}

// report: a pod that served well breaks and is mended.
func (w *probeWorld) report(f podFault) {
	w.manager.quiet(w.T)
	before := w.manager.mutations()
	pair := f.shown(w)
	w.show("sidecar", pair)
	w.broken("api", "default", f.says(w, pair))
	w.refuses("/")
	w.show("sidecar", w.good())
	w.well("api", "default")
	serves(w.T, w.url)
	if n := w.manager.mutations(); n != before {
		w.Errorf("%d calls changed the cloud", n-before)
	}
}

func (w *probeWorld) reportUnreachable() {
	before := w.manager.mutations()
	stop := load(w.T, w.url)
	w.away.Store(true)
	w.routeSays("api", "True/ProtectedWithLosses: "+hopOf("api")+": the probe says: "+unreachable)
	w.serviceSays("api", "True/ProtectedWithLosses: "+partOf("default")+"; the probe says: "+unreachable)
	w.away.Store(false)
	w.well("api", "default")
	w.lossless(stop)
	if n := w.manager.mutations(); n != before {
		w.Errorf("%d calls changed the cloud", n-before)
	}
}

// gate: an application comes whose pods are not as they should be, and its rule is closed
// until they are; the rule that was there before serves all the time.
func (w *probeWorld) gate(app, says string, mend func()) {
	stop := load(w.T, w.url)
	w.Apply(w.T, another(app))
	readyPods(w.T, w.Cluster, "app="+app, 1)
	w.Apply(w.T, routed(app))
	w.broken(app, "default", says)
	w.waits("no pod of shop/" + app + ":80 that was dialled takes it: " + strings.TrimSuffix(says, "; it is dialled from where the manager runs"))
	w.refuses("/" + app)
	mend()
	w.well(app, "default")
	w.well("api", "default")
	w.goesOn()
	w.servedBy("/"+app, app+"-")
	w.lossless(stop)
}

// gateName: pods come by another ServiceAccount with the certificate of the old one. The
// last good names serve on, and the new one comes into use when it is shown.
func (w *probeWorld) gateName() {
	const renamed = "spiffe://cluster.local/ns/shop/sa/renamed"
	says := "wrong SAN: the certificate names " + ofAPI + ", and not " + renamed
	stop := load(w.T, w.url)
	w.Apply(w.T, strings.Replace(lingering.Replace(sidecarred), "    spec:\n", "    spec:\n      serviceAccountName: renamed\n", 1))
	w.broken("api", "renamed", says)
	w.waits("pods of shop/api:80 do not take it: " + says)
	w.show("sidecar", w.leaf(w.mesh.ca, ca.Request{URIs: []string{renamed}}))
	w.well("api", "renamed")
	w.goesOn()
	serves(w.T, w.url)
	w.lossless(stop)
}
