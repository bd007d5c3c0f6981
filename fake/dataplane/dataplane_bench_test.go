package dataplane

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// The load of the benchmarks: as many connections as a small site has, answers
// of 1 KiB, so that the proxy's own work counts most.
const (
	benchConnections = 64
	benchAnswer      = 1024
	benchRound       = 400 * time.Millisecond
)

// BenchmarkProxy compares this data plane with a bare httputil.ReverseProxy and,
// where there is an nginx, with that. Clients, proxies and backends share the
// machine, so only ratios mean something: one iteration is one round of each
// contender, and the medians of the rounds' ratios are reported. Run it with
//
//	go test -run - -bench Proxy -benchtime 15x ./fake/dataplane
func BenchmarkProxy(b *testing.B) {
	for _, secure := range []bool{false, true} {
		name := map[bool]string{false: "HTTP", true: "HTTPS-mTLS"}[secure]
		b.Run(name, func(b *testing.B) { compare(b, newStage(b, secure)) })
	}
}

// stage is what all contenders of a benchmark have in common.
type stage struct {
	front, back *authority
	serving     tls.Certificate // towards clients
	identity    tls.Certificate // towards the backend
	backend     string
	secure      bool
}

// contender is a proxy under load.
type contender struct {
	name, address string
	clients       []*benchClient // kept between rounds: handshakes are not what is measured
	rates, p99s   []float64
}

// benchClient is one connection of a contender's load.
type benchClient struct {
	net.Conn
	reader *bufio.Reader
}

func newStage(b *testing.B, secure bool) *stage {
	s := &stage{front: newAuthority(b, "front"), back: newAuthority(b, "back"), secure: secure}
	s.serving, s.identity = s.front.issue("bench.test"), s.back.issue(gatewayID)
	s.backend = s.startBackend(b)
	return s
}

func compare(b *testing.B, s *stage) {
	us := &contender{name: "gatehouse", address: s.startGatehouse(b)}
	others := []*contender{{name: "reverseproxy", address: s.startReverseProxy(b)}}
	if address := s.startNginx(b); address != "" {
		others = append(others, &contender{name: "nginx", address: address})
	}
	all := append([]*contender{us}, others...)
	for _, c := range all {
		s.connect(b, c)
		s.round(b, c) // warm
		c.rates, c.p99s = nil, nil
	}
	turn := 0
	for b.Loop() {
		for i := range all {
			s.round(b, all[(turn+i)%len(all)])
		}
		turn++
	}
	for _, c := range others {
		b.ReportMetric(medianRatio(us.rates, c.rates), "rps/"+c.name)
		b.ReportMetric(medianRatio(us.p99s, c.p99s), "p99/"+c.name)
	}
	b.ReportMetric(median(us.rates), "req/s")
	b.ReportMetric(median(us.p99s)*1e3, "p99-ms")
}

func (s *stage) connect(b *testing.B, c *contender) {
	for range benchConnections {
		conn := must(net.Dial("tcp", c.address))
		if s.secure {
			conn = tls.Client(conn, &tls.Config{RootCAs: s.front.pool(), ServerName: "bench.test", NextProtos: []string{"http/1.1"}})
		}
		b.Cleanup(func() { conn.Close() })
		c.clients = append(c.clients, &benchClient{conn, bufio.NewReaderSize(conn, 8<<10)})
	}
}

// round puts one contender under load for a moment. Any error ends the
// benchmark: a failed request is never part of a rate.
func (s *stage) round(b *testing.B, c *contender) {
	b.Helper()
	var workers sync.WaitGroup
	took := make([][]float64, len(c.clients))
	stop := time.Now().Add(benchRound)
	for i, client := range c.clients {
		workers.Go(func() {
			var err error
			if took[i], err = client.load(stop); err != nil {
				b.Errorf("%s: %v", c.name, err)
			}
		})
	}
	workers.Wait()
	all := slices.Concat(took...)
	if len(all) == 0 || b.Failed() {
		b.Fatalf("%s answered %d requests, then failed", c.name, len(all))
	}
	slices.Sort(all)
	c.rates = append(c.rates, float64(len(all))/benchRound.Seconds())
	c.p99s = append(c.p99s, all[len(all)*99/100])
}

