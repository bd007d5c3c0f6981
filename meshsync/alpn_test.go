package meshsync_test

import (
	"testing"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

// TestNegotiation tries what the meshes' tables do not: odd chains, one at a time.
func TestNegotiation(t *testing.T) {
	noHTTP2 := without(gcpLike(), lbmodel.FeatureHTTP2)
	for _, c := range []struct {
		name, why string
		chains    []Chain
		protocol  lbmodel.PoolProtocol
		has       lbmodel.Features
		want      string
	}{
		{"the first that fits", "order is the proxy's", []Chain{{Offer: []string{"x"}, HTTP: true}, {HTTP: true}},
			lbmodel.PoolHTTP1, gcpLike(), "Direct ClientAndServer HTTP1"},
		{"what is asked for, before what comes first", "the second chain speaks HTTP/2, which was asked for",
			[]Chain{{Offer: []string{"x"}, Selects: []string{"http/1.1"}, HTTP: true}, {Selects: httpALPN, HTTP: true}},
			lbmodel.PoolHTTP2, fakeLike(), "Direct ClientAndServer HTTP2"},
		{"no settings without need", "ALPN control is not used where the ordinary offer does", []Chain{{Selects: httpALPN, HTTP: true}},
			lbmodel.PoolHTTP2, fakeLike(), "Direct ClientAndServer HTTP2"},
		{"offered or not", "HTTP/1.1 without ALPN control may send http/1.1 or nothing, and one of them fits no chain",
			[]Chain{{Offer: []string{"http/1.1"}, HTTP: true}}, lbmodel.PoolHTTP1, gcpLike(), "Blocked ALPNUnsupported"},
		{"offered by name", "with ALPN control it is surely sent", []Chain{{Offer: []string{"http/1.1"}, HTTP: true}},
			lbmodel.PoolHTTP1, fakeLike(), "Direct ClientAndServer HTTP1 alpn=[http/1.1]"},
		{"the proxy's favourite is its own", "a protocol that nobody here speaks must not be negotiated",
			[]Chain{{Offer: []string{"x"}, Selects: []string{"x", "http/1.1"}, HTTP: true}}, lbmodel.PoolHTTP1, fakeLike(), "Blocked ALPNUnsupported"},
		{"another name of the same chain", "one that is not negotiated gets there too",
			[]Chain{{Offer: []string{"x", "y"}, Selects: []string{"x", "http/1.1"}, HTTP: true}}, lbmodel.PoolHTTP1, fakeLike(),
			"Direct ClientAndServer HTTP1 alpn=[y,http/1.1]"},
		{"HTTP/2 to a proxy of HTTP/1.1", "HTTP/2 was asked for, and HTTP/1.1 serves", []Chain{{Selects: []string{"http/1.1"}, HTTP: true}},
			lbmodel.PoolHTTP2, gcpLike(), "Direct ClientAndServer HTTP1 -HTTP2"},
		{"HTTP/2 by a provider without", "as if the proxy had none", []Chain{{Selects: httpALPN, HTTP: true}},
			lbmodel.PoolHTTP2, noHTTP2, "Direct ClientAndServer HTTP1 -HTTP2"},
		{"h2c by a provider without", "the application may speak nothing else", []Chain{{Selects: httpALPN, HTTP: true}},
			lbmodel.PoolH2C, noHTTP2, "Blocked ALPNUnsupported"},
		{"TCP, a chain of each", "what reads HTTP would break what is none, although it comes first",
			[]Chain{{Offer: istioHTTPALPN, Selects: httpALPN, HTTP: true}, {Offer: istioALPN, Selects: peerALPN}},
			lbmodel.PoolTCP, fakeLike(), "Direct ClientAndServer TCP alpn=[istio]"},
		{"TCP to a proxy that reads HTTP", "the port is declared HTTP, and its own clients are read too", []Chain{{Selects: httpALPN, HTTP: true}},
			lbmodel.PoolTCP, gcpLike(), "Direct ClientAndServer TCP"},
		{"bytes, HTTP/1.1", "h2 is not offered, so it is not negotiated", []Chain{{Selects: peerALPN}},
			lbmodel.PoolHTTP1, gcpLike(), "Direct ClientAndServer HTTP1 -L7Policy"},
		{"bytes, HTTP/2", "the application would get an HTTP/2 that it never agreed to", []Chain{{Selects: peerALPN}},
			lbmodel.PoolHTTP2, gcpLike(), "Direct ClientAndServer HTTP1 -L7Policy -HTTP2"},
		{"bytes, h2c", "the application speaks it", []Chain{{Selects: peerALPN}},
			lbmodel.PoolH2C, gcpLike(), "Direct ClientAndServer HTTP2 -L7Policy"},
		{"bytes, gRPC", "the application speaks it", []Chain{{Selects: peerALPN}},
			lbmodel.PoolGRPC, gcpLike(), "Direct ClientAndServer GRPC -L7Policy"},
		{"bytes without ALPN, h2c", "by prior knowledge", []Chain{{}},
			lbmodel.PoolH2C, fakeLike(), "Direct ClientAndServer HTTP2 alpn=[] -L7Policy"},
		{"nobody says why", "an Inbound without chains and without a reason", nil,
			lbmodel.PoolHTTP1, fakeLike(), "Blocked ALPNUnsupported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := istio("", Resets, c.chains...)
			if got := outcome(Judge(in, hop(c.protocol), c.has)); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.why, got, c.want)
			}
		})
	}
}
