package demo

import (
	"context"
	"crypto/tls"
	"encoding/json/v2"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// stop is one request of the tour and what it should get.
type stop struct {
	what   string
	scheme string
	path   string
	host   string
	status int
}

var tour = []stop{
	{"the store front", "http", "/", site, 200},
	{"over HTTPS", "https", "/", site, 200},
	{"the path is rewritten, a header set", "http", "/api/catalog/shoes?size=44", site, 200},
	{"an old address moves", "http", "/outlet/boots", site, 301},
	{"mutual TLS into the mesh", "https", "/checkout/cart", site, 200},
	{"broken on purpose, hurts nobody", "http", "/promo", site, 500},
	{"a host that no route names", "http", "/", "other.test", 404},
}

// visitor sends requests to the gateway as a client outside would, without DNS.
type visitor struct {
	client      *http.Client
	http, https netip.AddrPort
}

func newVisitor(http1, https netip.AddrPort, public *authority) *visitor {
	v := &visitor{http: http1, https: https}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: pool(public), MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			to := v.http
			if _, port, _ := net.SplitHostPort(addr); port == "443" {
				to = v.https
			}
			return new(net.Dialer).DialContext(ctx, network, to.String())
		},
	}
	v.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return v
}

func (v *visitor) visit(ctx context.Context, s stop) Visit {
	out := Visit{What: s.what, URL: s.scheme + "://" + s.host + s.path, Wanted: s.status}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, out.URL, nil)
	if err != nil {
		out.Answer = err.Error()
		return out
	}
	res, err := v.client.Do(req)
	if err != nil {
		out.Answer = err.Error()
		return out
	}
	defer res.Body.Close()
	out.Status = res.StatusCode
	out.Answer = describe(res)
	return out
}

// describe says in a line who answered and what the request looked like there.
func describe(res *http.Response) string {
	if to := res.Header.Get("Location"); to != "" {
		return "Location: " + to
	}
	body, err := io.ReadAll(res.Body)
	var a answer
	if err != nil || json.Unmarshal(body, &a) != nil {
		return "the gateway itself"
	}
	out := a.Backend
	if a.Path != res.Request.URL.Path {
		out += " saw " + a.Path
	}
	if a.Edge != "" {
		out += ", X-Shop-Edge: " + a.Edge
	}
	if a.Client != "" {
		out += fmt.Sprintf(", client is %s", a.Client)
	}
	return out
}

// canary counts who answers n requests to the weighted rule.
func (v *visitor) canary(ctx context.Context, n int) map[string]int {
	counts := map[string]int{}
	for range n {
		counts[v.visit(ctx, tour[0]).Answer]++
	}
	return counts
}

// stranger tries the mesh without a certificate, to see that it really refuses.
func stranger(ctx context.Context, addr string) error {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the point is what the server does
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	// TLS 1.3 tells a client only after its handshake that it was refused.
	_, err = conn.Read(make([]byte, 1))
	return err
}
