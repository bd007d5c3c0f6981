package cloudtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json/v2"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/providertest"
)

// Dump implements providertest.World.
func (w *world) Dump() []providertest.Object {
	var out []providertest.Object
	for _, o := range w.Cloud.Dump() {
		one := providertest.Object{Name: o.Kind + " " + string(o.Handle), Text: show(o)}
		switch {
		case o.Handle == w.network:
			one.Foreign = foreignFields(o)
		case o.Tags.Owner.Cluster != "laws":
			one.Foreign = foreignObject(o)
		}
		out = append(out, one)
	}
	return out
}

// foreignFields are those of a network that are never ours.
func foreignFields(o cloud.Object) string {
	var n cloud.Network
	if err := json.Unmarshal(o.Body, &n); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s %s %+v", n.CIDR, n.Description, o.Name, o.Tags)
}

// foreignObject is all of an object but what the cloud itself changes.
func foreignObject(o cloud.Object) string {
	o.Health, o.Ready, o.Address, o.Serves = nil, true, "", nil
	return show(o)
}

// Answer implements providertest.World.
func (w *world) Answer(p providertest.Probe) []lbmodel.Target {
	var out []lbmodel.Target
	for _, s := range w.Serving() {
		if s.Gateway.Owner == p.Owner && len(s.Addresses) > 0 {
			out = append(out, w.answers(s, p)...)
		}
	}
	return out
}

// answers are the healthy endpoints that a balancer would send a request to.
func (w *world) answers(s cloud.Serving, p providertest.Probe) []lbmodel.Target {
	matcher, err := lbmodel.NewGatewayMatcher(s.Gateway.Listeners)
	if err != nil {
		return nil
	}
	answer := matcher.Match(&lbmodel.Request{Method: "GET", Host: p.Host, Path: p.Path, Port: p.Port})
	if answer.Rule == nil || answer.Rule.Action.Forward == nil || !canServe(s, answer.Listener) {
		return nil
	}
	var out []lbmodel.Target
	for _, b := range answer.Rule.Action.Forward.Backends {
		if b.Weight > 0 && b.Pool != "" {
			out = append(out, w.healthy(lbmodel.Handle(b.Pool))...)
		}
	}
	return out
}

// canServe says whether the keys of a listener are there.
func canServe(s cloud.Serving, l *lbmodel.Listener) bool {
	if l.TLS == nil {
		return true
	}
	for _, name := range l.TLS.Certificates {
		if _, ok := s.Keys[name]; !ok {
			return false
		}
	}
	return true
}

// healthy are the targets of a pool's group that the cloud shows so.
func (w *world) healthy(pool lbmodel.Handle) []lbmodel.Target {
	objects := map[lbmodel.Handle]cloud.Object{}
	for _, o := range w.Cloud.Dump() {
		objects[o.Handle] = o
	}
	var body cloud.Pool
	if err := json.Unmarshal(objects[pool].Body, &body); err != nil {
		return nil
	}
	var out []lbmodel.Target
	for target, health := range objects[lbmodel.Handle(body.Group)].Health {
		if health == lbmodel.HealthHealthy {
			out = append(out, target)
		}
	}
	return out
}

func text(tb testing.TB, v any) []byte {
	tb.Helper()
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// show is an object as text.
func show(o cloud.Object) string {
	out, err := json.Marshal(o, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// newRoot makes a CA root. A machine that cannot is no place for any test.
func newRoot() lbmodel.Root {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "other"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return rootOf(der)
}

func rootOf(der []byte) lbmodel.Root {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	sum := func(b []byte) string {
		s := sha256.Sum256(b)
		return hex.EncodeToString(s[:])
	}
	return lbmodel.Root{
		SHA256: sum(der), SPKI: sum(cert.RawSubjectPublicKeyInfo), Subject: cert.Subject.String(), NotAfter: cert.NotAfter.UTC(),
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}
}
