package audit

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// TestSilent runs a gateway with a certificate over a real account: every changing
// call is in the record, also those of the fast path, and no form of the key is.
func TestSilent(t *testing.T) {
	pair, key := certificate(t)
	c, err := cloud.New(cloud.Options{AddressDelay: -1, HealthDelay: -1})
	if err != nil {
		t.Fatal(err)
	}
	keyring := func(context.Context, lbmodel.Identity) (tls.Certificate, error) { return pair, nil }
	account := providers.NewAccount(providers.Config{Provider: cloud.NewProvider(c, keyring), Cluster: "c"})
	l, path := opened(t, nil)
	ctx := l.Watch(t.Context(), Reason{For: Object{Kind: "Gateway", Namespace: "apps", Name: "edge", Generation: 1}})

	gw := secure(pair)
	account.Want(gw)
	plan, err := account.Plan(ctx, []lbmodel.Owner{gw.Owner})
	if err != nil {
		t.Fatal(err)
	}
	if out := account.Apply(ctx, plan, nil); out.Err() != nil {
		t.Fatal(out.Err())
	}
	pool := gw.Pools[0]
	pool.Endpoints = []lbmodel.Endpoint{{Address: "10.0.0.2", Port: 80, Ready: true}}
	if _, err := account.Endpoints(ctx, providers.PoolChange{Owner: gw.Owner, Pool: pool}); err != nil {
		t.Fatal(err)
	}
	failed := call("r")
	failed.Err = errors.New("unexpected: " + key[0]) // a provider that breaks its law
	l.On(Reason{})(failed)

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	made := 1 // the failed one above
	for op, n := range account.Calls() {
		if op != "Observe" {
			made += n
		}
	}
	if lines := strings.Count(string(text), "\n"); lines != made || !strings.Contains(string(text), `"op":"UpdateEndpointGroup"`) {
		t.Errorf("%d entries of %d calls:\n%s", lines, made, text)
	}
	for _, form := range key {
		if strings.Contains(string(text), form) {
			t.Errorf("the record holds the private key as %.20q…", form)
		}
	}
}

// secure is a gateway that serves a certificate.
func secure(pair tls.Certificate) lbmodel.Gateway {
	sum := sha256.Sum256(pair.Certificate[0])
	return lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u"},
		Identities: []lbmodel.Identity{{Name: "apps/cert", Issuer: lbmodel.IssuerSecret, DNSNames: []string{"a.test"},
			Leaf: &lbmodel.Leaf{SHA256: hex.EncodeToString(sum[:]), NotAfter: time.Now().Add(time.Hour)}}},
		Pools: []lbmodel.Pool{{Name: "a", Group: "apps/a:80", Protocol: lbmodel.PoolHTTP1,
			Endpoints: []lbmodel.Endpoint{{Address: "10.0.0.1", Port: 80, Ready: true}}}},
		Listeners: []lbmodel.Listener{{Name: "https", Port: 443, Protocol: lbmodel.ProtocolHTTPS,
			TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"apps/cert"}},
			Rules: []lbmodel.Rule{{Action: lbmodel.Action{Forward: &lbmodel.Forward{
				Backends: []lbmodel.Backend{{Pool: "a", Weight: 1}}}}}}}},
	}
}

// certificate is one with a key, and the forms in which the key could be written;
// the first is its PEM.
func certificate(t *testing.T) (tls.Certificate, []string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"a.test"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE" + " KEY", Bytes: secret}))
	scalar, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, []string{
		text, strings.Split(text, "\n")[1], base64.StdEncoding.EncodeToString(scalar), hex.EncodeToString(scalar), new(big.Int).SetBytes(scalar).String(), string(scalar),
	}
}
