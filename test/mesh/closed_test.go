package mesh

import (
	"net/http"
	"testing"
	"time"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/internal/translate"
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
	serves    bool         // what was known before still verifies; else nothing is answered
	says      []string     // kind, condition, and what it is exactly; three by three
	mended    func(*world) // ends it; then all must be well
}

// check breaks something in a world where all is well, unless it is broken from the
// beginning, and mends it.
func (f fault) check(t *testing.T) {
	w := withPods(t, f.mesh, f.options)
	f.broken(w)
	for i := 0; i < len(f.says); i += 3 {
		w.exactly(f.says[i], f.says[i+1], f.says[i+2])
	}
	if f.serves {
		w.works(f.name)
	} else {
		w.closed(f.name)
	}
	f.mended(w)
	w.settle()
	w.exactly("Gateway", meshMember, joined)
	w.exactly("HTTPRoute", backendTLS, reached)
	w.exactly(translate.KindMeshBinding, "ResolvedRefs", rootsRead)
	w.works("mended: " + f.why)
}

// What is said when all is well.
const (
	joined    = "True/Joined: MeshBinding/mesh: groups of pods reached as a member: 1"
	reached   = "True/ProtectedWithLosses: " + theHop
	theHop    = theRef + " ClientAndServer without AppHealth"
	theRef    = "rules[0].backendRefs[0] apps/cart:80"
	rootsRead = "True/ResolvedRefs: "
)

// another is a CA that is nobody's.
func another(w *world) *ca.CA {
	w.Helper()
	out, err := ca.New(ca.Config{Now: w.clock.now, Name: "another", RootKey: ca.ECDSA})
	w.do(err)
	return out
}

// backendFaults are certificates of pods that must not be believed. The data plane
// tells, and so do probes; nothing is changed for it.
func backendFaults() []fault {
	shows := func(name, why string, reason dataplane.Reason, says string) fault {
		return fault{
			name: name, why: why, mesh: istioMesh(), options: probing("Report"),
			broken: func(w *world) {
				w.Helper()
				w.settle()
				w.exactly("HTTPRoute", backendTLS, reached)
				w.writes.take()
				w.each(func(w *world, p *pod) { shown(w, p, name) })
				reconnect(w)
				w.closed(name)
				if !w.trouble.has(reason) {
					w.Errorf("the data plane tells of no %s: %v", reason, w.trouble.all)
				}
				w.clock.pass(10 * time.Minute)
				w.settle()
				if got := w.writes.take(); total(got) > 0 {
					w.Errorf("the cloud was changed: %s", told(got))
				}
			},
			says: []string{"HTTPRoute", backendTLS, "False/ProbeFailed: " + theHop + ": the probe says: " + says},
			mended: func(w *world) {
				renewing(w)
				w.clock.pass(time.Minute)
			},
		}
	}
	return []fault{
		shows("wrong CA", "anybody can write a name into a certificate", dataplane.ReasonUnknownCA,
			`wrong CA: the certificate, issued by "CN=a,O=another", leads to none of the roots (1: CN=a,O=mesh)`),
		shows("wrong SAN", "another workload of the mesh has the address", dataplane.ReasonWrongName,
			"wrong SAN: the certificate names spiffe://cluster.local/ns/apps/sa/other, and not spiffe://cluster.local/ns/apps/sa/cart"),
		shows("expired certificate", "an agent that died shows its last certificate for ever", dataplane.ReasonExpired,
			"expired certificate: the certificate … ended at …"),
	}
}

// reconnect has the gateway make new connections.
func reconnect(w *world) {
	for _, p := range w.pods {
		p.Disconnect()
	}
}

// noToken is what the issuer says when it refuses.
const noToken = "CreateCertificate: Denied Identity.MeshBinding/mesh: Unauthenticated: request authenticate failure"

func issuerFaults() []fault {
	return []fault{
		{
			name: "the issuer refuses", why: "an account that may not have a certificate gets none", mesh: istioMesh(),
			broken: func(w *world) {
				w.issuers.desk().Break(signing.Refuse, 0)
				w.pass()
			},
			says:   []string{"Gateway", meshMember, "False/IdentityRefused: MeshBinding/mesh: the issuer refuses its certificate: " + noToken},
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
				w.exactly("Gateway", meshMember, joined+"; its next certificate is not there yet: "+noToken)
				w.works("with the live certificate")
				w.clock.pass(8 * time.Hour)
				renewing(w)
				reconnect(w)
				w.pass()
			},
			says:   []string{"Gateway", meshMember, "False/IdentityExpired: MeshBinding/mesh: its certificate ended at …: " + noToken},
			mended: func(w *world) { w.issuers.desk().Mend() },
		},
		{
			name: "the issuer's clock is ten minutes ahead", why: "a certificate before its time is refused by all, so it waits", mesh: istioMesh(),
			options: options{skew: 10 * time.Minute},
			broken:  func(w *world) { w.pass() },
			says: []string{"Gateway", meshMember, "False/IdentityPending: MeshBinding/mesh: its certificate is not there yet: Connect: Unavailable Identity.MeshBinding/mesh: istiod.istio-system.svc at …, to whom nothing was sent: " +
				"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time … is before …"},
			mended: func(w *world) {
				w.skew.Store(0)
				w.clock.pass(10 * time.Minute) // what was signed by the wrong clock becomes valid
			},
		},
		{
			name: "the issuer's clock is ten minutes behind", why: "what it signs is older than it should be, and valid", mesh: istioMesh(),
			options: options{skew: -10 * time.Minute}, serves: true,
			broken: func(w *world) { w.settle() },
			says:   []string{"Gateway", meshMember, joined},
			mended: func(w *world) { w.skew.Store(0) },
		},
	}
}

