package dataplane

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"gatehouse.dev/lbmodel"
)

// verdict is what one active check says. Each check has one of its own, so that a
// probe that ends after its check was replaced or removed speaks to nobody.
type verdict struct {
	last atomic.Pointer[lbmodel.Health]
}

func (v *verdict) health() lbmodel.Health {
	if h := v.last.Load(); h != nil {
		return *h
	}
	return lbmodel.HealthInitial
}

// watchHealth checks one endpoint until ctx ends. An endpoint counts as healthy
// until it has failed often enough in a row.
func (d *DataPlane) watchHealth(ctx context.Context, c *checker, v *verdict) {
	interval := cmp.Or(time.Duration(c.check.Interval), 10*time.Second)
	defer c.client.CloseIdleConnections()
	if !pause(ctx, rand.N(min(interval, time.Second))) { // not all at once
		return
	}
	for {
		d.noteHealth(c, v, c.probe(ctx))
		if !pause(ctx, interval) {
			return
		}
	}
}

// noteHealth counts results in a row.
func (d *DataPlane) noteHealth(c *checker, v *verdict, err error) {
	if err == nil {
		c.good, c.bad = c.good+1, 0
	} else {
		c.good, c.bad = 0, c.bad+1
		d.tallies.fail(FailedHealthChecks)
	}
	state := v.health()
	switch {
	case c.good >= max(c.check.Healthy, 1):
		state = lbmodel.HealthHealthy
	case c.bad >= max(c.check.Unhealthy, 1):
		state = lbmodel.HealthUnhealthy
	}
	v.last.Store(&state)
}

// checker probes one endpoint.
type checker struct {
	check     lbmodel.HealthCheck
	client    *http.Client
	dial      *dialer
	good, bad int32
}

// newChecker connects for itself, so that a check tells about new connections.
// On the pool's own port a pool with TLS is checked with that TLS, whatever the
// check's protocol: plain text never goes there.
func newChecker(l *link, check lbmodel.HealthCheck) *checker {
	d := *l.dial
	d.endpoint.Port = cmp.Or(check.Port, d.endpoint.Port)
	switch {
	case d.endpoint.Port != l.dial.endpoint.Port:
		d.tls = nil
		if check.Protocol == "HTTPS" {
			d.tls = &backendTLS{config: &tls.Config{InsecureSkipVerify: true}} // as cloud probes do
		}
	case d.tls == nil && check.Protocol == "HTTPS":
		d.tls = &backendTLS{config: &tls.Config{InsecureSkipVerify: true}}
	}
	if check.Protocol == "GRPC" {
		d.protocol = lbmodel.PoolGRPC
	}
	transport := newTransport(&d)
	transport.DisableKeepAlives = check.Protocol != "GRPC"
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &checker{check: check, dial: &d, client: &http.Client{Transport: transport, CheckRedirect: noRedirect}}
}

func (c *checker) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(time.Duration(c.check.Timeout), 5*time.Second))
	defer cancel()
	switch c.check.Protocol {
	case "HTTP", "HTTPS":
		return c.probeHTTP(ctx)
	case "GRPC":
		return c.probeGRPC(ctx)
	default:
		var conn net.Conn
		conn, err := c.dial.stream(ctx)
		if err == nil {
			conn.Close()
		}
		return err
	}
}

func (c *checker) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	scheme := "http"
	if c.dial.tls != nil {
		scheme = "https"
	}
	r, err := http.NewRequestWithContext(ctx, method, scheme+"://"+string(c.dial.target())+path, body)
	if err == nil && c.check.Host != "" {
		r.Host = c.check.Host
	}
	return r, err
}

func (c *checker) probeHTTP(ctx context.Context) error {
	r, err := c.request(ctx, http.MethodGet, cmp.Or(c.check.Path, "/"), nil)
	if err != nil {
		return err
	}
	res, err := c.client.Do(r)
	if err != nil {
		return err
	}
	discard(res)
	if res.StatusCode < 200 || res.StatusCode > 399 {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

// probeGRPC calls grpc.health.v1.Health/Check. Its two messages have one field
// each (health.proto), which is less than a generated client.
func (c *checker) probeGRPC(ctx context.Context) error {
	r, err := c.request(ctx, http.MethodPost, "/grpc.health.v1.Health/Check", bytes.NewReader(healthRequest(c.check.Service)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("Te", "trailers")
	res, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 64))
	if err != nil {
		return err
	}
	return isServing(answer)
}

// healthRequest is a gRPC frame of HealthCheckRequest{service = 1}.
func healthRequest(service string) []byte {
	var message []byte
	if service != "" {
		message = append([]byte{1<<3 | 2}, binary.AppendUvarint(nil, uint64(len(service)))...)
		message = append(message, service...)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// isServing looks for HealthCheckResponse{status = 1: SERVING = 1}.
func isServing(frame []byte) error {
	if len(frame) < 7 || frame[5] != 1<<3 || frame[6] != 1 {
		return errors.New("the service does not say SERVING")
	}
	return nil
}
