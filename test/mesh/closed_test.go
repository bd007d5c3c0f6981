package mesh

import (
	"net/http"
	"testing"
	"time"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/fake/mesh/signing"
)

// answers counts a few requests: by the application, and by the gateway itself. It
// answers 5xx where it had a rule before, and 404 where it never had one.
func (w *world) answers() (ok, refused int) {
	w.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 10 {
		r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.url(), nil)
		w.do(err)
		res, err := client.Do(r)
		w.do(err)
		w.do(res.Body.Close())
		switch {
		case res.StatusCode == http.StatusOK:
			ok++
		case res.StatusCode >= 500, res.StatusCode == http.StatusNotFound:
			refused++
		default:
			w.Errorf("an answer of status %d", res.StatusCode)
		}
	}
	return ok, refused
}

// closed wants every request refused by the gateway, and no hop that is not
// verified.
func (w *world) closed(when string) {
	w.Helper()
	if ok, refused := w.answers(); ok > 0 || refused == 0 {
		w.Errorf("%s: %d requests were answered by the application, want none", when, ok)
	}
	if n := w.unverified(); n > 0 {
		w.Errorf("%s: %d hops were not verified: %+v", when, n, w.seen.copy())
	}
}

// works wants every request answered by the application, soon: an endpoint that
// failed is avoided for a few seconds.
func (w *world) works(when string) {
	w.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, refused := w.answers(); refused == 0 {
			break
		}
		if time.Now().After(deadline) {
			w.Errorf("%s: requests are refused still: %v", when, w.last.Failed)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if n := w.unverified(); n > 0 {
		w.Errorf("%s: %d hops were not verified: %+v", when, n, w.seen.copy())
	}
}

// fault is one thing that goes wrong, and comes right again.
type fault struct {
	name, why string
	mesh      flavour
	options   options
	broken    func(*world) // brings it about, passes, and looks
	mended    func(*world) // ends it; then all must be well
}

// another is a CA that is nobody's.
func another(w *world) *ca.CA {
	w.Helper()
	out, err := ca.New(ca.Config{Now: w.clock.now, Name: "another", RootKey: ca.ECDSA})
	w.do(err)
	return out
}

// backendFaults are certificates of pods that must not be believed. Nobody is asked
// about them but the data plane, so it tells.
func backendFaults() []fault {
	shows := func(name, why string, reason dataplane.Reason, leaf func(*world) leafKey) fault {
		return fault{
			name: name, why: why, mesh: istioMesh(),
			broken: func(w *world) {
				w.Helper()
				for _, p := range w.pods {
					p.Renew(leaf(w))
				}
				reconnect(w)
				w.closed(name)
				if !w.trouble.has(reason) {
					w.Errorf("the data plane tells of no %s: %v", reason, w.trouble.all)
				}
			},
			mended: renewing,
		}
	}
	cart := ca.Request{URIs: []string{"spiffe://cluster.local/ns/apps/sa/cart"}}
	return []fault{
		shows("wrong CA", "anybody can write a name into a certificate", dataplane.ReasonUnknownCA, func(w *world) leafKey {
			leaf, err := another(w).Issue(cart)
			w.do(err)
			return leaf
		}),
		shows("wrong SAN", "another workload of the mesh has the address", dataplane.ReasonWrongName, func(w *world) leafKey {
			return w.leaf(ca.Request{URIs: []string{"spiffe://cluster.local/ns/apps/sa/other"}}, role{})
		}),
		shows("expired leaf", "an agent that died shows its last certificate for ever", dataplane.ReasonExpired, func(w *world) leafKey {
			expired := cart
			expired.Life, expired.Age = time.Hour, 2*time.Hour
			return w.leaf(expired, role{})
		}),
	}
}

// reconnect has the gateway make new connections.
func reconnect(w *world) {
	for _, p := range w.pods {
		p.Disconnect()
	}
}

func issuerFaults() []fault {
	return []fault{
		{
			name: "the issuer refuses", why: "an account that may not have a certificate gets none", mesh: istioMesh(),
			broken: func(w *world) {
				w.issuers.desk().Break(signing.Refuse, 0)
				w.pass()
				w.expect("Gateway", meshMember, "False/IdentityRefused")
				w.closed("without a certificate")
			},
			mended: func(w *world) { w.issuers.desk().Mend() },
		},
		{
			name: "the issuer refuses until the certificate ends", why: "the live one serves until its end and not a moment longer", mesh: istioMesh(),
			broken: func(w *world) {
				w.settle()
				w.works("before")
				w.issuers.desk().Break(signing.Refuse, 0)
				w.clock.pass(17 * time.Hour)
				renewing(w)
				w.pass()
				w.works("with the live certificate")
				w.clock.pass(8 * time.Hour)
				renewing(w)
				reconnect(w)
				w.pass()
				w.expect("Gateway", meshMember, "False/IdentityExpired")
				w.closed("with an ended certificate")
			},
			mended: func(w *world) { w.issuers.desk().Mend() },
		},
		{
			name: "the issuer's clock is ten minutes ahead", why: "a certificate before its time is refused by all, so it waits", mesh: istioMesh(),
			options: options{skew: 10 * time.Minute},
			broken: func(w *world) {
				w.pass()
				w.expect("Gateway", meshMember, "False/IdentityPending", "expired or is not yet valid")
				w.closed("before its time")
			},
			mended: func(w *world) {
				w.skew.Store(0)
				w.clock.pass(10 * time.Minute) // what was signed by the wrong clock becomes valid
			},
		},
		{
			name: "the issuer's clock is ten minutes behind", why: "what it signs is older than it should be, and valid", mesh: istioMesh(),
			options: options{skew: -10 * time.Minute},
			broken:  func(w *world) { w.settle(); w.works("ten minutes behind") },
			mended:  func(*world) {},
		},
	}
}

func meshFaults() []fault {
	selected := options{binding: "  labelSelector: {matchLabels: {meshed: \"true\"}}\n"}
	return []fault{
		{
			name: "the roots cannot be read for a day", why: "what was read last counts, and nothing is deleted", mesh: week(istioMesh()),
			broken: func(w *world) {
				w.settle()
				w.writes.take()
				w.bundle = []byte("not a certificate\n")
				for range 3 {
					w.clock.pass(8 * time.Hour)
					renewing(w)
					w.pass()
				}
				w.expect("Gateway", meshMember, "False/TrustStale")
				w.expect("MeshBinding", "ResolvedRefs", "False/RootsUnreadable")
				if got := w.writes.take(); total(got) > 0 {
					w.Errorf("unreadable roots changed the provider: %s", told(got))
				}
				w.works("with the last good roots")
			},
			mended: publish,
		},
		{
			name: "the roots cannot be read until the certificate ends", why: "the last good roots verify what the CA signs", mesh: istioMesh(),
			broken: func(w *world) {
				w.settle()
				w.bundle = []byte("not a certificate\n")
				w.clock.pass(25 * time.Hour)
				renewing(w)
				w.pass()
				w.expect("Gateway", meshMember, "False/TrustStale")
				w.works("with a certificate that was renewed by the last good roots")
			},
			mended: publish,
		},
		{
			name: "and nobody knows them any more", why: "nothing can be renewed that nobody can verify", mesh: istioMesh(),
			broken: func(w *world) {
				w.settle()
				w.bundle = []byte("not a certificate\n")
				w.write()
				restartAll(w)
				w.clock.pass(25 * time.Hour)
				renewing(w)
				w.pass()
				w.expect("Gateway", meshMember, "False/TrustStale")
				w.closed("with an ended certificate and no roots")
			},
			mended: publish,
		},
		{
			name: "the roots cannot be read from the start", why: "who cannot verify does not speak", mesh: istioMesh(),
			broken: func(w *world) {
				w.bundle = []byte("not a certificate\n")
				w.pass()
				w.expect("Gateway", meshMember, "False/TrustPending")
				w.closed("without roots")
			},
			mended: publish,
		},
		{
			name: "the authority is revoked", why: "its certificates end with the overlap, on both sides", mesh: istioMesh(),
			broken: func(w *world) {
				w.settle()
				addB(w)
				signB(w)
				dropA(w)
				publish(w)
				w.pass() // the gateway's certificate of B waits until pods can know B
				trusting(w)
				w.clock.pass(13 * time.Hour)
				w.settle()
				w.clock.pass(11*time.Hour + time.Minute)
				w.settle()
				w.closed("with pods of the revoked authority")
			},
			mended: renewing,
		},
		{
			name: "the sidecar is missing after a rollout", why: "losing a sidecar is no permission to speak clear text", mesh: istioMesh(), options: selected,
			broken: func(w *world) {
				w.settle()
				w.works("before")
				for _, p := range w.pods {
					p.become(plain())
				}
				w.settle()
				w.expect("HTTPRoute", backendTLS, "False/NotMeshed")
				w.closed("without sidecars")
			},
			mended: func(w *world) {
				for _, p := range w.pods {
					p.become(sidecar(inbound.Strict))
				}
			},
		},
	}
}

// TestClosed breaks one thing after the other. What cannot be verified is refused,
// never sent in clear text and never without verification; the condition says what
// it is; and nothing but the cause must be mended.
func TestClosed(t *testing.T) {
	for _, list := range [][]fault{backendFaults(), issuerFaults(), meshFaults()} {
		for _, f := range list {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				w := withPods(t, f.mesh, f.options)
				if f.options == (options{}) && f.name != "the issuer refuses" && f.name != "the roots cannot be read from the start" {
					w.settle()
				}
				f.broken(w)
				f.mended(w)
				w.settle()
				w.expect("Gateway", meshMember, "True/Joined")
				w.expect("HTTPRoute", backendTLS, "True/ProtectedWithLosses")
				w.works("mended: " + f.why)
			})
		}
	}
}
