package dataplane

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"gatehouse.dev/lbmodel"
)

// dnsStub is a DNS server on loopback whose answers a test changes at any time.
type dnsStub struct {
	conn net.PacketConn
	mu   sync.Mutex
	hits int // questions for IPv4 addresses
	say  func(hit int) []dnsmessage.Resource
}

func newDNSStub(t *testing.T) *dnsStub {
	t.Helper()
	s := &dnsStub{conn: must(net.ListenPacket("udp", "127.0.0.1:0"))}
	var loop sync.WaitGroup
	loop.Go(s.serve)
	t.Cleanup(func() { s.conn.Close(); loop.Wait() })
	return s
}

func (s *dnsStub) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

// answer sets what is said to the hit-th question.
func (s *dnsStub) answer(say func(hit int) []dnsmessage.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = say
}

func (s *dnsStub) serve() {
	buffer := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buffer[:n]) != nil {
			continue
		}
		m.Response, m.Additionals = true, nil
		m.Answers = s.answers(m.Questions[0])
		if out, err := m.Pack(); err == nil {
			s.conn.WriteTo(out, from)
		}
	}
}

// answers leaves out records of a type that was not asked for.
func (s *dnsStub) answers(q dnsmessage.Question) []dnsmessage.Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.Type == dnsmessage.TypeA {
		s.hits++
	}
	var out []dnsmessage.Resource
	for _, r := range s.say(s.hits) {
		if r.Header.Type == q.Type || r.Header.Type == dnsmessage.TypeCNAME {
			out = append(out, r)
		}
	}
	return out
}

func addressRecord(name, address string) dnsmessage.Resource {
	a := netip.MustParseAddr(address)
	h := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: dnsmessage.ClassINET}
	if a.Is4() {
		h.Type = dnsmessage.TypeA
		return dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}}
	}
	h.Type = dnsmessage.TypeAAAA
	return dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}}
}

func alias(name, target string) dnsmessage.Resource {
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: dnsmessage.ClassINET, Type: dnsmessage.TypeCNAME},
		Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(target)}}
}

func fqdnGateway(name string, port int32, settings string) Gateway {
	pool := lbmodel.Pool{Name: "ext", Protocol: lbmodel.PoolHTTP1, Endpoints: []lbmodel.Endpoint{{FQDN: name, Port: port, Ready: true}}}
	gw := gatewayOf("edge", []lbmodel.Listener{httpListener(80, prefixRule("/", to("ext")))}, pool)
	gw.Model.Settings = []byte(settings)
	return gw
}

// TestC73Names refuses what a name resolves to when the connection is made, in
// every way to hide it. The backend stands for what must not be reached.
func TestC73Names(t *testing.T) {
	inner := echo(t, "inner")
	port := endpoint(inner.addr()).Port
	const name = "ext.nip.test."
	for _, c := range []struct {
		name, why string
		records   []dnsmessage.Resource
		rule      string
	}{
		{"loopback", "127.0.0.1.nip.test", []dnsmessage.Resource{addressRecord(name, "127.0.0.1")}, lbmodel.ForbiddenLoopback},
		{"all of loopback", "127/8 is one machine", []dnsmessage.Resource{addressRecord(name, "127.9.9.9")}, lbmodel.ForbiddenLoopback},
		{"IPv6 loopback", "::1", []dnsmessage.Resource{addressRecord(name, "::1")}, lbmodel.ForbiddenLoopback},
		{"unspecified", "Linux takes 0.0.0.0 for itself", []dnsmessage.Resource{addressRecord(name, "0.0.0.0")}, lbmodel.ForbiddenUnspecified},
		{"metadata", "credentials for everybody", []dnsmessage.Resource{addressRecord(name, "169.254.169.254")}, lbmodel.ForbiddenMetadata},
		{"mapped", "an IPv4 address in an IPv6 one", []dnsmessage.Resource{addressRecord(name, "::ffff:127.0.0.1")}, lbmodel.ForbiddenLoopback},
		{"NAT64", "another way to write it", []dnsmessage.Resource{addressRecord(name, "64:ff9b::7f00:1")}, lbmodel.ForbiddenLoopback},
		{"alias", "a chain ends somewhere", []dnsmessage.Resource{alias(name, "b.test."), alias("b.test.", "c.test."), addressRecord("c.test.", "127.0.0.1")}, lbmodel.ForbiddenLoopback},
		{"mixed", "one public, one private", []dnsmessage.Resource{addressRecord(name, "192.0.2.1"), addressRecord(name, "127.0.0.1")}, lbmodel.ForbiddenLoopback},
	} {
		t.Run(c.name, func(t *testing.T) {
			dns := newDNSStub(t)
			dns.answer(func(int) []dnsmessage.Resource { return c.records })
			causes := make(chan string, 10)
			p := newPlane(t, Config{Resolver: dns.resolver(), AccessLog: func(e Entry) { causes <- e.Cause }}, fqdnGateway(name, port, `{}`))
			res, body := answerOf(t, p.client(80, nil), get(t, "http://any.test/"))
			if res.StatusCode < 500 || strings.Contains(body, "127.") {
				t.Errorf("status %d %q, want a refusal: %s", res.StatusCode, body, c.why)
			}
			if cause := <-causes; !strings.Contains(cause, c.rule) || strings.Contains(cause, "127.") || strings.Contains(cause, "169.254") {
				t.Errorf("the refusal says %q; want the rule %q and no address", cause, c.rule)
			}
		})
	}
	if n := inner.requests.Load(); n != 0 {
		t.Errorf("the inner server was reached %d times", n)
	}
}

