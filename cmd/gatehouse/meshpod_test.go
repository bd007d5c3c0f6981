//go:build unix

package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
)

// meshPod FILE: starts a pod behind a STRICT sidecar of Istio's on this machine, and
// replaces ADDRESS, PORT and ROOT of a file of manifests by where it is and what its
// mesh trusts. The certificate and key of a client that the mesh knows are in
// client.crt and client.key, and ones that it does not in stranger.crt, stranger.key.
func meshPod(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: meshpod FILE")
	}
	mesh, err := ca.New(ca.Config{})
	ts.Check(err)
	other, err := ca.New(ca.Config{})
	ts.Check(err)
	server, err := mesh.Issue(ca.Request{URIs: []string{"spiffe://cluster.local/ns/apps/sa/cart"}})
	ts.Check(err)
	client := ca.Request{URIs: []string{"spiffe://cluster.local/ns/gatehouse-system/sa/gatehouse"}}
	for name, signer := range map[string]*ca.CA{"client": mesh, "stranger": other} {
		leaf, err := signer.Issue(client)
		ts.Check(err)
		writePair(ts, name, leaf)
	}
	pod, err := inbound.Start(inbound.Config{
		Proxy: inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP}, Leaf: server, Roots: mesh.Roots(), App: inbound.App{Kind: inbound.HTTP1},
	})
	ts.Check(err)
	ts.Defer(func() { pod.Close() })
	host, port, err := net.SplitHostPort(pod.Addr())
	ts.Check(err)
	root := strings.TrimSpace(strings.ReplaceAll(string(mesh.Bundle()), "\n", "\n    "))
	text := strings.NewReplacer("ADDRESS", host, "PORT", port, "ROOT", root).Replace(ts.ReadFile(args[0]))
	write(ts, args[0], text)
}

func writePair(ts *testscript.TestScript, name string, pair tls.Certificate) {
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	ts.Check(err)
	var chain strings.Builder
	for _, cert := range pair.Certificate {
		ts.Check(pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	}
	write(ts, name+".crt", chain.String())
	ts.Check(os.WriteFile(ts.MkAbs(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
}
