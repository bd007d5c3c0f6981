package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	pb "istio.io/api/security/v1alpha1"
)

// serverName is what istiod proves, wherever it is.
const serverName = "istiod.istio-system.svc"

// istio asks istiod's CA, as a sidecar's agent does.
type istio struct {
	address, token, roots string
	every                 time.Duration
}

// follow asks again and again. While istiod is not there, what it gave before stays.
func (i *istio) follow(ctx context.Context, take func(material)) error {
	tick := time.NewTicker(i.every)
	defer tick.Stop()
	for {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		m, err := i.ask(one)
		cancel()
		if err == nil {
			take(m)
		} else if ctx.Err() == nil {
			log.Printf("istiod: %v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// ask has a fresh key signed. The last element of the answer are the roots.
func (i *istio) ask(ctx context.Context) (m material, err error) {
	token, err := os.ReadFile(i.token)
	if err != nil {
		return m, err
	}
	conn, err := i.dial()
	if err != nil {
		return m, err
	}
	defer conn.Close() //nolint:errcheck // it is over
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return m, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, new(x509.CertificateRequest), key)
	if err != nil {
		return m, err
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := pb.NewIstioCertificateServiceClient(conn).CreateCertificate(ctx, &pb.IstioCertificateRequest{
		Csr:              string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr})),
		ValidityDuration: int64(time.Hour / time.Second),
	})
	if err != nil {
		return m, err
	}
	chain := answer.GetCertChain()
	if len(chain) < 2 {
		return m, errors.New("the answer has no roots")
	}
	m.leaf.PrivateKey = key
	for _, text := range chain[:len(chain)-1] {
		for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
			m.leaf.Certificate = append(m.leaf.Certificate, block.Bytes)
		}
	}
	if m.leaf.Leaf, err = x509.ParseCertificate(m.leaf.Certificate[0]); err != nil {
		return m, err
	}
	m.roots, err = certificates([]byte(chain[len(chain)-1]))
	return m, err
}

func (i *istio) dial() (*grpc.ClientConn, error) {
	text, err := os.ReadFile(i.roots)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return grpc.NewClient(i.address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: serverName})))
}

// certificates reads PEM, each certificate once: bundles have some twice.
func certificates(text []byte) (out []*x509.Certificate, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		twice := false
		for _, other := range out {
			twice = twice || bytes.Equal(other.Raw, c.Raw)
		}
		if !twice {
			out = append(out, c)
		}
	}
	return out, nil
}
