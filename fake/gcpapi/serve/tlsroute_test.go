package serve

import (
	"testing"
	"time"
)

// Why: names, wildcards, protocols and order of TlsRoute rules.
func TestPickTLS(t *testing.T) {
	to := func(name string) TLSAction {
		return TLSAction{Destinations: []TLSDestination{{ServiceName: "projects/p/global/backendServices/" + name}}}
	}
	routes := []TLSRoute{{Rules: []TLSRule{
		{Matches: []TLSMatch{{SNIHost: []string{"*.example.com"}}}, Action: to("wild")},
		{Matches: []TLSMatch{{SNIHost: []string{"a.example.com"}}}, Action: to("exact")},
		{Matches: []TLSMatch{{SNIHost: []string{"b.org"}, ALPN: []string{"h2"}}}, Action: to("h2")},
		{Matches: []TLSMatch{{SNIHost: []string{"*.org", "b.org"}}}, Action: to("org")},
	}}}
	for _, c := range []struct {
		name, sni string
		alpn      []string
		s         Switches
		want      string
	}{
		{name: "first", sni: "a.example.com", want: "wild"},
		{name: "specific", sni: "a.example.com", s: Switches{RouteOrder: Specific}, want: "exact"},
		{name: "many labels", sni: "x.y.example.com", want: "wild"},
		{name: "not the parent", sni: "example.com", want: ""},
		{name: "letter case", sni: "A.ORG", want: "org"},
		{name: "protocol", sni: "b.org", alpn: []string{"http/1.1", "h2"}, want: "h2"},
		{name: "no protocol", sni: "b.org", want: "org"},
		{name: "no name", sni: "", want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if a := PickTLS(routes, c.sni, c.alpn, c.s); a != nil {
				got = a.Shares()[0].Service[len("global/backendServices/"):]
			}
			if got != c.want {
				t.Errorf("%q goes to %q, want %q", c.sni, got, c.want)
			}
		})
	}
	for text, want := range map[string]time.Duration{"": time.Hour, "0s": 0, "90s": 90 * time.Second} {
		if got := (&TLSAction{IdleTimeout: text}).Idle(); got != want {
			t.Errorf("idle %q is %s, want %s", text, got, want)
		}
	}
}
