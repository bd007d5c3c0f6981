package linkerdca

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/identity"
	"google.golang.org/grpc"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue/rpc"
)

// Audience is what tokens must be for.
const Audience = "identity.l5d.io"

const op = "Certify"

// Config says where the service is. Roots and Token are required.
type Config struct {
	Address     string                // host:port; "" is linkerd-identity-headless of the namespace, port 8080
	Namespace   string                // of the control plane; "" is linkerd
	TrustDomain string                // "" is cluster.local
	ServerName  string                // whom the service must prove to be; "" is the identity of its account in the trust domain
	Roots       func() *x509.CertPool // by which the service is verified, asked at every call
	// Token mints a token of the audience for an account. Its errors have a code.
	Token func(ctx context.Context, audience string, account meshsync.Account) (string, error)
	Now   func() time.Time // nil is time.Now
}

// Issuer is a meshsync.Issuer. It may be used by many goroutines.
type Issuer struct{ config Config }

// New makes an Issuer. It calls nobody yet.
func New(c Config) *Issuer {
	c.Namespace = cmp.Or(c.Namespace, "linkerd")
	c.TrustDomain = cmp.Or(c.TrustDomain, "cluster.local")
	c.Address = cmp.Or(c.Address, "linkerd-identity-headless."+c.Namespace+".svc:8080")
	return &Issuer{c}
}

// Issue implements meshsync.Issuer. The request's lifetime is not looked at.
func (i *Issuer) Issue(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
	names := r.Identity.DNSNames
	if len(names) != 1 || r.Identity.SPIFFEID != "" {
		return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodeInvalid, op, lbmodel.ID{}, "Linkerd signs for one DNS name and nothing else")
	}
	token, err := i.config.Token(ctx, Audience, r.Account)
	if err != nil {
		return meshsync.Issued{}, err
	}
	var answer *pb.CertifyResponse
	err = i.server().Call(ctx, func(ctx context.Context, conn grpc.ClientConnInterface) (err error) {
		answer, err = pb.NewIdentityClient(conn).Certify(ctx, &pb.CertifyRequest{
			Identity: names[0], Token: []byte(token), CertificateSigningRequest: r.CSR,
		})
		return err
	})
	if err != nil {
		return meshsync.Issued{}, rpc.Error(op, err, token)
	}
	return read(answer)
}

func (i *Issuer) server() rpc.Server {
	ns := i.config.Namespace
	return rpc.Server{
		Address: i.config.Address, Roots: i.config.Roots, MinVersion: tls.VersionTLS13, Now: i.config.Now,
		Name: cmp.Or(i.config.ServerName, fmt.Sprintf("linkerd-identity.%s.serviceaccount.identity.%s.%s", ns, ns, i.config.TrustDomain)),
	}
}

// read reads an answer. Its certificates are DER, although the API's comments say
// PEM.
func read(answer *pb.CertifyResponse) (meshsync.Issued, error) {
	var out meshsync.Issued
	for n, der := range append([][]byte{answer.GetLeafCertificate()}, answer.GetIntermediateCertificates()...) {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodeDenied, op, lbmodel.ID{}, "certificate %d of the answer cannot be parsed", n+1)
		}
		out.Chain = append(out.Chain, c)
	}
	return out, nil
}
