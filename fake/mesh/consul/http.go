package consul

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json/v2"
	"encoding/pem"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/consul/proto-public/pbconnectca"
	"google.golang.org/grpc/codes"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/signing"
)

// rootList is the answer of /v1/connect/ca/roots.
type rootList struct {
	ActiveRootID string
	TrustDomain  string
	Roots        []rootEntry
}

type rootEntry struct {
	ID, Name, SigningKeyID string
	SerialNumber           uint64
	NotBefore, NotAfter    time.Time
	RootCert               string
	IntermediateCerts      []string
	Active                 bool
}

// list is the roots as they are, or as they were when they froze.
func (s *Server) list() rootList {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen == Roots {
		return s.roots
	}
	out := rootList{TrustDomain: s.config.TrustDomain}
	active := s.CA.SigningRoot()
	for _, c := range s.CA.Roots() {
		e := rootEntry{
			ID: fingerprint(c), Name: "Consul CA Primary Cert", SigningKeyID: hex.EncodeToString(c.SubjectKeyId),
			SerialNumber: c.SerialNumber.Uint64(), NotBefore: c.NotBefore, NotAfter: c.NotAfter,
			RootCert: string(ca.PEM(c)), Active: c.Equal(active),
		}
		if e.Active {
			out.ActiveRootID = e.ID
			if signer := s.CA.Signer(); !signer.Equal(c) {
				e.IntermediateCerts = []string{string(ca.PEM(signer))}
			}
		}
		out.Roots = append(out.Roots, e)
	}
	return out
}

func (l rootList) proto() *pbconnectca.WatchRootsResponse {
	out := &pbconnectca.WatchRootsResponse{ActiveRootId: l.ActiveRootID, TrustDomain: l.TrustDomain}
	for _, e := range l.Roots {
		out.Roots = append(out.Roots, &pbconnectca.CARoot{
			Id: e.ID, Name: e.Name, SerialNumber: e.SerialNumber, SigningKeyId: e.SigningKeyID,
			RootCert: e.RootCert, IntermediateCerts: e.IntermediateCerts, Active: e.Active,
		})
	}
	return out
}

// leaf is the answer of the leaf endpoint, its key included: Consul makes it.
type leaf struct {
	SerialNumber            string
	CertPEM, PrivateKeyPEM  string
	Service, ServiceURI     string
	ValidAfter, ValidBefore time.Time
	index                   uint64
}

// maxWait is Consul's longest blocking query.
const maxWait = 10 * time.Minute

// block waits until the index is above the query's, and returns it. It says whether
// the query was one that blocks.
func (s *Server) block(r *http.Request) (index uint64, blocking bool) {
	above, err := strconv.ParseUint(r.URL.Query().Get("index"), 10, 64)
	index, changed := s.now()
	if err != nil || above == 0 {
		return index, false
	}
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil || wait <= 0 || wait > maxWait {
		wait = 5 * time.Minute
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	for index <= above {
		select {
		case <-changed:
			index, changed = s.now()
		case <-ctx.Done():
			return index, true
		case <-s.done:
			return index, true
		}
	}
	return index, true
}

func (s *Server) serveRoots(w http.ResponseWriter, r *http.Request) {
	index, _ := s.block(r)
	w.Header().Set("X-Consul-Index", strconv.FormatUint(index, 10))
	if r.URL.Query().Get("pem") == "true" {
		w.Header().Set("Content-Type", "application/pem-certificate-chain")
		for _, e := range s.list().Roots {
			_, _ = w.Write([]byte(e.RootCert))
		}
		return
	}
	writeJSON(w, s.list())
}

func (s *Server) serveLeaf(w http.ResponseWriter, r *http.Request) {
	service := r.PathValue("service")
	token := r.Header.Get("X-Consul-Token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); token == "" && ok {
		token = bearer
	}
	if s.mayWrite(token, service) != codes.OK {
		http.Error(w, "Permission denied: token lacks permission 'service:write' on \""+service+"\"", http.StatusForbidden)
		return
	}
	fault, err := s.Gate(r.Context())
	switch {
	case errors.Is(err, signing.ErrRefused):
		http.Error(w, "ACL not found", http.StatusForbidden)
		return
	case err != nil:
		http.Error(w, "No cluster leader", http.StatusInternalServerError)
		return
	}
	index, blocking := s.block(r)
	out, err := s.leafFor(service, fault, index, blocking)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("X-Consul-Index", strconv.FormatUint(index, 10))
	writeJSON(w, out)
}

// leafFor is the cached leaf while it is good: until the roots change or half of its
// life is over. Frozen, queries that do not block get it for ever.
func (s *Server) leafFor(service string, fault signing.Fault, index uint64, blocking bool) (leaf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, ok := s.leaves[service]
	half := held.ValidBefore.Add(-s.config.Life / 2)
	switch {
	case ok && s.frozen == Leaves && !blocking:
		return held, nil
	case ok && fault == "" && held.index == index && s.CA.Now().Before(half):
		return held, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return leaf{}, err
	}
	chain, err := s.Desk.Sign(fault, ca.Request{URIs: []string{s.config.ID(service)}, Life: s.config.Life}, key.Public())
	if err != nil {
		return leaf{}, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return leaf{}, err
	}
	made := leaf{
		SerialNumber: chain[0].SerialNumber.Text(16), CertPEM: string(ca.PEM(chain...)),
		PrivateKeyPEM: string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})),
		Service:       service, ServiceURI: s.config.ID(service),
		ValidAfter: chain[0].NotBefore, ValidBefore: chain[0].NotAfter, index: index,
	}
	if fault == "" {
		s.leaves[service] = made
	}
	return made, nil
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, v)
}
