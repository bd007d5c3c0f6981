package istioca

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	pb "istio.io/api/security/v1alpha1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
	"gatehouse.dev/meshsync/issue/rpc"
)

// What istiod has by default.
const (
	Address    = "istiod.istio-system.svc:15012"
	ServerName = "istiod.istio-system.svc"
	Audience   = "istio-ca" // TOKEN_AUDIENCES of istiod
)

// Lifetime is what is asked for when nobody says: a week, for a load balancer takes
// new certificates less easily than a pod. istiod gives 90 days at most
// (MAX_WORKLOAD_CERT_TTL), and a day to who asks for none.
const Lifetime = 7 * 24 * time.Hour

const op = "CreateCertificate"

// Config says where the CA is. Roots and Token are required.
type Config struct {
	Address    string                // host:port; "" is istiod's. istio-csr: cert-manager-istio-csr.cert-manager.svc:443
	ServerName string                // that its certificate must have; "" is istiod's
	Audience   string                // of tokens; "" is istiod's
	ClusterID  string                // of a mesh of several clusters; "" is the CA's own
	Roots      func() *x509.CertPool // by which the CA is verified, asked at every call
	// Token mints a token of the audience for an account. Its errors have a code.
	Token func(ctx context.Context, audience string, account meshsync.Account) (string, error)
	Now   func() time.Time // nil is time.Now
}

// Issuer is a meshsync.Issuer. It may be used by many goroutines.
type Issuer struct{ config Config }

// New makes an Issuer. It calls nobody yet.
func New(c Config) *Issuer {
	c.Address = cmp.Or(c.Address, Address)
	c.ServerName = cmp.Or(c.ServerName, ServerName)
	c.Audience = cmp.Or(c.Audience, Audience)
	return &Issuer{c}
}

// Issue implements meshsync.Issuer.
func (i *Issuer) Issue(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
	token, err := i.config.Token(ctx, i.config.Audience, r.Account)
	if err != nil {
		return meshsync.Issued{}, err
	}
	// A part of a second is a second: zero would ask for the CA's own.
	seconds := (cmp.Or(r.Lifetime, Lifetime) + time.Second - 1) / time.Second
	request := &pb.IstioCertificateRequest{
		Csr:              string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: r.CSR})),
		ValidityDuration: int64(seconds),
	}
	var answer *pb.IstioCertificateResponse
	err = i.server().Call(ctx, func(ctx context.Context, conn grpc.ClientConnInterface) (err error) {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		if i.config.ClusterID != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "clusterid", i.config.ClusterID)
		}
		answer, err = pb.NewIstioCertificateServiceClient(conn).CreateCertificate(ctx, request)
		return err
	})
	if err != nil {
		return meshsync.Issued{}, explain(rpc.Error(op, err, token))
	}
	issued, err := read(answer.GetCertChain())
	if err != nil {
		return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodeDenied, op, lbmodel.ID{}, "the answer of %s: %w", i.config.ServerName, err)
	}
	return issued, nil
}

func (i *Issuer) server() rpc.Server {
	return rpc.Server{
		Address: i.config.Address, Name: i.config.ServerName, Roots: i.config.Roots,
		Protocols: []string{"h2"}, MinVersion: tls.VersionTLS12, Now: i.config.Now,
	}
}

var limit = regexp.MustCompile(`greater than the max allowed TTL ([0-9a-zµ.]+)`)

// explain tells what to do about a lifetime that the CA does not give: it refuses
// what is too long, and shortens nothing.
func explain(err error) error {
	e, ok := errors.AsType[*lbmodel.Error](err)
	if !ok || e.Code != lbmodel.CodeInvalid {
		return err
	}
	found := limit.FindStringSubmatch(e.Error())
	if found == nil {
		return err
	}
	return lbmodel.Errorf(e.Code, e.Op, e.ID, "the CA gives certificates for %s at most (MAX_WORKLOAD_CERT_TTL): ask for that or less in the MeshBinding's identity.duration: %w", found[1], e.Err)
}

// read reads an answer: the leaf, its issuers, and as the last element all roots in
// one text, which is no part of the chain. Other elements may hold several
// certificates too. A CA that has no roots to tell answers with the leaf alone.
// A root among the issuers (istio #39001) is left out.
func read(elements []string) (meshsync.Issued, error) {
	var out meshsync.Issued
	var err error
	if last := len(elements) - 1; last > 0 {
		if out.Roots, err = issue.ParseChain([]byte(elements[last])); err != nil {
			return meshsync.Issued{}, fmt.Errorf("its roots: %w", err)
		}
		elements = elements[:last]
	}
	for n, element := range elements {
		certs, err := issue.ParseChain([]byte(element))
		if err != nil {
			return meshsync.Issued{}, fmt.Errorf("element %d: %w", n+1, err)
		}
		for _, c := range certs {
			if len(out.Chain) == 0 || !has(out.Roots, c) {
				out.Chain = append(out.Chain, c)
			}
		}
	}
	if len(out.Chain) == 0 {
		return meshsync.Issued{}, errors.New("it has no certificates")
	}
	return out, nil
}

func has(certs []*x509.Certificate, c *x509.Certificate) bool {
	for _, other := range certs {
		if c.Equal(other) {
			return true
		}
	}
	return false
}
