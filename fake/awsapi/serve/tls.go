package serve

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"time"
)

// frontTLS is a listener's TLS, compiled.
type frontTLS struct {
	config *tls.Config
	mutual *mutual // nil is off
}

// errNoCertificate is a listener whose handshakes all fail.
var errNoCertificate = errors.New("it has no certificate")

func newFrontTLS(f *front, stores []TrustStore, now func() time.Time) (*frontTLS, error) {
	out := &frontTLS{config: &tls.Config{MinVersion: minVersion(f.TLSPolicy), NextProtos: f.protocols(), Time: now}}
	if strings.Contains(f.TLSPolicy, "TLS13-1-3") {
		out.config.MinVersion = tls.VersionTLS13
	}
	certificates, err := leaves(f.Certificates)
	if err == nil && len(certificates) == 0 {
		err = errNoCertificate
	}
	out.config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if len(certificates) == 0 {
			return nil, errNoCertificate
		}
		return choose(certificates, hello, f.balancer.Kind), nil
	}
	var broken error
	out.mutual, broken = newMutual(f, stores, now)
	if out.mutual != nil {
		out.mutual.apply(out.config, f.u)
	}
	return out, errors.Join(err, broken)
}

// minVersion reads the policy's name: AWS's policies list versions and ciphers,
// the standard library chooses its own ciphers.
func minVersion(policy string) uint16 {
	switch {
	case strings.Contains(policy, "TLS13-1-2"), strings.Contains(policy, "TLS-1-2"), strings.Contains(policy, "FS-1-2"):
		return tls.VersionTLS12
	case strings.Contains(policy, "TLS13-1-1"), strings.Contains(policy, "TLS-1-1"), strings.Contains(policy, "FS-1-1"):
		return tls.VersionTLS11
	default:
		return tls.VersionTLS10
	}
}

// protocols are what the listener offers by ALPN.
func (f *front) protocols() []string {
	if f.balancer.Kind == Application {
		if f.balancer.alb.http2 {
			return []string{"h2", "http/1.1"}
		}
		return []string{"http/1.1"}
	}
	switch f.ALPN {
	case "HTTP1Only":
		return []string{"http/1.1", "http/1.0"}
	case "HTTP2Only":
		return []string{"h2"}
	case "HTTP2Optional":
		return []string{"http/1.1", "http/1.0", "h2"}
	case "HTTP2Preferred":
		return []string{"h2", "http/1.1", "http/1.0"}
	default:
		return nil
	}
}

// leaves parses what the caller did not.
func leaves(in []tls.Certificate) ([]tls.Certificate, error) {
	var out []tls.Certificate
	var problems []error
	for _, c := range in {
		if len(c.Certificate) == 0 {
			problems = append(problems, errors.New("a certificate is empty"))
			continue
		}
		if c.Leaf == nil {
			leaf, err := x509.ParseCertificate(c.Certificate[0])
			if err != nil {
				problems = append(problems, err)
				continue
			}
			c.Leaf = leaf
		}
		out = append(out, c)
	}
	return out, errors.Join(problems...)
}

// choose is the smart selection: of the certificates for the client's name that
// it supports, an Application Load Balancer prefers ECDSA to RSA; then both go by hash,
// key length and validity. Without a name or a match it is the default one.
func choose(certificates []tls.Certificate, hello *tls.ClientHelloInfo, kind Kind) *tls.Certificate {
	var fit []*tls.Certificate
	for i := range certificates {
		c := &certificates[i]
		if hello.ServerName != "" && c.Leaf.VerifyHostname(hello.ServerName) == nil && hello.SupportsCertificate(c) == nil {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return &certificates[0]
	}
	return slices.MinFunc(fit, func(a, b *tls.Certificate) int {
		order := 0
		if kind == Application {
			order = cmp.Compare(keyRank(a.Leaf), keyRank(b.Leaf))
		}
		return cmp.Or(order, cmp.Compare(hashRank(a.Leaf), hashRank(b.Leaf)), cmp.Compare(keyBits(b.Leaf), keyBits(a.Leaf)),
			b.Leaf.NotAfter.Compare(a.Leaf.NotAfter))
	})
}

func keyRank(c *x509.Certificate) int {
	if c.PublicKeyAlgorithm == x509.RSA {
		return 1
	}
	return 0
}

func hashRank(c *x509.Certificate) int {
	if c.SignatureAlgorithm == x509.MD5WithRSA || c.SignatureAlgorithm == x509.MD2WithRSA {
		return 1
	}
	return 0
}

func keyBits(c *x509.Certificate) int {
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen()
	case *ecdsa.PublicKey:
		return key.Curve.Params().BitSize
	case ed25519.PublicKey:
		return 8 * len(key)
	default:
		return 0
	}
}

// tlsConfig is the listener's TLS of the moment.
func (s *tcpSocket) tlsConfig(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	f := s.front.Load()
	if f.tls == nil {
		return nil, errNoCertificate
	}
	config := f.tls.config
	if f.balancer.Kind == Network && !overlaps(config.NextProtos, hello.SupportedProtos) {
		config = config.Clone()
		config.NextProtos = nil // no common protocol: the connection goes on without
	}
	if m := f.tls.mutual; m != nil {
		config = config.Clone()
		config.VerifyPeerCertificate = func(raw [][]byte, _ [][]*x509.Certificate) error {
			failed := m.verify(raw)
			if failed != nil {
				entry := f.entry(s.clientAt(hello), failed.Error())
				s.plane.options.Access(entry)
			}
			return failed
		}
	}
	return config, nil
}

func overlaps(a, b []string) bool {
	return slices.ContainsFunc(a, func(p string) bool { return slices.Contains(b, p) })
}
