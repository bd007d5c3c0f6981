package consulca

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/consul"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const binding = "MeshBinding/consul"

var id = lbmodel.Identity{
	Name: binding, Issuer: binding, KeyType: issue.KeyType,
	SPIFFEID: "spiffe://11111111-2222-3333-4444-555555555555.consul/ns/default/dc/dc1/svc/gatehouse",
}

var account = meshsync.Account{Namespace: "gatehouse-system", Name: "gatehouse"}

// world is a Consul whose gRPC has TLS of the agents' CA in front.
type world struct {
	*testing.T
	mesh, agents *ca.CA
	consul       *consul.Server
	config       Config
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldOf(t, consul.Config{Write: func(token, service string) bool {
		return token == "acl-secret" && service == "gatehouse"
	}})
}

func worldOf(t *testing.T, c consul.Config) *world {
	t.Helper()
	w := &world{T: t}
	var err error
	if w.mesh, err = ca.New(ca.Config{}); err != nil {
		t.Fatal(err)
	}
	if w.agents, err = ca.New(ca.Config{Name: "agents"}); err != nil {
		t.Fatal(err)
	}
	if err := w.mesh.Intermediate("a", 0); err != nil {
		t.Fatal(err)
	}
	c.CA = w.mesh
	w.consul, err = consul.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.consul.Close() })
	w.config = Config{
		Address: w.front(), Roots: func() *x509.CertPool { return ca.Pool(w.agents.Roots()...) },
		Token: func(context.Context, meshsync.Account) (string, error) { return "acl-secret", nil },
	}
	return w
}

// front ends TLS, as the servers do.
func (w *world) front() string {
	w.Helper()
	leaf, err := w.agents.Issue(ca.Request{DNSNames: []string{ServerName}})
	if err != nil {
		w.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{leaf}, NextProtos: []string{"h2"}})
	if err != nil {
		w.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { join(conn, w.consul.GRPCAddr()) })
		}
	})
	w.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

func join(conn net.Conn, to string) {
	defer conn.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, server)
		conn.Close()
	})
	_, _ = io.Copy(server, conn)
	server.Close()
	back.Wait()
}

func (w *world) get() (tls.Certificate, error) {
	return issue.Keyring(issue.Config{
		Issuers: func(lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) {
			return New(w.config), account, nil
		},
		Roots: func(string) []lbmodel.Root {
			roots, err := lbmodel.ParseRoots(w.mesh.Bundle())
			if err != nil {
				w.Error(err)
			}
			return roots
		},
		Live: func(lbmodel.Identity) (*lbmodel.Leaf, error) { return nil, nil },
	})(w.Context(), id)
}

// TestIssue: our key, signed under the mesh's CA.
func TestIssue(t *testing.T) {
	w := newWorld(t)
	pair, err := w.get()
	if err != nil {
		t.Fatal(err)
	}
	calls := w.consul.Calls()
	if len(pair.Certificate) != 2 || pair.Leaf.URIs[0].String() != id.SPIFFEID || len(calls) != 1 || calls[0].Key != x509.ECDSA {
		t.Errorf("%d certificates for %s, calls %+v", len(pair.Certificate), pair.Leaf.URIs, calls)
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name, why, says string
		fault           signing.Fault
		prepare         func(*world)
		want            lbmodel.Code
	}{
		{name: "refused", why: "the token is gone", fault: signing.Refuse, want: lbmodel.CodeDenied, says: "ACL not found"},
		{name: "no token", why: "Consul has ACLs", prepare: func(w *world) { w.config.Token = nil }, want: lbmodel.CodeDenied, says: "service:write"},
		{name: "no login", why: "who mints tokens knows why", want: lbmodel.CodeDenied, says: "auth method", prepare: func(w *world) {
			w.config.Token = func(context.Context, meshsync.Account) (string, error) {
				return "", lbmodel.Errorf(lbmodel.CodeDenied, "Login", lbmodel.ID{}, "auth method refuses")
			}
		}},
		{name: "unavailable", why: "servers elect", fault: signing.Unavailable, want: lbmodel.CodeUnavailable, says: "no cluster leader"},
		{name: "wrong key", why: "another's", fault: signing.WrongKey, want: lbmodel.CodeDenied, says: "another key"},
		{name: "wrong name", why: "somebody else", fault: signing.WrongName, want: lbmodel.CodeDenied, says: "gatehouse-other"},
		{name: "stranger", why: "no backend trusts it", fault: signing.Stranger, want: lbmodel.CodeDenied, says: "does not verify"},
		{name: "garbage", why: "no certificate", fault: signing.Garbage, want: lbmodel.CodeDenied, says: "no certificate"},
		{name: "the mesh's roots", why: "the servers' TLS has its own CA", want: lbmodel.CodeUnavailable, says: "nothing was sent", prepare: func(w *world) {
			w.config.Roots = func() *x509.CertPool { return ca.Pool(w.mesh.Roots()...) }
		}},
		{name: "plain text", why: "8502 has no TLS, and gets no token", want: lbmodel.CodeUnavailable, says: "nothing was sent", prepare: func(w *world) { w.config.Address = w.consul.GRPCAddr() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if tc.prepare != nil {
				tc.prepare(w)
			}
			if tc.fault != "" {
				w.consul.Break(tc.fault, 0)
			}
			pair, err := w.get()
			e, ok := errors.AsType[*lbmodel.Error](err)
			if !ok || e.Code != tc.want || !strings.Contains(e.Error(), tc.says) || strings.Contains(e.Error(), "acl-secret") || pair.PrivateKey != nil {
				t.Errorf("got %v, want %s with %q: %s", err, tc.want, tc.says, tc.why)
			}
			if n := len(w.consul.Calls()); n > 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	if got := New(Config{}).server(); got.Name != "server.dc1.consul" || got.Address != "consul-server.consul.svc:8503" {
		t.Errorf("%+v", got)
	}
}
