package awstraffic

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

const hostname = "shop.example.com"

// secure makes the shop's listener one of HTTPS, with a certificate of the authority,
// and with clients that verify it.
func (w *world) secure(gw lbmodel.Gateway, of *ca) lbmodel.Gateway {
	gw.Identities = []lbmodel.Identity{{Name: "cert", Source: lbmodel.Source{Kind: "Secret", Namespace: "shop", Name: "cert"},
		DNSNames: []string{hostname}, Issuer: lbmodel.IssuerSecret, Leaf: w.vault.keep(of.sign(w.T, 1, hostname))}}
	gw.Listeners[0].Name, gw.Listeners[0].Port, gw.Listeners[0].Protocol = "https", 443, lbmodel.ProtocolHTTPS
	gw.Listeners[0].TLS = &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"cert"}}
	return gw
}

// trusting are clients' settings: whom they trust, and who they are.
func trusting(roots *x509.CertPool, seen *atomic.Pointer[string], identity func() *tls.Certificate) func() *tls.Config {
	return func() *tls.Config {
		out := &tls.Config{ServerName: hostname, RootCAs: roots, VerifyConnection: func(state tls.ConnectionState) error {
			serial := state.PeerCertificates[0].SerialNumber.String()
			seen.Store(&serial)
			return nil
		}}
		if identity != nil {
			out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return identity(), nil }
		}
		return out
	}
}

func poolOf(all ...*ca) *x509.CertPool {
	out := x509.NewCertPool()
	for _, one := range all {
		out.AddCert(one.cert)
	}
	return out
}

// A renewed certificate is what clients see in the end, and none of them is refused
// meanwhile.
func TestCertificateIsRenewed(t *testing.T) {
	w := newWorld(t)
	authority := newCA(t, "servers")
	gw := w.secure(w.shop("renewed", 2), authority)
	w.bring(gw)
	var seen atomic.Pointer[string]
	c := w.traffic(&clients{scheme: "https", path: "/a", answers: []string{"a"}, tls: trusting(poolOf(authority), &seen, nil)})
	for serial := int64(2); serial <= 4; serial++ {
		gw.Identities = slices.Clone(gw.Identities)
		gw.Identities[0].Leaf = w.vault.keep(authority.sign(t, serial, hostname))
		w.bring(gw)
		c.more(after)
	}
	w.await("the newest certificate is seen", func() bool { return *seen.Load() == "4" })
	c.end("three renewals")
}

// Clients move from one authority to another: both are trusted meanwhile, on the same
// trust store, and in the end the old one is not.
func TestTrustIsRotated(t *testing.T) {
	w := newWorld(t)
	servers, from, to := newCA(t, "servers"), newCA(t, "from"), newCA(t, "to")
	gw := w.secure(w.shop("rotated", 2), servers)
	trust := func(all ...*ca) {
		gw.Trust = []lbmodel.Trust{{Name: "clients", Source: lbmodel.Source{Kind: "ConfigMap", Namespace: "shop", Name: "clients"}}}
		for _, one := range all {
			gw.Trust[0].Roots = append(gw.Trust[0].Roots, one.root)
		}
		slices.SortFunc(gw.Trust[0].Roots, func(a, b lbmodel.Root) int { return strings.Compare(a.SHA256, b.SHA256) })
		w.bring(gw)
	}
	gw.Listeners[0].TLS.Validation = &lbmodel.ClientValidation{Trust: "clients"}
	trust(from)
	var seen atomic.Pointer[string]
	var identity atomic.Pointer[tls.Certificate]
	old, next := from.sign(t, 10, "client"), to.sign(t, 11, "client")
	identity.Store(&old.Certificate)
	c := w.traffic(&clients{scheme: "https", path: "/a", answers: []string{"a"}, tls: trusting(poolOf(servers), &seen, identity.Load)})
	trust(from, to)
	<-w.clock.After(5 * time.Second) // until the load balancer has read it
	c.more(after)
	identity.Store(&next.Certificate)
	c.more(after)
	trust(to)
	c.more(after)
	c.end("roots rotated")
	stranger := &clients{w: w, scheme: "https", path: "/a", answers: []string{"a"}, tls: trusting(poolOf(servers), &seen, func() *tls.Certificate { return &old.Certificate })}
	w.await("a client of the old authority is refused", func() bool { return stranger.ask(t.Context(), stranger.client(true)) != nil })
}

// Another scheme is another load balancer. The old one lingers, as the loop has it for
// AWS (decision 0031), and clients follow what is published.
func TestLoadBalancerIsReplaced(t *testing.T) {
	lingering := lbmodel.LingerReplaced(20*time.Second, func(lbmodel.Owner) bool { return true })
	w := newWorld(t)
	gw := w.shop("replaced", 2)
	w.bring(gw)
	before := *w.published.Load()
	c := w.traffic(&clients{path: "/a", answers: []string{"a"}})
	gw.Settings = json.RawMessage(strings.Replace(string(gw.Settings), "internet-facing", "internal", 1))
	w.account.Want(gw)
	moved := func() bool { now := *w.published.Load(); return len(now) == 1 && now[0] != before[0] }
	w.await("another address is published", func() bool { return w.pass(gw.Owner, lingering).Settled() && moved() })
	if _, ok := w.live.Named(before[0]); !ok {
		t.Error("the old load balancer went with its clients")
	}
	c.more(after)
	w.await("the old load balancer goes", func() bool {
		w.pass(gw.Owner, lingering)
		_, ok := w.live.Named(before[0])
		return !ok
	})
	c.more(after)
	c.end("replacement")
}

// await waits for what must become so.
func (w *world) await(what string, so func() bool) {
	w.Helper()
	for began := time.Now(); !so(); <-w.clock.After(clockTick) {
		if time.Since(began) > 10*time.Second {
			w.Fatalf("%s: not within 10 s", what)
		}
	}
}
