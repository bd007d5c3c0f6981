package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"gatehouse.dev/fake/gcpapi/store"
)

// check is a health check. Checks over TLS verify nothing and present nothing.
type check struct {
	kind                         string // TCP, SSL, HTTP, HTTPS, HTTP2, GRPC, GRPC_WITH_TLS
	port                         int    // 0 is the endpoint's
	path, host, request, answer  string
	service                      string // of GRPC
	proxy                        bool   // a PROXY header before all else
	interval, timeout            time.Duration
	healthyAfter, unhealthyAfter int

	address, ip string // of the endpoint that is checked
}

// readCheck reads a health check as the API completes it.
func (r *reader) readCheck(o store.Object) *check {
	if o == nil {
		return nil
	}
	kind := store.Text(o, "type")
	block := map[string]string{"TCP": "tcpHealthCheck", "SSL": "sslHealthCheck", "HTTP": "httpHealthCheck", "HTTPS": "httpsHealthCheck", "HTTP2": "http2HealthCheck",
		"GRPC": "grpcHealthCheck", "GRPC_WITH_TLS": "grpcTlsHealthCheck"}[kind]
	in, _ := o[block].(store.Object)
	c := &check{
		kind: kind, path: cmp.Or(store.Text(in, "requestPath"), "/"), host: store.Text(in, "host"), request: store.Text(in, "request"), answer: store.Text(in, "response"),
		service: store.Text(in, "grpcServiceName"), proxy: in["proxyHeader"] == "PROXY_V1", interval: seconds(o, "checkIntervalSec"), timeout: seconds(o, "timeoutSec"),
		healthyAfter: int(number(o, "healthyThreshold")), unhealthyAfter: int(number(o, "unhealthyThreshold")),
	}
	if in["portSpecification"] != "USE_SERVING_PORT" {
		c.port = int(number(in, "port"))
	}
	return c
}

// probe makes one check on a connection of its own.
func (c *check) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	switch c.kind {
	case "HTTP", "HTTPS", "HTTP2":
		return c.probeHTTP(ctx)
	case "GRPC", "GRPC_WITH_TLS":
		return c.probeGRPC(ctx)
	}
	return c.probeTCP(ctx)
}

func (c *check) secured() bool { return c.kind != "HTTP" && c.kind != "TCP" && c.kind != "GRPC" }

func (c *check) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", c.address)
	if err == nil && c.proxy {
		_, err = io.WriteString(conn, "PROXY UNKNOWN\r\n")
	}
	return conn, err
}

// probeTCP connects; with a request it wants the response to begin as told.
func (c *check) probeTCP(ctx context.Context) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if c.secured() {
		session := tls.Client(conn, c.insecure())
		if err := session.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = session
	}
	if c.request != "" {
		if _, err := io.WriteString(conn, c.request); err != nil {
			return err
		}
	}
	if c.answer == "" {
		return nil
	}
	got := make([]byte, len(c.answer))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != c.answer {
		return errors.New("another answer")
	}
	return nil
}

func (c *check) insecure() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}
}

func (c *check) client() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(c.kind == "HTTP" || c.kind == "HTTPS")
	protocols.SetHTTP2(c.kind == "HTTP2" || c.kind == "GRPC_WITH_TLS")
	protocols.SetUnencryptedHTTP2(c.kind == "GRPC")
	return &http.Client{
		Transport: &http.Transport{
			DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			TLSClientConfig: c.insecure(), Protocols: protocols, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (c *check) url(path string) string {
	if c.secured() {
		return "https://" + c.address + path
	}
	return "http://" + c.address + path
}

// mostAnswer is how much of a body is searched for the expected text.
const mostAnswer = 1024

// probeHTTP wants 200, and the text if there is one.
func (c *check) probeHTTP(ctx context.Context) error {
	client := c.client()
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(c.path), nil)
	if err != nil {
		return err
	}
	r.Host = cmp.Or(c.host, c.ip)
	r.Header.Set("User-Agent", "GoogleHC/1.0")
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, mostAnswer)) // what came before an error counts
	if res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(c.answer)) {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

// checkRequest is a HealthCheckRequest in gRPC's framing.
func checkRequest(service string) []byte {
	var message []byte
	if service != "" {
		message = append(binary.AppendUvarint([]byte{0x0a}, uint64(len(service))), service...) // field 1
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// probeGRPC calls grpc.health.v1.Health/Check, and wants SERVING.
func (c *check) probeGRPC(ctx context.Context) error {
	client := c.client()
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url("/grpc.health.v1.Health/Check"), bytes.NewReader(checkRequest(c.service)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("Te", "trailers")
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	status := cmp.Or(res.Trailer.Get("Grpc-Status"), res.Header.Get("Grpc-Status"))
	if err != nil || status != "0" || len(body) < 7 || body[5] != 0x08 || body[6] != 1 { // field 1, SERVING
		return errors.New("not serving")
	}
	return nil
}