// load sends requests over one connection and does as little as it can, since
// it shares the machine with the proxy.
func (c *benchClient) load(stop time.Time) ([]float64, error) {
	request := []byte("GET /bench HTTP/1.1\r\nHost: bench.test\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
	var took []float64
	for begin := time.Now(); begin.Before(stop); begin = time.Now() {
		if _, err := c.Write(request); err != nil {
			return took, err
		}
		if err := readAnswer(c.reader); err != nil {
			return took, err
		}
		took = append(took, time.Since(begin).Seconds())
	}
	return took, nil
}

// readAnswer reads a head, checks the status and skips the body.
func readAnswer(r *bufio.Reader) error {
	status, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
		return fmt.Errorf("answered %q", status)
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			_, err := r.Discard(benchAnswer)
			return err
		}
	}
}

// startBackend answers every head it reads with the same bytes.
func (s *stage) startBackend(b *testing.B) string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	if s.secure {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{s.back.issue(backendID, "backend.test")}, ClientCAs: s.back.pool(),
			ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"http/1.1"}})
	}
	answer := append(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", benchAnswer), make([]byte, benchAnswer)...)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerHeads(conn, answer)
		}
	}()
	b.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func answerHeads(conn net.Conn, answer []byte) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) == 2 {
			if _, err := conn.Write(answer); err != nil {
				return
			}
		}
	}
}

func (s *stage) startGatehouse(b *testing.B) string {
	pool := poolOf("p", lbmodel.PoolHTTP1, s.backend)
	listener := httpListener(80, prefixRule("/bench", to("p")), prefixRule("/", to("p")))
	if s.secure {
		pool.TLS = &lbmodel.BackendTLS{SNI: "backend.test", SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: backendID}}, Trust: "back", Identity: "edge"}
		listener = httpsListener("https", "", []string{"serving"}, listener.Rules...)
	}
	gw := gatewayOf("edge", []lbmodel.Listener{listener}, pool)
	gw.Model.Trust = []lbmodel.Trust{trustOf("back", s.back)}
	gw.Keys = map[string]tls.Certificate{"serving": s.serving, "edge": s.identity}
	d := New(Config{Ports: PortsFree})
	if err := d.Program(b.Context(), []Gateway{gw}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Shutdown(b.Context()) })
	return d.Bound()[0].Addr.String()
}

// startReverseProxy is the least that a Go programmer would write, with enough
// idle connections to be fair.
func (s *stage) startReverseProxy(b *testing.B) string {
	target := &url.URL{Scheme: "http", Host: s.backend}
	transport := &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}
	if s.secure {
		target.Scheme = "https"
		transport.TLSClientConfig = &tls.Config{RootCAs: s.back.pool(), ServerName: "backend.test", Certificates: []tls.Certificate{s.identity}}
	}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.SetXForwarded()
	}}
	server := &http.Server{Handler: proxy, ErrorLog: quiet()}
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	if s.secure {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{s.serving}, NextProtos: []string{"http/1.1"}})
	}
	go server.Serve(l)
	b.Cleanup(func() { server.Close(); transport.CloseIdleConnections() })
	return l.Addr().String()
}

func medianRatio(ours, theirs []float64) float64 {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / theirs[i]
	}
	return median(ratios)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

var errNginx = errors.New("nginx did not start")

// listening waits until somebody accepts.
func listening(address string) error {
	for range 200 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errNginx
}

// BenchmarkProgram is one change among 50 gateways of 200 rules each.
func BenchmarkProgram(b *testing.B) {
	d := New(Config{Ports: PortsFree})
	defer d.Shutdown(context.Background())
	gateways := make([]Gateway, 50)
	for i := range gateways {
		var rules []lbmodel.Rule
		for r := range 200 {
			rules = append(rules, prefixRule(fmt.Sprintf("/%d", r), to("a")))
		}
		gateways[i] = gatewayOf(fmt.Sprint("g", i), []lbmodel.Listener{httpListener(int32(8000+i), rules...)},
			poolOf("a", lbmodel.PoolHTTP1, "10.0.0.1:80", "10.0.0.2:80"))
	}
	for i := 0; b.Loop(); i++ {
		gateways[0].Model.Labels = map[string]string{"turn": fmt.Sprint(i)}
		if err := d.Program(b.Context(), gateways); err != nil {
			b.Fatal(err)
		}
	}
}
