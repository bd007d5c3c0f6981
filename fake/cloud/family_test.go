package cloud

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// TestFamilies gives addresses of the family that is asked for, out of a pool of
// both, and offers IPv6 only where there is a prefix of it.
func TestFamilies(t *testing.T) {
	const both = `{"addressPool":["198.18.0.0/24","2001:db8::/64"]}`
	ip := func(family lbmodel.IPFamily, value string) lbmodel.AddressRequest {
		return lbmodel.AddressRequest{Type: lbmodel.AddressIP, Family: family, Value: value}
	}
	cases := []struct {
		name, why, settings string
		requests            []lbmodel.AddressRequest
		want                string
		finding             string
	}{
		{"any", "the first prefix has room", both, nil, "198.18.0.1", ""},
		{"IPv6", "", both, []lbmodel.AddressRequest{ip(lbmodel.IPv6, "")}, "2001:db8::1", ""},
		{"dual stack", "one of each", both, []lbmodel.AddressRequest{ip(lbmodel.IPv6, ""), ip(lbmodel.IPv4, "")}, "198.18.0.1 2001:db8::1", ""},
		{"a given one of two", "", both, []lbmodel.AddressRequest{ip(lbmodel.IPv4, "198.18.0.77"), ip(lbmodel.IPv6, "")}, "198.18.0.77 2001:db8::1", ""},
		{"IPv6 without a prefix", "told, and not met by an IPv4 address", `{}`, []lbmodel.AddressRequest{ip(lbmodel.IPv6, "")}, "", "no prefix of fake.addressPool is of family IPv6"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := newCloud(t, nil)
			gw := lbmodel.Gateway{Owner: lbmodel.Owner{Cluster: "c", Kind: "Service", Namespace: "apps", Name: "s"},
				Addresses: tc.requests, Settings: json.RawMessage(tc.settings)}
			p := NewProvider(c, nil)
			own, shared, findings := p.Compile(gw)
			createAll(t, p, gw.Owner, own, shared)
			var got []string
			for _, s := range c.Serving() {
				for _, a := range s.Addresses {
					got = append(got, a.String())
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != tc.want {
				t.Errorf("addresses are %v, want %s: %s", got, tc.want, tc.why)
			}
			told := slices.ContainsFunc(findings, func(f lbmodel.Finding) bool { return strings.Contains(f.Detail, tc.finding) })
			if told != (tc.finding != "") {
				t.Errorf("findings are %+v, want %q", findings, tc.finding)
			}
			features, _ := p.Offers(gw.Settings)
			if offered := features.Offers(lbmodel.FeatureIPv6); offered != (tc.settings == both) {
				t.Errorf("IPv6 is offered: %v", offered)
			}
		})
	}
}

// TestSourceRangesAreServed: what a listener is limited to reaches whoever serves
// it, and changes in place.
func TestSourceRangesAreServed(t *testing.T) {
	c := newCloud(t, nil)
	loop, keys := newLoop(t, c, nil), newKeyring()
	gw := shop(t, keys)
	gw.Identities, gw.Trust, gw.Pools = nil, nil, nil
	gw.Listeners = []lbmodel.Listener{httpListener(80)}
	for _, ranges := range [][]string{{"10.0.0.0/8"}, {"10.0.0.0/8", "2001:db8::/32"}, nil} {
		gw.Listeners[0].SourceRanges = ranges
		before := len(c.Dump())
		loop.apply(gw)
		if got := c.Serving()[0].Gateway.Listeners[0].SourceRanges; !slices.Equal(got, ranges) {
			t.Errorf("served are %v, want %v", got, ranges)
		}
		if before > 0 && len(c.Dump()) != before {
			t.Errorf("%d objects became %d", before, len(c.Dump()))
		}
	}
}
