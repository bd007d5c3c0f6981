package live

import (
	"crypto/ecdsa"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/certmanager"
	"gatehouse.dev/fake/gcpapi/compute"
	"gatehouse.dev/fake/gcpapi/netsec"
	"gatehouse.dev/fake/gcpapi/pki"
	"gatehouse.dev/fake/gcpapi/store"
)

// frontTLS is how a proxy meets its clients.
type frontTLS struct {
	names   map[string][]*tls.Certificate // of a certificate map, by hostname
	primary []*tls.Certificate            // of a map's PRIMARY entry, or all certificates without a map
	mapped  bool                          // there is a map
	minimum uint16                        // TLS version
	client  *clientTLS                    // nil asks for no certificate
}

// clientTLS is a server TLS policy.
type clientTLS struct {
	mode    string
	trust   *pki.Store // nil validates nothing
	missing bool       // the trust config is not there
	relaxed []pki.Relaxation
}

func (r *reader) readFrontTLS(n store.Name, o store.Object) *frontTLS {
	f := &frontTLS{names: map[string][]*tls.Certificate{}, minimum: tls.VersionTLS10}
	_, policy := r.to(compute.Host, n, store.Text(o, "sslPolicy"))
	if v, ok := map[string]uint16{"TLS_1_1": tls.VersionTLS11, "TLS_1_2": tls.VersionTLS12, "TLS_1_3": tls.VersionTLS13}[store.Text(policy, "minTlsVersion")]; ok {
		f.minimum = v
	}
	f.client = r.readClientTLS(n, store.Text(o, "serverTlsPolicy"))
	if text := store.Text(o, "certificateMap"); text != "" {
		at, _ := r.to(certmanager.Host, n, text)
		r.readCertificateMap(f, at)
		return f
	}
	for _, one := range store.List(o, "sslCertificates") {
		text, _ := one.(string)
		if c := r.certificate(n, text); c != nil {
			f.primary = append(f.primary, c)
		}
	}
	return f
}

func (r *reader) readCertificateMap(f *frontTLS, at store.Name) {
	f.mapped = true
	for _, n := range r.view.List(certmanager.Host, "certificateMapEntries", at.Path()) {
		entry := r.view.Get(n)
		for _, one := range store.List(entry, "certificates") {
			text, _ := one.(string)
			_, o := r.to(certmanager.Host, n, text)
			pair, ok := certmanager.KeyPair(o)
			switch host := store.Text(entry, "hostname"); {
			case !ok:
			case host == "":
				f.primary = append(f.primary, &pair)
			default:
				f.names[host] = append(f.names[host], &pair)
			}
		}
	}
}

// certificate is one of either service; nil for one that has no key.
func (r *reader) certificate(of store.Name, text string) *tls.Certificate {
	n, o := r.to(compute.Host, of, text)
	if n.Host() == certmanager.Host {
		if pair, ok := certmanager.KeyPair(o); ok {
			return &pair
		}
		return nil
	}
	pair, err := tls.X509KeyPair([]byte(store.Text(o, "certificate")), []byte(store.Text(o, "privateKey")))
	if err != nil {
		return nil
	}
	return &pair
}

func (r *reader) readClientTLS(of store.Name, text string) *clientTLS {
	n, o := r.to(netsec.Host, of, text)
	if text == "" {
		return nil
	}
	c := &clientTLS{mode: store.Text(o, "mtlsPolicy.clientValidationMode"), missing: o == nil}
	for _, one := range store.List(o, "mtlsPolicy.clientValidationRelaxations") {
		relaxed, _ := one.(string)
		c.relaxed = append(c.relaxed, pki.Relaxation(relaxed))
	}
	if name := store.Text(o, "mtlsPolicy.clientValidationTrustConfig"); name != "" {
		_, trust := r.to(certmanager.Host, n, name)
		s := certmanager.Store(trust)
		s.AuthoritiesNeedEKU = r.config.AuthoritiesNeedEKU
		c.trust, c.missing = &s, trust == nil
	}
	return c
}

var errNoCertificate = errors.New("no certificate for this name, and no primary one")

// pick is the certificate for a client: of the exact name, of its wildcard, or the
// primary ones; of several ECDSA before RSA.
func (f *frontTLS) pick(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	all := f.primary
	if f.mapped {
		name := strings.ToLower(hello.ServerName)
		_, rest, _ := strings.Cut(name, ".")
		if named := f.names[name]; name != "" && named != nil {
			all = named
		} else if wild := f.names["*."+rest]; rest != "" && wild != nil {
			all = wild
		}
	}
	if len(all) == 0 {
		return nil, errNoCertificate
	}
	fitting := slices.DeleteFunc(slices.Clone(all), func(c *tls.Certificate) bool { return hello.SupportsCertificate(c) != nil })
	if len(fitting) == 0 {
		return all[0], nil
	}
	for _, c := range fitting {
		if _, ok := c.PrivateKey.(*ecdsa.PrivateKey); ok {
			return c, nil
		}
	}
	return fitting[0], nil
}

// config is for a client that says hello.
func (f *front) config(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	c := &tls.Config{MinVersion: f.tls.minimum, GetCertificate: f.tls.pick, SessionTicketsDisabled: f.tls.client != nil}
	if f.matcher != nil {
		c.NextProtos = []string{"h2", "http/1.1"}
	}
	if f.tls.client != nil {
		c.ClientAuth = tls.RequestClientCert
		c.VerifyConnection = f.tls.client.verify
	}
	return c, nil
}

// verify ends a connection whose client the policy rejects.
func (c *clientTLS) verify(s tls.ConnectionState) error {
	failure := c.judge(s)
	if failure == "" || c.mode == "ALLOW_INVALID_OR_MISSING_CLIENT_CERT" {
		return nil
	}
	return &hopError{"client_cert_" + string(failure), errors.New("the policy rejects the client")}
}

// judge says what is wrong with a client's certificate.
func (c *clientTLS) judge(s tls.ConnectionState) pki.Failure {
	switch {
	case len(s.PeerCertificates) == 0:
		return pki.NotProvided
	case c.missing:
		return pki.NoTrustConfig
	case c.trust == nil:
		return "validation_not_performed"
	}
	return c.trust.Verify(s.PeerCertificates, pki.Client, time.Now(), c.relaxed...)
}
