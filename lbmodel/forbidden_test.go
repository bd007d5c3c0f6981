package lbmodel

import (
	"net/netip"
	"strings"
	"testing"
)

func TestC73ForbiddenEndpoint(t *testing.T) {
	const why = "an endpoint address comes from whoever may write an EndpointSlice or a DNS record, and the gateway's network is not theirs"
	for _, c := range []struct{ addr, want string }{
		{"10.0.0.1", ""},
		{"203.0.113.9", ""},
		{"2001:db8::1", ""},
		{"fd12:3456::1", ""},
		{"127.0.0.1", ForbiddenLoopback},
		{"127.255.0.9", ForbiddenLoopback},
		{"::1", ForbiddenLoopback},
		{"::ffff:127.0.0.1", ForbiddenLoopback},
		{"169.254.169.254", ForbiddenMetadata},
		{"::ffff:169.254.169.254", ForbiddenMetadata},
		{"64:ff9b::169.254.169.254", ForbiddenMetadata},
		{"::169.254.169.254", ForbiddenMetadata},
		{"2002:a9fe:a9fe::1", ForbiddenMetadata},
		{"169.254.170.2", ForbiddenMetadata},
		{"100.100.100.200", ForbiddenMetadata},
		{"168.63.129.16", ForbiddenMetadata},
		{"fd00:ec2::254", ForbiddenMetadata},
		{"fd20:ce::254", ForbiddenMetadata},
		{"169.254.1.1", ForbiddenLinkLocal},
		{"fe80::1", ForbiddenLinkLocal},
		{"fe80::1%eth0", ForbiddenLinkLocal},
		{"0.0.0.0", ForbiddenUnspecified},
		{"0.1.2.3", ForbiddenUnspecified},
		{"::", ForbiddenUnspecified},
		{"224.0.0.1", ForbiddenMulticast},
		{"ff02::1", ForbiddenMulticast},
		{"255.255.255.255", ForbiddenBroadcast},
		{"2002:7f00:1::", ForbiddenLoopback},
	} {
		t.Run(c.addr, func(t *testing.T) {
			rule, bad := ForbiddenEndpoint(netip.MustParseAddr(c.addr))
			if rule != c.want || bad != (c.want != "") {
				t.Errorf("ForbiddenEndpoint = %q, %v, want %q: %s", rule, bad, c.want, why)
			}
		})
	}
	if rule, bad := ForbiddenEndpoint(netip.Addr{}); !bad || rule != ForbiddenInvalid {
		t.Errorf("the zero address gives %q, %v", rule, bad)
	}
}

func TestC73ForbiddenName(t *testing.T) {
	const why = "a name may not lead to the gateway's own machine, to a cloud's credentials or around a ReferenceGrant"
	for _, c := range []struct{ name, want string }{
		{"api.example.com", ""},
		{"api.example.com.", ""},
		{"_sip.example.com", ""},
		{"xn--bcher-kva.example", ""},
		{"svc.example.com", ""},
		{"127.0.0.1.nip.test", ""},
		{"localhost", ForbiddenNameLocalhost},
		{"LOCALHOST", ForbiddenNameLocalhost},
		{"localhost.", ForbiddenNameLocalhost},
		{"foo.localhost", ForbiddenNameLocalhost},
		{"localhost.localdomain", ForbiddenNameLocalhost},
		{"127.0.0.1", ForbiddenNameLiteral},
		{"127.1", ForbiddenNameLiteral},
		{"0x7f.1", ForbiddenNameLiteral},
		{"0x7f000001", ForbiddenNameLiteral},
		{"0X7F000001", ForbiddenNameLiteral},
		{"2130706433", ForbiddenNameLiteral},
		{"0177.0.0.01", ForbiddenNameLiteral},
		{"169.254.169.254.", ForbiddenNameLiteral},
		{"[::1]", ForbiddenNameLiteral},
		{"::1", ForbiddenNameLiteral},
		{"0.0.0.0", ForbiddenNameLiteral},
		{"metadata.google.internal", ForbiddenNameMetadata},
		{"Metadata.Google.Internal.", ForbiddenNameMetadata},
		{"x.vault.svc", ForbiddenNameCluster},
		{"x.vault.svc.cluster.local.", ForbiddenNameCluster},
		{"ip6-localhost", ForbiddenNameSingle},
		{"db", ForbiddenNameSingle},
		{"", ForbiddenNameInvalid},
		{".", ForbiddenNameInvalid},
		{"a..b", ForbiddenNameInvalid},
		{"a.b..", ForbiddenNameInvalid},
		{"*.a.test", ForbiddenNameInvalid},
		{"a b.test", ForbiddenNameInvalid},
		{"a/b.test", ForbiddenNameInvalid},
		{"-a.test", ForbiddenNameInvalid},
		{"\u212Aelvin.test", ForbiddenNameInvalid},
		{strings.Repeat("x", 64) + ".test", ForbiddenNameInvalid},
		{strings.Repeat("x.", 127) + "test", ForbiddenNameInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			rule, bad := ForbiddenName(c.name)
			if rule != c.want || bad != (c.want != "") {
				t.Errorf("ForbiddenName = %q, %v, want %q: %s", rule, bad, c.want, why)
			}
		})
	}
}
