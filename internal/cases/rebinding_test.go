package cases

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/lbmodel"
)

// nameserver is a DNS server on loopback that knows one name, whatever it is asked
// for, and changes its mind.
type nameserver struct {
	conn net.PacketConn

	mu        sync.Mutex
	addresses []netip.Addr
}

func (h *harness) nameserver() *nameserver {
	h.Helper()
	conn, err := net.ListenPacket("udp", h.site.address(100)+":0")
	if err != nil {
		h.Fatal(err)
	}
	s := &nameserver{conn: conn}
	var loop sync.WaitGroup
	loop.Go(s.serve)
	h.Cleanup(func() { conn.Close(); loop.Wait() })
	return s
}

func (s *nameserver) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

// say sets the answer.
func (s *nameserver) say(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = nil
	for _, a := range addresses {
		s.addresses = append(s.addresses, netip.MustParseAddr(a))
	}
}

func (s *nameserver) serve() {
	buffer := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buffer[:n]) != nil || len(m.Questions) == 0 {
			continue
		}
		m.Response, m.Additionals = true, nil
		m.Answers = s.answers(m.Questions[0])
		if out, err := m.Pack(); err == nil {
			s.conn.WriteTo(out, from)
		}
	}
}

func (s *nameserver) answers(q dnsmessage.Question) (out []dnsmessage.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.addresses {
		if q.Type == dnsmessage.TypeA {
			header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
			out = append(out, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
		}
	}
	return out
}

func xbackendYAML(name, hostname string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: %s, namespace: apps}
spec: {type: ExternalHostname, port: {number: 8080}, externalHostname: {hostname: %q}}
---
`, name, hostname) + routeYAML(name, fmt.Sprintf(`
  hostnames: [%s.test]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: %[1]s}]}]`, name))
}

// TestC73Rebinding lets a name that was good lead elsewhere. A check of the name,
// or of an answer that is looked up again to connect, is passed by whoever owns the
// zone; the address that is dialled is the one that must be allowed. (Loopback is
// allowed here, since the backends are on it; the metadata service never is.)
func TestC73Rebinding(t *testing.T) {
	h := begin(t, xbackendYAML("ext", "ext.shop.test"))
	server := new(http.Server)
	server.SetKeepAlivesEnabled(false) // each request is a connection, and so an answer of DNS
	inner := h.serve("inner", h.listen(), server)
	dns := h.nameserver()
	causes := make(chan string, 16)
	h.local.Resolver, h.local.AccessLog = dns.resolver(), func(e dataplane.Entry) { causes <- e.Cause }
	dns.say(inner.host())
	h.apply()
	for _, c := range []struct {
		name    string
		says    []string
		refused string
	}{
		{"the honest answer", []string{inner.host()}, ""},
		{"the metadata service", []string{"169.254.169.254"}, lbmodel.ForbiddenMetadata},
		{"honest again", []string{inner.host()}, ""},
		{"one of both", []string{inner.host(), "169.254.169.254"}, lbmodel.ForbiddenMetadata},
		{"nobody's address", []string{"0.0.0.0"}, lbmodel.ForbiddenUnspecified},
	} {
		dns.say(c.says...)
		got := h.get("http://ext.test/")
		cause := <-causes
		switch {
		case c.refused == "" && got.String() != "inner":
			t.Errorf("%s: answered %s (%s), want inner", c.name, got, cause)
		case c.refused != "" && (got.Status < 500 || !strings.Contains(cause, c.refused)):
			t.Errorf("%s: answered %s (%s), want a refusal for %s", c.name, got, cause, c.refused)
		case strings.Contains(cause, "169.254"):
			t.Errorf("%s: the refusal names the address: %s", c.name, cause)
		}
	}
	if n := inner.requests.Load(); n != 2 {
		t.Errorf("the backend was asked %d times, want 2", n)
	}
}

// TestC73XBackend refuses names that cannot be meant well before anything is
// looked up. What the API's own schema refuses never gets that far.
func TestC73XBackend(t *testing.T) {
	names := []string{"localhost", "foo.localhost", "metadata.google.internal", "x.vault.svc", "127.0.0.1", "0.0.0.0", "169.254.169.254", "2130706433"}
	h := begin(t)
	h.local.Resolver = h.nameserver().resolver()
	for i, name := range names {
		h.put(xbackendYAML(fmt.Sprint("n", i), name))
	}
	h.apply()
	for i, name := range names {
		backend := fmt.Sprint("n", i)
		h.expect("HTTPRoute", backend, "edge", "ResolvedRefs", "False/InvalidBackend")
		h.expect("XBackend", backend, "edge", "Accepted", "False/Invalid")
		if got := h.get("http://" + backend + ".test/"); got.String() != "500" {
			t.Errorf("%s is answered by %s, want 500", name, got)
		}
	}
}

// TestC73Schema finds names that are no names refused by the XBackend's schema.
func TestC73Schema(t *testing.T) {
	h := begin(t)
	h.refused = "hostname"
	names := []string{"[::1]", "LOCALHOST", "x.vault.svc.cluster.local", "x.vault.svc.cluster.local."}
	for i, name := range names {
		h.put(xbackendYAML(fmt.Sprint("n", i), name))
	}
	h.apply()
	if n := len(h.stack.Problems); n != len(names) {
		t.Errorf("%d documents are refused, want %d: %v", n, len(names), h.stack.Problems)
	}
	for i := range names {
		h.expect("HTTPRoute", fmt.Sprint("n", i), "edge", "ResolvedRefs", "False/BackendNotFound")
		answers{fmt.Sprintf("http://n%d.test/", i): "500"}.check(h)
	}
}
