//go:build unix

package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// spireApp FILE NAMESPACE/GATEWAY CLASS: starts a SPIFFE agent on this machine, whose one
// entry is that gateway, and an application that wants a certificate of its trust
// domain, and replaces SOCKET, ADDRESS and PORT of a file of manifests.
func spireApp(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: spireapp FILE NAMESPACE/GATEWAY CLASS")
	}
	domain, err := ca.New(ca.Config{})
	ts.Check(err)
	namespace, name, _ := strings.Cut(args[1], "/")
	account := meshsync.AccountOf(lbmodel.Owner{Kind: "Gateway", Namespace: namespace, Name: name}, args[2], "gatehouse-system")
	socket := ts.MkAbs("spire.sock")
	running, err := spiffe.StartAgent(spiffe.AgentConfig{
		CA: domain, Socket: socket, Entries: []spiffe.Entry{{Path: "/ns/" + account.Namespace + "/sa/" + account.Name}},
	})
	ts.Check(err)
	ts.Defer(func() { running.Close() })
	server, err := domain.Issue(ca.Request{URIs: []string{"spiffe://example.org/ns/apps/sa/cart"}})
	ts.Check(err)
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "you are", r.TLS.PeerCertificates[0].URIs[0])
	}))
	app.TLS = &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool(domain.Roots()...)}
	app.Config.ErrorLog = log.New(io.Discard, "", 0)
	app.StartTLS()
	ts.Defer(app.Close)
	host, port, err := net.SplitHostPort(app.Listener.Addr().String())
	ts.Check(err)
	text := strings.NewReplacer("SOCKET", socket, "ADDRESS", host, "PORT", port).Replace(ts.ReadFile(args[0]))
	write(ts, args[0], text)
}
