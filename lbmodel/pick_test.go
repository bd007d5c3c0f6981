package lbmodel

import "testing"

func isolated() []Listener {
	l := func(name string, port int32, protocol Protocol, hostname string) Listener {
		return Listener{Name: name, Port: port, Protocol: protocol, Hostname: hostname,
			Rules: []Rule{{Name: name, Hostname: hostname}}}
	}
	return []Listener{
		l("any", 443, ProtocolHTTPS, ""), l("wide", 443, ProtocolHTTPS, "*.test"),
		l("deep", 443, ProtocolTLS, "*.a.test"), l("one", 443, ProtocolHTTPS, "x.a.test"),
		l("named", 80, ProtocolHTTP, "b.test"),
		l("dns", 53, ProtocolUDP, ""), l("dnst", 53, ProtocolTCP, ""),
	}
}

func TestPickListener(t *testing.T) {
	const why = "only the listener with the most specific hostname is asked (listener isolation)"
	listeners := isolated()
	g, err := NewGatewayMatcher(listeners)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, host string
		port       int32
		want       string
	}{
		{"exact", "x.a.test", 443, "one"},
		{"port and case", "X.A.TEST:443", 443, "one"},
		{"longer wildcard", "y.x.a.test", 443, "deep"},
		{"shorter wildcard", "a.test", 443, "wide"},
		{"any", "elsewhere.example", 443, "any"},
		{"no name", "", 443, "any"},
		{"literal", "[2001:db8::1]", 443, "any"},
		{"no listener of that name", "c.test", 80, ""},
		{"no listener on that port", "b.test", 81, ""},
		{"UDP and TCP have no names", "b.test", 53, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if i := PickListener(listeners, c.port, c.host); i >= 0 {
				got = listeners[i].Name
			}
			if got != c.want {
				t.Errorf("PickListener = %q, want %q: %s", got, c.want, why)
			}
			r := Request{Method: "GET", Host: c.host, Path: "/", Port: c.port}
			fast := ""
			if a := g.Match(&r); a.Listener != nil {
				fast = a.Listener.Name
			}
			if fast != c.want {
				t.Errorf("GatewayMatcher = %q, want %q: %s", fast, c.want, why)
			}
		})
	}
}

func TestMisdirected(t *testing.T) {
	const why = "a connection may carry requests only for hosts of the listener that its server name chose (Listener.hostname)"
	g, err := NewGatewayMatcher(isolated()[1:])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, sni, host string
		want            bool
	}{
		{"same name", "x.a.test", "x.a.test", false},
		{"same listener", "b.test", "c.test:443", false},
		{"a more specific listener", "b.test", "x.a.test", true},
		{"a less specific listener", "x.a.test", "b.test", true},
		{"no listener", "x.a.test", "elsewhere.example", false},
		{"no server name", "", "x.a.test", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := g.Misdirected(&Request{Port: 443, SNI: c.sni, Host: c.host}); got != c.want {
				t.Errorf("misdirected = %v, want %v: %s", got, c.want, why)
			}
		})
	}
}
