package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// connectError is a failure before anything was sent: another endpoint may be
// tried without risk.
type connectError struct{ err error }

func (e *connectError) Error() string { return "connect: " + e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

// secured is a connection whose TLS session net/http can look at.
type secured interface {
	net.Conn
	ConnectionState() tls.ConnectionState
}

// dialer connects to one endpoint. A name is resolved anew for every connection
// and the address that was checked is the one that is dialled: an answer that
// changes between check and use changes nothing (CVE-2020-8562).
type dialer struct {
	backend  string // how people name the endpoints
	endpoint lbmodel.Endpoint
	address  netip.Addr // zero when the endpoint has a name
	protocol lbmodel.PoolProtocol
	tls      *backendTLS // nil is plain text
	resolver Resolver
	limits   *Limits
	loopback bool // addresses of this machine are allowed
}

// target is how health and the access log name the endpoint.
func (d *dialer) target() lbmodel.Target {
	host := d.endpoint.FQDN
	if host == "" {
		host = d.address.String()
	}
	return lbmodel.Target(net.JoinHostPort(host, strconv.Itoa(int(d.endpoint.Port))))
}

// aim checks what the model says before anything is dialled.
func (d *dialer) aim() error {
	if d.endpoint.FQDN != "" {
		return d.allowedName(d.endpoint.FQDN)
	}
	address, err := netip.ParseAddr(d.endpoint.Address)
	if err != nil {
		return fmt.Errorf("endpoint address: %w", err)
	}
	d.address = address.Unmap()
	return d.allowed(d.address)
}

// stream opens a TCP connection, and a TLS session on it when the pool has one.
func (d *dialer) stream(ctx context.Context) (net.Conn, error) {
	if d.tls == nil {
		return d.plain(ctx)
	}
	return d.secure(ctx)
}

// plain opens a TCP connection for a pool without TLS. It refuses one with TLS:
// no caller may send plain text there by mistake.
func (d *dialer) plain(ctx context.Context) (net.Conn, error) {
	if d.tls != nil {
		return nil, &connectError{errors.New("the pool has TLS; plain text is refused")}
	}
	ctx, cancel := context.WithTimeout(ctx, d.limits.ConnectTime)
	defer cancel()
	return d.connect(ctx, "tcp")
}

func (d *dialer) secure(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limits.ConnectTime)
	defer cancel()
	raw, err := d.connect(ctx, "tcp")
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, d.tls.config)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, &connectError{fmt.Errorf("TLS handshake: %w", err)}
	}
	out, err := agreed(conn, d.protocol)
	if err != nil {
		_ = conn.Close()
		return nil, &connectError{err}
	}
	return out, nil
}

// connect tries the endpoint's addresses in turn.
func (d *dialer) connect(ctx context.Context, network string) (net.Conn, error) {
	addresses, err := d.addresses(ctx)
	if err != nil {
		return nil, &connectError{err}
	}
	var failed error
	for i, a := range addresses {
		conn, err := d.one(ctx, network, a, len(addresses)-i)
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, &connectError{failed}
}

// one gives each address its share of the time that is left.
func (d *dialer) one(ctx context.Context, network string, a netip.Addr, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	var dial net.Dialer
	return dial.DialContext(ctx, network, netip.AddrPortFrom(a, uint16(d.endpoint.Port)).String())
}

// addresses are what may be dialled now. One forbidden address among several
// refuses the name: an honest name has none, and a rebinding one mixes them.
func (d *dialer) addresses(ctx context.Context) ([]netip.Addr, error) {
	if d.address.IsValid() {
		return []netip.Addr{d.address}, d.allowed(d.address)
	}
	// The final dot keeps this machine's search domains out of it: inside a cluster
	// they would make cluster names of public ones.
	found, err := d.resolver.LookupNetIP(ctx, "ip", strings.TrimSuffix(d.endpoint.FQDN, ".")+".")
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", d.endpoint.FQDN, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("resolve %s: no address", d.endpoint.FQDN)
	}
	for i := range found {
		found[i] = found[i].Unmap()
		if err := d.allowed(found[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", d.endpoint.FQDN, err)
		}
	}
	return found, nil
}
