package cases

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// h2c is a server that speaks HTTP/2 in clear text and nothing else.
func h2c() *http.Server {
	s := &http.Server{Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// TestC27 speaks to a Service what its appProtocol says. The dangerous mistakes
// are plain text to a port that wants TLS, and gRPC turned into HTTP/1.1.
func TestC27(t *testing.T) {
	h := begin(t)
	cases := []struct{ name, protocol, model, reason string }{
		{"http", "http", "HTTP1", ""},
		{"unset", "", "HTTP1", ""},
		{"h2c", "kubernetes.io/h2c", "H2C", ""},
		{"ws", "kubernetes.io/ws", "WebSocket", ""},
		{"grpc", "grpc", "H2C", ""}, // an HTTPRoute to it is HTTP/2
		{"odd", "acme.test/odd", "HTTP1", ""},
		{"https", "https", "", "UnsupportedProtocol"},
		{"upper", "HTTP", "HTTP1", ""},
		{"wss", "kubernetes.io/wss", "", "UnsupportedProtocol"},
	}
	for _, c := range cases {
		server := new(http.Server)
		if c.model == "H2C" {
			server = h2c()
		}
		h.serve(c.name, h.listen(), server)
		h.put(serviceYAML(c.name, appProtocol(c.protocol)), routeYAML(c.name, fmt.Sprintf(`
  hostnames: [%s.test]
  rules: [{backendRefs: [{name: %[1]s, port: 80}]}]`, c.name)))
	}
	h.apply()
	models := map[string]string{}
	for _, p := range h.gateway("edge").Pools {
		models[strings.TrimPrefix(strings.Split(p.Group, ":")[0], "apps/")] = string(p.Protocol)
	}
	for _, c := range cases {
		got := h.get("http://" + c.name + ".test/")
		if c.reason != "" {
			h.expect("HTTPRoute", c.name, "edge", "ResolvedRefs", "False/"+c.reason, "BackendTLSPolicy", "plain text")
			if got.String() != "500" {
				t.Errorf("%s is answered by %s, want 500", c.name, got)
			}
			continue
		}
		h.expect("HTTPRoute", c.name, "edge", "ResolvedRefs", "True/ResolvedRefs")
		if got.String() != c.name || models[c.name] != c.model {
			t.Errorf("%s is answered by %s over a pool of %s, want %s", c.name, got, models[c.name], c.model)
		}
		if http2 := got.Protocol == "HTTP/2.0"; http2 != (c.model == "H2C") {
			t.Errorf("%s was reached with %s", c.name, got.Protocol)
		}
	}
}

func appProtocol(name string) string {
	if name == "" {
		return ""
	}
	return ", appProtocol: " + name
}

// TestC27TLS gives the Service that wants TLS a policy: then it is reached, with
// TLS.
func TestC27TLS(t *testing.T) {
	h := begin(t)
	ca := newAuthority(t, "inner")
	l := h.listen()
	h.serve("safe", tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "safe.internal.test").Certificate}}), new(http.Server))
	h.put(serviceYAML("safe", ", appProtocol: https"), policyYAML("safe", "ConfigMap", "ca"), h.configMap("ca", "ca.crt", ca.pem()),
		routeYAML("r", "  rules: [{backendRefs: [{name: safe, port: 80}]}]"))
	h.apply()
	h.expect("HTTPRoute", "r", "edge", "ResolvedRefs", "True/ResolvedRefs")
	answers{"http://x.test/": "safe"}.check(h)
}

// TestC27GRPC never carries gRPC over HTTP/1.1, which it cannot cross: a Service
// that says HTTP/1.1 is refused, and a server that only pretends fails the call.
func TestC27GRPC(t *testing.T) {
	grpcRoute := func(name string) string {
		return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: %s, namespace: apps}
spec:
  parentRefs: [{name: edge}]
  hostnames: [%[1]s.test]
  rules: [{backendRefs: [{name: %[1]s, port: 80}]}]
`, name)
	}
	h := begin(t, grpcRoute("a"), grpcRoute("b"), grpcRoute("real"))
	h.serve("real", h.listen(), h2c())
	h.put(serviceYAML("real", ", appProtocol: grpc"), serviceYAML("b", ", appProtocol: http"))
	h.apply()
	h.expect("GRPCRoute", "real", "edge", "ResolvedRefs", "True/ResolvedRefs")
	h.expect("GRPCRoute", "b", "edge", "ResolvedRefs", "False/UnsupportedProtocol", "HTTP/2")
	for _, p := range h.gateway("edge").Pools {
		if p.Protocol != lbmodel.PoolGRPC {
			t.Errorf("pool %s speaks %s, want gRPC", p.Name, p.Protocol)
		}
	}
	for host, want := range map[string]string{"real": "ok", "a": "refused", "b": "refused"} {
		if got := h.call(host + ".test"); got != want {
			t.Errorf("a call of %s is %s, want %s", host, got, want)
		}
	}
	if n := h.a.requests.Load() + h.b.requests.Load(); n > 0 {
		t.Errorf("servers of HTTP/1.1 were sent %d gRPC calls", n)
	}
}

// call makes a gRPC call with an empty message, over clear-text HTTP/2, and says
// whether a backend answered it.
func (h *harness) call(host string) string {
	h.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, h.address("edge", 80).String())
	}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	message := binary.BigEndian.AppendUint32([]byte{0}, 0)
	req, err := http.NewRequestWithContext(h.Context(), http.MethodPost, "http://"+host+"/pkg.Service/Method", strings.NewReader(string(message)))
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	res, err := transport.RoundTrip(req)
	if err != nil {
		h.Fatal(err)
	}
	if res.StatusCode == http.StatusOK && res.Header.Get("Grpc-Status") == "" {
		if _, err := answerOf(res); err != nil {
			h.Fatal(err)
		}
		return "ok"
	}
	res.Body.Close()
	return "refused"
}
