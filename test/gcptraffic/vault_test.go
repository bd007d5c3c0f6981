package gcptraffic

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
)

// vault has the keys: of certificates in Secrets, and of those that a mesh's CA issues.
type vault struct {
	mu     sync.Mutex
	given  map[string]tls.Certificate // by leaf
	mesh   *ca.CA
	issued int
	lives  time.Duration // of what is issued; 0 is a day
}

func newVault() *vault { return &vault{given: map[string]tls.Certificate{}} }

// key implements providers.Keyring.
func (v *vault) key(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id.Leaf != nil {
		if pair, ok := v.given[id.Leaf.SHA256]; ok {
			return pair, nil
		}
	}
	if id.Issuer == lbmodel.IssuerSecret || v.mesh == nil {
		return tls.Certificate{}, fmt.Errorf("no key of %s", id.Name)
	}
	r := ca.Request{DNSNames: id.DNSNames, Key: ca.ECDSA, Life: v.lives}
	if id.SPIFFEID != "" {
		r.URIs = []string{id.SPIFFEID}
	}
	v.issued++
	return v.mesh.Issue(r)
}

// life is how long what is issued from now on lives.
func (v *vault) life(d lbmodel.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lives = time.Duration(d)
}

// secret keeps a pair as a Secret, and is what the model says of it.
func (v *vault) secret(name string, pair tls.Certificate) lbmodel.Identity {
	v.mu.Lock()
	defer v.mu.Unlock()
	sum := sha256.Sum256(pair.Certificate[0])
	leaf := &lbmodel.Leaf{SHA256: hex.EncodeToString(sum[:]), NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter, DNSNames: pair.Leaf.DNSNames,
		Issuer: pair.Leaf.Issuer.String(), KeyType: "ECDSA"}
	v.given[leaf.SHA256] = pair
	return lbmodel.Identity{Name: name, Source: lbmodel.Source{Kind: "Secret", Namespace: "edge", Name: name}, Issuer: lbmodel.IssuerSecret, Leaf: leaf}
}
