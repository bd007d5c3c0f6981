package serve

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// http2Backend speaks HTTP/2 without TLS, as targets of HTTP groups do.
func http2Backend(b *backend) {
	b.Config.Protocols = new(http.Protocols)
	b.Config.Protocols.SetHTTP1(true)
	b.Config.Protocols.SetUnencryptedHTTP2(true)
}

// TestProtocolVersions has each way of a client's with each of a group's.
func TestProtocolVersions(t *testing.T) {
	ca := newAuthority(t, "root")
	seen := newBackend(t, "a", http2Backend, answering(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		fmt.Fprint(w, r.Proto)
		w.Header().Set("Grpc-Status", "0")
	}))
	groups := []TargetGroup{groupOf("HTTP1", seen.healthy()), groupOf("HTTP2", seen.healthy()), groupOf("GRPC", seen.healthy())}
	listener := Listener{Port: 443, Protocol: HTTPS, Certificates: []tls.Certificate{ca.issue([]string{"a.example.com"})}}
	for i := range groups {
		groups[i].Version = groups[i].Name
		listener.Rules = append(listener.Rules, Rule{Priority: int32(i + 1), Conditions: []Condition{{Field: PathPattern, Values: []string{"/" + groups[i].Name}}}, Actions: forwardTo(groups[i].Name)})
	}
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(listener)}, TargetGroups: groups})
	one := l.client(443, &tls.Config{RootCAs: ca.pool()})
	two := l.client(443, &tls.Config{RootCAs: ca.pool(), NextProtos: []string{"h2"}})
	for _, c := range []struct {
		name, method, group string
		client              *http.Client
		grpc                string
		status              int
		body                string
	}{
		{"1 to HTTP1", "GET", "HTTP1", one, "", 200, "HTTP/1.1"},
		{"2 to HTTP1", "GET", "HTTP1", two, "", 200, "HTTP/1.1"},
		{"2 to HTTP2", "GET", "HTTP2", two, "", 200, "HTTP/2.0"},
		{"1 to HTTP2", "GET", "HTTP2", one, "", 464, ""},
		{"1 to GRPC", "POST", "GRPC", one, "application/grpc", 464, ""},
		{"gRPC to HTTP1", "POST", "HTTP1", two, "application/grpc", 464, ""},
		{"gRPC to GRPC", "POST", "GRPC", two, "application/grpc+proto", 200, "HTTP/2.0"},
		{"not POST to GRPC", "GET", "GRPC", two, "application/grpc", 464, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request(t, c.method, "https://a.example.com/"+c.group, nil)
			if c.grpc != "" {
				r.Header.Set("Content-Type", c.grpc)
			}
			res := do(t, c.client, r)
			if res.StatusCode != c.status || c.body != "" && res.body != c.body {
				t.Errorf("%d %q, want %d %q", res.StatusCode, res.body, c.status, c.body)
			}
			if c.status == 200 && res.Trailer.Get("Grpc-Status") != "0" {
				t.Errorf("the trailer was lost: %v", res.Trailer)
			}
		})
	}
}

// TestGRPCUnavailable: what a gRPC client sees of a target that does not answer.
func TestGRPCUnavailable(t *testing.T) {
	ca := newAuthority(t, "root")
	gone := newBackend(t, "a")
	g := groupOf("g", gone.healthy())
	g.Version = VersionGRPC
	gone.Close()
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 443, Protocol: HTTPS, Certificates: []tls.Certificate{ca.issue([]string{"a"})}, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}})
	r := request(t, "POST", "https://a/pkg.Svc/Do", nil, "Content-Type: application/grpc")
	res := do(t, l.client(443, &tls.Config{RootCAs: ca.pool(), NextProtos: []string{"h2"}}), r)
	if res.StatusCode != 502 || res.Header.Get("Grpc-Status") != "14" || res.Header.Get("Grpc-Message") != "unavailable" {
		t.Errorf("%d %v, want HTTP 502 with grpc-status 14", res.StatusCode, res.Header)
	}
}

// TestStreaming: both ways at once, through a GRPC group.
func TestStreaming(t *testing.T) {
	ca := newAuthority(t, "root")
	echo := newBackend(t, "a", http2Backend, answering(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		http.NewResponseController(w).Flush()
		buffer := make([]byte, 16)
		for {
			n, err := r.Body.Read(buffer)
			w.Write(buffer[:n])
			http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
		}
	}))
	g := groupOf("g", echo.healthy())
	g.Version = VersionGRPC
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 443, Protocol: HTTPS, Certificates: []tls.Certificate{ca.issue([]string{"a"})}, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}})
	in, out := io.Pipe()
	r := request(t, "POST", "https://a/pkg.Svc/Do", in, "Content-Type: application/grpc")
	res, err := l.client(443, &tls.Config{RootCAs: ca.pool(), NextProtos: []string{"h2"}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for _, word := range []string{"ping", "pong"} {
		io.WriteString(out, word)
		back := make([]byte, 4)
		if _, err := io.ReadFull(res.Body, back); err != nil || string(back) != word {
			t.Fatalf("%q, %v; want %q while the request is still open", back, err, word)
		}
	}
	out.Close()
}

// upgradeEcho switches protocols and echoes.
func upgradeEcho(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		fmt.Fprint(w, "no upgrade")
		return
	}
	w.Header().Set("Upgrade", "websocket")
	w.Header().Set("Connection", "Upgrade")
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	io.Copy(conn, rw)
}

// openUpgrade is a client's switched connection.
func openUpgrade(t *testing.T, l *lab, protocol string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", l.at(80))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
	reader := bufio.NewReader(conn)
	res, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, reader, res
}

// TestWebSocket passes an upgrade through, and ends it with its target.
func TestWebSocket(t *testing.T) {
	b := newBackend(t, "a", answering(upgradeEcho))
	other := newBackend(t, "b")
	listener := albOf(Listener{Port: 80, Default: forwardTo("g")})
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{listener}, TargetGroups: []TargetGroup{groupOf("g", b.healthy())}})
	conn, reader, res := openUpgrade(t, l, "websocket")
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%d, want 101", res.StatusCode)
	}
	back := make([]byte, 4)
	fmt.Fprint(conn, "ping")
	if _, err := io.ReadFull(reader, back); err != nil || string(back) != "ping" {
		t.Fatalf("%q, %v", back, err)
	}
	draining := b.target()
	draining.State = StateDraining
	l.apply(Config{LoadBalancers: []LoadBalancer{listener}, TargetGroups: []TargetGroup{groupOf("g", draining, other.healthy())}})
	fmt.Fprint(conn, "pong")
	if _, err := io.ReadFull(reader, back); err != nil || string(back) != "pong" {
		t.Fatalf("while draining: %q, %v", back, err)
	}
	l.apply(Config{LoadBalancers: []LoadBalancer{listener}, TargetGroups: []TargetGroup{groupOf("g", other.healthy())}})
	if _, err := reader.ReadByte(); err == nil {
		t.Error("the connection outlived its target's deregistration delay")
	}
	if _, _, res := openUpgrade(t, l, "h2c"); res.StatusCode != 200 {
		t.Errorf("h2c: %d, want the answer of a target that saw no upgrade", res.StatusCode)
	}
}