// unread has the roots of the mesh be unreadable from now on.
func unread(w *world) { w.bundle = []byte("not a certificate\n") }

// What is said of them.
const (
	notRead = "ConfigMap istio-system/istio-ca-root-cert: no PEM block begins anywhere; wanted is -----BEGIN CERTIFICATE-----"
	stale   = "False/TrustStale: MeshBinding/mesh: its roots cannot be read any more; those that are there stay: " + notRead
)

func sourceFaults() []fault {
	return []fault{
		{
			name: "the roots cannot be read for a day", why: "what was read last counts, and nothing is deleted", mesh: week(istioMesh()), serves: true,
			broken: func(w *world) {
				w.settle()
				w.writes.take()
				unread(w)
				for range 3 {
					w.clock.pass(8 * time.Hour)
					renewing(w)
					w.pass()
				}
				if got := w.writes.take(); total(got) > 0 {
					w.Errorf("unreadable roots changed the provider: %s", told(got))
				}
				w.each(func(w *world, p *pod) { shown(w, p, "wrong CA") })
				reconnect(w)
				w.closed("by a CA that nobody knows")
				renewing(w)
			},
			says: []string{
				"Gateway", meshMember, stale,
				translate.KindMeshBinding, "ResolvedRefs", "False/RootsUnreadable: " + notRead + "; the gateways keep the roots that they have",
			},
			mended: publish,
		},
		{
			name: "the roots cannot be read until the certificate ends", why: "the last good roots verify what the CA signs", mesh: istioMesh(), serves: true,
			broken: func(w *world) {
				w.settle()
				unread(w)
				w.clock.pass(25 * time.Hour)
				renewing(w)
				w.pass()
			},
			says:   []string{"Gateway", meshMember, stale},
			mended: publish,
		},
	}
}

// forgottenFaults are sources of which nobody knows what they said.
func forgottenFaults() []fault {
	return []fault{
		{
			name: "the roots cannot be read and nobody knows them any more", why: "nothing can be renewed that nobody can verify", mesh: istioMesh(),
			broken: func(w *world) {
				w.settle()
				unread(w)
				w.write()
				restartAll(w)
				w.clock.pass(25 * time.Hour)
				renewing(w)
				w.pass()
			},
			says:   []string{"Gateway", meshMember, stale},
			mended: publish,
		},
		{
			name: "the roots cannot be read from the start", why: "who cannot verify does not speak", mesh: istioMesh(),
			broken: func(w *world) {
				unread(w)
				w.pass()
			},
			says:   []string{"Gateway", meshMember, "False/TrustPending: MeshBinding/mesh: its roots cannot be read: " + notRead},
			mended: publish,
		},
	}
}

// revoked takes the authority of the pods out of the mesh, and lets its overlap pass.
// Their certificates would hold for longer.
func revoked(w *world) {
	w.each(func(w *world, p *pod) { p.Renew(w.leaf(ca.Request{Life: 72 * time.Hour}, p.role)) })
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
}

const lostSidecar = "outside of the mesh: the binding's selector names this backend, so it must be mutual TLS, and its pods are no members of the mesh " +
	"(nothing asks Istio to take the pod into the mesh); fix: Label namespace apps with istio-injection=enabled (or istio.io/rev=<revision>), then restart its pods."

func meshFaults() []fault {
	return []fault{
		{
			name: "the authority is revoked", why: "its certificates end with the overlap, on both sides", mesh: istioMesh(),
			broken: func(w *world) {
				revoked(w)
				w.closed("with pods of the revoked authority")
				w.options.binding = probing("Report").binding // who asks is told
				w.put("binding", w.bindingYAML())
				w.settle()
			},
			says: []string{
				"HTTPRoute", backendTLS, "False/ProbeFailed: " + theHop + `: the probe says: wrong CA: the certificate, issued by "CN=a,O=mesh", leads to none of the roots (1: CN=b,O=mesh)`,
				"Gateway", meshMember, "True/Joined: MeshBinding/mesh: groups of pods reached as a member: 0, 1 that do not take the gateway (gatehouse.dev/BackendTLS of the routes says why)",
			},
			mended: func(w *world) {
				renewing(w)
				w.clock.pass(time.Minute)
			},
		},
		{
			name: "the sidecar is missing after a rollout", why: "losing a sidecar is no permission to speak clear text", mesh: istioMesh(),
			options: options{binding: "  labelSelector: {matchLabels: {meshed: \"true\"}}\n"},
			broken: func(w *world) {
				w.settle()
				w.works("before")
				w.each(func(_ *world, p *pod) { p.become(plain()) })
				w.settle()
			},
			says: []string{"HTTPRoute", backendTLS, "False/NotMeshed: " + theRef + ": 2 pods " + lostSidecar},
			mended: func(w *world) {
				w.each(func(_ *world, p *pod) { p.become(sidecar(inbound.Strict)) })
			},
		},
	}
}

// TestClosed breaks one thing after the other. What cannot be verified is refused,
// never sent in clear text and never without verification; the condition says exactly
// what it is; and nothing but the cause must be mended. Clocks of pods that are off are
// TestClocksOff, and a source outside of the cluster is TestOutside.
func TestClosed(t *testing.T) {
	for _, list := range [][]fault{backendFaults(), issuerFaults(), sourceFaults(), forgottenFaults(), meshFaults()} {
		for _, f := range list {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				f.check(t)
			})
		}
	}
}
