package words

import (
	"slices"
	"testing"

	"gatehouse.dev/lbmodel"
)

// TestListener says where a listener listens, for which host, and for whom.
func TestListener(t *testing.T) {
	cases := []struct {
		name, want string
		listener   lbmodel.Listener
	}{
		{"HTTP", "HTTP :80 any host", lbmodel.Listener{Protocol: lbmodel.ProtocolHTTP, Port: 80}},
		{"UDP", "UDP :53", lbmodel.Listener{Protocol: lbmodel.ProtocolUDP, Port: 53}},
		{"some clients", "TCP :53 from 10.0.0.0/8, ::/0", lbmodel.Listener{Protocol: lbmodel.ProtocolTCP, Port: 53, SourceRanges: []string{"10.0.0.0/8", "::/0"}}},
		{"many ranges", "TCP :53 from a, b, c, d and 2 more", lbmodel.Listener{Protocol: lbmodel.ProtocolTCP, Port: 53, SourceRanges: []string{"a", "b", "c", "d", "e", "f"}}},
	}
	for _, c := range cases {
		if got := Listener(c.listener); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMatch reads conditions aloud: a reader must be able to tell a prefix from an
// exact path and an expression from a text.
func TestMatch(t *testing.T) {
	cases := []struct {
		name, want string
		match      lbmodel.Match
	}{
		{"nothing asked", "/…", lbmodel.Match{}},
		{"root prefix", "/…", lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: "/"}}},
		{"prefix", "/api/…", lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: "/api/"}}},
		{"exact", "= /api", lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchExact, Value: "/api"}}},
		{"expression", "~ /v[0-9]+", lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchRegex, Value: "/v[0-9]+"}}},
		{"everything", "POST = /x a=1 b~2.* ?q=3", lbmodel.Match{
			Method: "POST", Path: lbmodel.PathMatch{Kind: lbmodel.MatchExact, Value: "/x"},
			Headers: []lbmodel.ValueMatch{{Name: "a", Kind: lbmodel.MatchExact, Value: "1"}, {Name: "b", Kind: lbmodel.MatchRegex, Value: "2.*"}},
			Query:   []lbmodel.ValueMatch{{Name: "q", Kind: lbmodel.MatchExact, Value: "3"}},
		}},
		{"gRPC method", "grpc shop.Cart/Add", lbmodel.Match{GRPC: &lbmodel.GRPCMatch{Kind: lbmodel.MatchExact, Service: "shop.Cart", Method: "Add"}}},
		{"any gRPC call of a service", "grpc ~ shop\\..*/…", lbmodel.Match{GRPC: &lbmodel.GRPCMatch{Kind: lbmodel.MatchRegex, Service: `shop\..*`}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Match(c.match); got != c.want {
				t.Errorf("Match = %q, want %q", got, c.want)
			}
		})
	}
}

// TestAction says who answers; shares add up to what happens, so a share of
// everything is not worth a number.
func TestAction(t *testing.T) {
	forward := func(backends ...lbmodel.Backend) lbmodel.Action {
		return lbmodel.Action{Forward: &lbmodel.Forward{Backends: backends}}
	}
	cases := []struct {
		name, want string
		action     lbmodel.Action
	}{
		{"one pool", "a", forward(lbmodel.Backend{Pool: "a", Weight: 7})},
		{"thirds", "33.3% a, 66.7% b", forward(lbmodel.Backend{Pool: "a", Weight: 1}, lbmodel.Backend{Pool: "b", Weight: 2})},
		{"a broken share", "90% a, 10% answers 500", forward(lbmodel.Backend{Pool: "a", Weight: 9}, lbmodel.Backend{Fixed: &lbmodel.Fixed{Status: 500}, Weight: 1})},
		{"a drained pool keeps its place", "0% a, b", forward(lbmodel.Backend{Pool: "a"}, lbmodel.Backend{Pool: "b", Weight: 1})},
		{"all drained", "0% a", forward(lbmodel.Backend{Pool: "a"})},
		{"nobody", "answers 500 (no backends)", forward()},
		{"fixed", "answers 503", lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 503}}},
		{"moved", "301 → https://n.test:8443/sale/…", lbmodel.Action{Redirect: &lbmodel.Redirect{
			Status: 301, Scheme: "https", Hostname: "n.test", Port: 8443,
			Path: &lbmodel.PathEdit{Kind: lbmodel.ReplacePrefixMatch, Value: "/sale/"}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Action(c.action); got != c.want {
				t.Errorf("Action = %q, want %q", got, c.want)
			}
		})
	}
}

// TestEdits lists every filter that changes a request on its way, each once.
func TestEdits(t *testing.T) {
	got := Edits(lbmodel.Action{
		Edits: lbmodel.Edits{
			Request:  &lbmodel.HeaderEdit{Set: []lbmodel.Header{{Name: "A", Value: "1"}}, Remove: []string{"B"}},
			Response: &lbmodel.HeaderEdit{Add: []lbmodel.Header{{Name: "C", Value: "2"}}},
			Rewrite:  &lbmodel.Rewrite{Hostname: "h.test", Path: &lbmodel.PathEdit{Kind: lbmodel.ReplaceFullPath, Value: "/p"}},
			Mirrors:  []lbmodel.Mirror{{Pool: "m", Numerator: 1, Denominator: 10}},
		},
		CORS:     &lbmodel.CORS{AllowOrigins: []string{"https://a.test"}},
		Timeouts: lbmodel.Timeouts{Request: 1e9}, Retry: &lbmodel.Retry{Attempts: 2, Codes: []int{503}},
	})
	want := []string{
		"host becomes h.test", "path becomes /p", "request header B is removed", "request header A is set to 1",
		"response header C gets 2", "mirrors 1/10 to m", "CORS for https://a.test", "whole request within 1s", "up to 2 retries on [503]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Edits = %q, want %q", got, want)
	}
}

// TestEndpoints tells unknown, none, and not all ready apart: they are answered
// differently.
func TestEndpoints(t *testing.T) {
	ready, not := lbmodel.Endpoint{Ready: true}, lbmodel.Endpoint{}
	cases := []struct {
		name, want string
		endpoints  []lbmodel.Endpoint
	}{
		{"unknown", "endpoints known after apply", nil},
		{"none", "no endpoints: answers 503", []lbmodel.Endpoint{}},
		{"one", "1 endpoint", []lbmodel.Endpoint{ready}},
		{"some", "1 of 2 endpoints ready", []lbmodel.Endpoint{ready, not}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Endpoints(lbmodel.Pool{Endpoints: c.endpoints}); got != c.want {
				t.Errorf("Endpoints = %q, want %q", got, c.want)
			}
		})
	}
}