// TestC73Rebinding flips the answer with every question: a check that resolves
// apart from the dial would let every second connection through.
func TestC73Rebinding(t *testing.T) {
	inner := echo(t, "inner")
	dns := newDNSStub(t)
	const name = "flip.test."
	dns.answer(func(hit int) []dnsmessage.Resource {
		if hit%2 == 1 {
			return []dnsmessage.Resource{addressRecord(name, "127.0.0.1")}
		}
		return []dnsmessage.Resource{addressRecord(name, "169.254.169.254")}
	})
	p := newPlane(t, Config{Resolver: dns.resolver()}, fqdnGateway(name, endpoint(inner.addr()).Port, `{"allowLoopbackEndpoints":true}`))
	client := p.client(80, nil)
	codes := map[int]int{}
	for range 8 {
		res, _ := answerOf(t, client, get(t, "http://any.test/", "Connection: close"))
		codes[res.StatusCode]++
		p.closeBackends()
	}
	if codes[200] == 0 || codes[200]+codes[502] != 8 || int(inner.requests.Load()) != codes[200] {
		t.Errorf("answers %v, %d reached the backend; want it reached exactly when the allowed address was dialled", codes, inner.requests.Load())
	}
}

// closeBackends makes the next request connect anew.
func (p *plane) closeBackends() {
	p.links.mu.Lock()
	defer p.links.mu.Unlock()
	for _, l := range p.links.live {
		l.transport.CloseIdleConnections()
		l.avoid.Store(0)
	}
}

// TestC73Literals refuses names that need no resolver, and addresses that a model
// should never have held, when they are programmed.
func TestC73Literals(t *testing.T) {
	for _, name := range []string{"localhost", "LOCALHOST", "foo.localhost", "127.0.0.1", "2130706433", "[::1]", "0.0.0.0", "169.254.169.254",
		"metadata.google.internal", "x.vault.svc", "x.vault.svc.cluster.local."} {
		p := newPlane(t, Config{})
		err := p.Program(t.Context(), []Gateway{fqdnGateway(name, 80, `{}`)})
		if lbmodel.CodeOf(err) != lbmodel.CodeInvalid {
			t.Errorf("%s: Program: %v, want Invalid", name, err)
		}
		if res, _ := answerOf(t, p.client(80, nil), get(t, "http://any.test/")); res.StatusCode != 503 {
			t.Errorf("%s: status %d, want 503: nobody is left to send to", name, res.StatusCode)
		}
	}
	gw := simple(echo(t, "a"))
	gw.Model.Settings = nil
	p := newPlane(t, Config{})
	if err := p.Program(t.Context(), []Gateway{gw}); lbmodel.CodeOf(err) != lbmodel.CodeInvalid {
		t.Errorf("a loopback endpoint without allowLoopbackEndpoints: %v, want Invalid", err)
	}
}
