package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// watch checks a target until ctx ends: at once, and then at every interval of
// the clock.
func (s *Server) watch(ctx context.Context, l *link, c check) {
	for {
		reason, text := c.probe(ctx)
		if ctx.Err() != nil {
			return
		}
		if state, changed := l.health.note(&c, s.options.Clock.Now(), reason, text); changed {
			s.options.HealthChanged(l.key.group, l.key.target, state)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.options.Clock.After(c.interval):
		}
	}
}

// probe makes one check on a connection of its own. A reason of "" is a pass.
func (c *check) probe(ctx context.Context) (reason, text string) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var err error
	if c.protocol == HTTP || c.protocol == HTTPS {
		reason, text, err = c.probeHTTP(ctx)
	} else {
		err = c.probeTCP(ctx)
	}
	var timeout net.Error
	switch {
	case err == nil:
		return reason, text
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return reasonTimeout, "Request timed out"
	default:
		return reasonFailed, "Health checks failed"
	}
}

func (c *check) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", c.address)
	if err == nil && c.proxyHeader {
		_, err = conn.Write(proxyLocal())
	}
	return conn, err
}

func (c *check) probeTCP(ctx context.Context) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if c.protocol != TLS {
		return nil
	}
	session, err := handshake(ctx, conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}, c.timeout)
	if err == nil {
		_ = session.Close()
	}
	return err
}

func (c *check) client() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!c.grpc)
	protocols.SetHTTP2(c.grpc && c.protocol == HTTPS)
	protocols.SetUnencryptedHTTP2(c.grpc && c.protocol == HTTP)
	return &http.Client{
		Transport: &http.Transport{
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10},
			DisableKeepAlives: !c.grpc, // one connection a check
			Protocols:         protocols,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (c *check) probeHTTP(ctx context.Context) (reason, text string, _ error) {
	client := c.client()
	defer client.CloseIdleConnections()
	method, scheme := http.MethodGet, "http"
	if c.grpc {
		method = http.MethodPost
	}
	if c.protocol == HTTPS {
		scheme = "https"
	}
	r, err := http.NewRequestWithContext(ctx, method, scheme+"://"+c.address+c.path, nil)
	if err != nil {
		return "", "", err
	}
	r.Host = c.host
	r.Header.Set("User-Agent", "ELB-HealthChecker/2.0")
	if c.grpc {
		r.Header.Set("Content-Type", "application/grpc")
		r.Header.Set("Te", "trailers")
		r.Body = io.NopCloser(strings.NewReader("\x00\x00\x00\x00\x00")) // one empty message
	}
	res, err := client.Do(r)
	if err != nil {
		return "", "", err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	code := c.code(res)
	if !matcherTakes(c.matcher, code) {
		return reasonMismatch, fmt.Sprintf("Health checks failed with these codes: [%d]", code), nil
	}
	return "", "", nil
}

// code is the status, or grpc-status of a gRPC check.
func (c *check) code(res *http.Response) int {
	if !c.grpc {
		return res.StatusCode
	}
	for _, h := range []http.Header{res.Header, res.Trailer} {
		if code, err := strconv.Atoi(h.Get("Grpc-Status")); err == nil {
			return code
		}
	}
	return -1
}

// matcherTakes reads "200,202" and "200-299".
func matcherTakes(matcher string, code int) bool {
	for part := range strings.SplitSeq(matcher, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		low, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		high := low
		if isRange {
			if high, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		if low <= code && code <= high {
			return true
		}
	}
	return false
}

// checkHost is the Host of a check: the target's address as the emulated network
// has it, with its port unless that is the protocol's own.
func checkHost(t *Target, address netip.AddrPort, p Protocol) string {
	if a, err := netip.ParseAddrPort(t.ID); err == nil {
		address = netip.AddrPortFrom(a.Addr(), address.Port())
	} else if a, err := netip.ParseAddr(t.ID); err == nil {
		address = netip.AddrPortFrom(a, address.Port())
	}
	if p == HTTP && address.Port() == 80 || p == HTTPS && address.Port() == 443 {
		return address.Addr().String()
	}
	return address.String()
}

func portOf(a netip.AddrPort, port int32) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr(), uint16(port))
}

// runningCheck is a check of a link.
type runningCheck struct {
	check
	stop context.CancelFunc
}

// recheck starts, replaces and ends checks so that exactly the targets of groups
// in use are checked.
func (s *Server) recheck(next *state) {
	wanted := map[*link]check{}
	now := s.options.Clock.Now()
	for _, g := range next.ordered {
		for _, m := range g.members {
			if m.State == StateHealthy || m.State == StateUnhealthy {
				m.link.health.force(m.State, now)
			}
			if m.State == "" && g.used && !g.Health.Disabled {
				t := m.Target
				t.Address = s.whereIs(&t)
				wanted[m.link] = newCheck(g, &t, next.u)
			}
		}
	}
	for l, running := range s.checks {
		if c, ok := wanted[l]; !ok || c != running.check {
			running.stop()
			delete(s.checks, l)
		}
	}
	for l, c := range wanted {
		if _, ok := s.checks[l]; ok {
			continue
		}
		ctx, stop := context.WithCancel(s.life)
		s.checks[l] = runningCheck{c, stop}
		if !s.known[l] {
			l.health.reset(now)
			s.known[l] = true
		}
		s.background.Go(func() { s.watch(ctx, l, c) })
	}
	for l := range s.known {
		if _, ok := wanted[l]; !ok {
			delete(s.known, l)
		}
	}
}

// settle waits for a duration of real time or the end of ctx.
func settle(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
