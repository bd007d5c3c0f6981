package local_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"gatehouse.dev/fake/local"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// guarded is gateway with an HTTP rule, a gRPC rule, a TCP listener and a server name of
// a TLS listener (passthrough) before it that go to a pool which shows a client
// certificate.
func guarded(backend netip.AddrPort) lbmodel.Gateway {
	gw := gateway(backend, "unused.test")
	source := gw.Listeners[0].Source
	forward := &lbmodel.Forward{Backends: []lbmodel.Backend{{Source: source, Pool: "mesh", Weight: 1}}}
	gw.Listeners[0].Rules = append([]lbmodel.Rule{
		{Source: source, Match: lbmodel.Match{GRPC: &lbmodel.GRPCMatch{Service: "vault.Inner"}}, Action: lbmodel.Action{Forward: forward}},
		{Source: source, Match: lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: "/vault"}}, Action: lbmodel.Action{Forward: forward}},
	}, gw.Listeners[0].Rules[1:]...)
	gw.Listeners = append(gw.Listeners, lbmodel.Listener{Name: "tcp", Port: 9000, Protocol: lbmodel.ProtocolTCP, Source: source, Route: source, Forward: forward})
	gw.Listeners = append(gw.Listeners, lbmodel.Listener{
		Name: "tls", Port: 9443, Protocol: lbmodel.ProtocolTLS, Source: source, TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSPassthrough},
		SNI: []lbmodel.SNIRule{
			{Source: source, Hostname: "vault.test", Forward: *forward},
			{Source: source, Hostname: "*.test", Forward: lbmodel.Forward{Backends: []lbmodel.Backend{{Source: source, Pool: "raw", Weight: 1}}}},
		},
	})
	gw.Pools = append(gw.Pools, lbmodel.Pool{Name: "raw", Group: "a/raw:80", Protocol: lbmodel.PoolTCP, Source: source, Endpoints: gw.Pools[0].Endpoints})
	gw.Trust = []lbmodel.Trust{{Name: "t", System: true, Source: source}}
	gw.Identities = []lbmodel.Identity{{Name: "client", Issuer: "Mesh", Source: source}}
	gw.Pools = append([]lbmodel.Pool{{
		Name: "mesh", Group: "a/mesh:80", Protocol: lbmodel.PoolHTTP1, Source: source, Endpoints: gw.Pools[0].Endpoints,
		TLS: &lbmodel.BackendTLS{Source: source, SNI: "mesh.test", Trust: "t", Identity: "client", Floor: lbmodel.TLSClientAndServer},
	}}, gw.Pools...)
	return gw
}

// TestARuleKeepsItsPlace: while no client certificate is issued, a client of each
// protocol is told that its backend cannot be reached, and is sent to no other; and
// what goes on asking changes nothing.
func TestARuleKeepsItsPlace(t *testing.T) {
	refuse := func(context.Context, lbmodel.Identity) (tls.Certificate, error) {
		return tls.Certificate{}, &lbmodel.Error{Code: lbmodel.CodeDenied, Err: errors.New("the mesh's CA refuses")}
	}
	l := open(t, local.Config{Keyring: refuse})
	gw := guarded(backend(t))
	account := providers.NewAccount(providers.Config{Provider: l.Provider, Cluster: "c", Name: "fake", Patience: l.Patience()})
	account.Want(gw)
	if err := l.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	var before lbmodel.Graph
	for range 3 {
		before = observed(t, l, gw.Owner)
		plan, err := account.Plan(t.Context(), []lbmodel.Owner{gw.Owner})
		if err != nil {
			t.Fatal(err)
		}
		if out := account.Apply(t.Context(), plan, nil); len(out.Failed) != 1 {
			t.Fatalf("failed: %v, want the certificate alone", out.Failed)
		}
	}
	if diff := cmp.Diff(versions(before), versions(observed(t, l, gw.Owner))); diff != "" || len(before) == 0 {
		t.Errorf("a pass that finds everything as it was has written (-before +after):\n%s", diff)
	}
	if err := l.Program(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := map[int32]string{}
	for _, b := range l.Bound() {
		at[b.Port] = b.Addr.String()
	}
	for path, want := range map[string]int{"/vault": http.StatusInternalServerError, "/other": http.StatusOK} {
		if got := statusOf(t, "http://"+at[8080]+path); got != want {
			t.Errorf("%s is answered %d, want %d", path, got, want)
		}
	}
	if got := call(t, at[8080]); got != codes.Unavailable {
		t.Errorf("gRPC is answered %s, want %s", got, codes.Unavailable)
	}
	if err := dialled(t, at[9000]); err == nil {
		t.Error("the TCP connection is served, want it closed")
	}
	if err := greeted(t, at[9443], "vault.test"); passed(err) {
		t.Errorf("the TLS connection is passed on (%v), want it closed", err)
	}
	if err := greeted(t, at[9443], "other.test"); !passed(err) {
		t.Errorf("a TLS connection by another name ends with %v, want it passed on", err)
	}
}

// greeted is how a TLS handshake ends.
func greeted(t *testing.T, address, name string) error {
	t.Helper()
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: &tls.Config{ServerName: name}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err == nil {
		conn.Close()
	}
	return err
}

// passed says whether a handshake has reached the backend, which speaks no TLS and says
// so in clear text.
func passed(err error) bool {
	_, clear := errors.AsType[tls.RecordHeaderError](err)
	return clear
}

func observed(t *testing.T, l *local.Local, owner lbmodel.Owner) lbmodel.Graph {
	t.Helper()
	g, err := l.Provider.Observe(t.Context(), owner, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// versions change with every write.
func versions(g lbmodel.Graph) map[string]string {
	out := map[string]string{}
	for id, r := range g {
		out[id.String()] = r.Facts.Version
	}
	return out
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// call is the status of a gRPC call.
func call(t *testing.T, address string) codes.Code {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return status.Code(conn.Invoke(t.Context(), "/vault.Inner/Get", &emptypb.Empty{}, &emptypb.Empty{}))
}

// dialled is how a connection ends on which the client says something.
func dialled(t *testing.T, address string) error {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}
