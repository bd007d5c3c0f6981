package draw

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func forward(backends ...lbmodel.Backend) lbmodel.Action {
	return lbmodel.Action{Forward: &lbmodel.Forward{Backends: backends}}
}

func rule(route, host, path string, action lbmodel.Action) lbmodel.Rule {
	return lbmodel.Rule{
		Source:   lbmodel.Source{Kind: "HTTPRoute", Namespace: "web", Name: route, Section: "rules[0].matches[0]"},
		Hostname: host,
		Match:    lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: path}},
		Action:   action,
	}
}

func pool(name string, tls *lbmodel.BackendTLS, endpoints ...lbmodel.Endpoint) lbmodel.Pool {
	return lbmodel.Pool{
		Name: name, Group: name, Protocol: lbmodel.PoolHTTP1, TLS: tls, Endpoints: endpoints,
		Source: lbmodel.Source{Kind: "Service", Namespace: "web", Name: name},
	}
}

func at(address string) lbmodel.Endpoint {
	return lbmodel.Endpoint{Address: address, Port: 8080, Ready: true}
}

// shop has one of everything that looks different.
func shop() lbmodel.Gateway {
	rules := []lbmodel.Rule{
		rule("checkout", "www.shop.test", "/checkout", forward(lbmodel.Backend{Pool: "cart", Weight: 1})),
		rule("promo", "www.shop.test", "/promo", lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 500}}),
		rule("moved", "www.shop.test", "/outlet", lbmodel.Action{Redirect: &lbmodel.Redirect{Status: 301,
			Path: &lbmodel.PathEdit{Kind: lbmodel.ReplacePrefixMatch, Value: "/sale"}}}),
		rule("store", "www.shop.test", "/", forward(lbmodel.Backend{Pool: "store-v1", Weight: 90},
			lbmodel.Backend{Pool: "store-v2", Weight: 5}, lbmodel.Backend{Fixed: &lbmodel.Fixed{Status: 500}, Weight: 5})),
	}
	return lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "edge", Name: "shop"},
		Listeners: []lbmodel.Listener{
			{Name: "http", Port: 8080, Protocol: lbmodel.ProtocolHTTP, Rules: rules},
			{Name: "https", Port: 8443, Protocol: lbmodel.ProtocolHTTPS, Hostname: "*.shop.test",
				TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate}, Rules: rules},
			{Name: "tcp", Port: 5432, Protocol: lbmodel.ProtocolTCP, Route: lbmodel.Source{Kind: "TCPRoute", Namespace: "web", Name: "db"},
				Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "db", Weight: 1}}}},
		},
		Pools: []lbmodel.Pool{
			pool("cart", &lbmodel.BackendTLS{SNI: "cart.web", Trust: "mesh", Identity: "edge",
				SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://cluster.local/ns/web/sa/cart"}}}, at("10.0.0.1"), at("10.0.0.2")),
			pool("db", nil),
			pool("store-v1", nil, at("10.0.1.1"), lbmodel.Endpoint{Address: "10.0.1.2", Port: 8080}),
			pool("store-v2", &lbmodel.BackendTLS{SNI: "store", Trust: "roots"}, at("10.0.2.1")),
		},
	}
}

// awkward holds what the three languages must not be broken by.
func awkward() lbmodel.Gateway {
	gw := lbmodel.Gateway{Owner: lbmodel.Owner{Kind: "Gateway", Namespace: "a", Name: "b"}}
	r := rule("x", "*.a.test", "", lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 500}})
	r.Match.Path = lbmodel.PathMatch{Kind: lbmodel.MatchRegex, Value: `/(a|b)["<>&\]+;` + strings.Repeat("é", 90)}
	r.Match.Headers = []lbmodel.ValueMatch{{Name: "x", Kind: lbmodel.MatchExact, Value: "`*_#\x01"}}
	gw.Listeners = []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Rules: []lbmodel.Rule{r}}}
	many := pool("many", nil)
	for i := range 40 {
		many.Endpoints = append(many.Endpoints, at(fmt.Sprintf("10.9.0.%d", i)))
	}
	gw.Pools = []lbmodel.Pool{many}
	return gw
}

// TestGolden compares the pictures with those that a person has looked at.
func TestGolden(t *testing.T) {
	cases := []struct {
		name, why string
		gateway   lbmodel.Gateway
	}{
		{"shop", "every look: mutual TLS, verified, plain, redirect, broken rule, broken share, an unready endpoint, unknown endpoints", shop()},
		{"awkward", "quotes, angle brackets, Markdown, control characters and long text stay text; forty endpoints stay readable", awkward()},
		{"empty", "a gateway without anything is a picture, not a panic", lbmodel.Gateway{Owner: lbmodel.Owner{Namespace: "a", Name: "none"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := Of(c.gateway)
			for file, got := range map[string]string{"graph.dot": d.DOT(), "graph.mmd": d.Mermaid(), "graph.svg": d.SVG()} {
				golden(t, filepath.Join("testdata", c.name, file), got, c.why)
			}
		})
	}
}

func golden(t *testing.T, path, got, why string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (%s) differs (-want +got):\n%s", path, why, diff)
	}
}

// TestBoxesHoldTheirText checks what the eye would: no text is wider than its
// box, no two boxes overlap, and everything is on the paper.
func TestBoxesHoldTheirText(t *testing.T) {
	for _, gw := range []lbmodel.Gateway{shop(), awkward()} {
		l := Of(gw).arrange()
		for _, column := range l.columns {
			for i, b := range column {
				for _, text := range b.node.text() {
					if need := textWidth(cut(text), lineSize) + 2*padX; need > b.w+0.01 {
						t.Errorf("%q needs %.1f, its box is %.1f wide", text, need, b.w)
					}
				}
				if i > 0 && column[i-1].y+column[i-1].h > b.y {
					t.Errorf("box %q overlaps the one above it", b.node.Title)
				}
				if b.y < top-0.01 || b.x+b.w > l.width || b.y+b.h > l.height-legendRoom {
					t.Errorf("box %q is off the paper: %+v in %.0f×%.0f", b.node.Title, b, l.width, l.height)
				}
			}
		}
	}
}

// TestSVGIsXML parses the picture as a browser would, and finds the columns left
// to right in it.
func TestSVGIsXML(t *testing.T) {
	for _, gw := range []lbmodel.Gateway{shop(), awkward()} {
		decoder := xml.NewDecoder(strings.NewReader(Of(gw).SVG()))
		rects := 0
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("the SVG is not XML: %v", err)
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
				rects++
				positive(t, start)
			}
		}
		if rects < len(Of(gw).Columns) {
			t.Errorf("only %d boxes in the SVG", rects)
		}
	}
}

func positive(t *testing.T, e xml.StartElement) {
	t.Helper()
	for _, a := range e.Attr {
		if v, err := strconv.ParseFloat(a.Value, 64); err == nil && v < 0 {
			t.Errorf("<%s %s=%q> is off the paper", e.Name.Local, a.Name.Local, a.Value)
		}
	}
}
