package lbmodel

import (
	"net/netip"
	"slices"
	"strings"
)

// The rules under which an endpoint is refused. A refusal names the rule, never
// the address that a name resolved to.
const (
	ForbiddenLoopback    = "loopback" // a class of its own: a gateway on the backends' machine may allow it
	ForbiddenMetadata    = "cloud metadata"
	ForbiddenLinkLocal   = "link-local"
	ForbiddenUnspecified = "unspecified"
	ForbiddenMulticast   = "multicast"
	ForbiddenBroadcast   = "broadcast"
	ForbiddenInvalid     = "not an address"

	ForbiddenNameLocalhost = "localhost"
	ForbiddenNameMetadata  = "cloud metadata name"
	ForbiddenNameCluster   = "cluster-internal name"
	ForbiddenNameLiteral   = "address in place of a name"
	ForbiddenNameSingle    = "name of a single label"
	ForbiddenNameInvalid   = "not a DNS name"
)

// metadataPrefixes are where clouds hand credentials to whoever asks from the
// machine. Those in 169.254.0.0/16 are link-local anyway and listed for the
// better reason.
var metadataPrefixes = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"), // nearly all
	netip.MustParsePrefix("169.254.170.2/32"),   // AWS container credentials
	netip.MustParsePrefix("169.254.170.23/32"),  // AWS EKS Pod Identity
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure's wire server
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud, classic
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS
	netip.MustParsePrefix("fd20:ce::/32"),       // Google Cloud
	netip.MustParsePrefix("fd00:42::42/128"),    // Scaleway
}

// The IPv6 prefixes that hold an IPv4 address.
var (
	nat64Prefix      = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixToFourPrefix  = netip.MustParsePrefix("2002::/16")    // RFC 3056
	compatiblePrefix = netip.MustParsePrefix("::/96")        // RFC 4291 §2.5.5.1
	broadcastAddress = netip.MustParseAddr("255.255.255.255")
)

// ForbiddenEndpoint says whether an address must never be programmed as an
// endpoint, and under which rule. An IPv4 address inside an IPv6 one (mapped,
// compatible, NAT64, 6to4) is judged as itself. It is asked where endpoints are
// translated, and again before a connection is made, since names can resolve to
// anything at any time.
func ForbiddenEndpoint(addr netip.Addr) (rule string, bad bool) {
	addr = embeddedIPv4(addr.WithZone("").Unmap())
	switch {
	case !addr.IsValid():
		return ForbiddenInvalid, true
	case isMetadata(addr):
		return ForbiddenMetadata, true
	case addr.IsLoopback():
		return ForbiddenLoopback, true
	case addr.IsUnspecified() || addr.Is4() && addr.As4()[0] == 0:
		return ForbiddenUnspecified, true // Linux takes 0.0.0.0 for itself; RFC 1122 §3.2.1.3 keeps the rest of 0/8
	case addr.IsLinkLocalUnicast():
		return ForbiddenLinkLocal, true
	case addr.IsMulticast():
		return ForbiddenMulticast, true
	case addr == broadcastAddress:
		return ForbiddenBroadcast, true
	default:
		return "", false
	}
}

func isMetadata(addr netip.Addr) bool {
	return slices.ContainsFunc(metadataPrefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// embeddedIPv4 is the IPv4 address that a network would translate addr to, or
// addr itself. "::" and "::1" are no embedded addresses.
func embeddedIPv4(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case nat64Prefix.Contains(addr):
		return last
	case sixToFourPrefix.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case compatiblePrefix.Contains(addr) && b[12] != 0:
		return last
	default:
		return addr
	}
}

// ForbiddenName says whether a DNS name must never be an endpoint, and under
// which rule. It is the first of two checks only: what the name resolves to is
// for ForbiddenEndpoint, at every connection.
func ForbiddenName(name string) (rule string, bad bool) {
	name = lowerASCII(strings.TrimSuffix(name, "."))
	labels := strings.Split(name, ".")
	switch {
	case looksLikeAddress(name, labels[len(labels)-1]):
		return ForbiddenNameLiteral, true
	case len(name) > maxHostname || !allDNSLabels(labels):
		return ForbiddenNameInvalid, true
	case isNameOrBelow(name, "localhost", "localdomain"):
		return ForbiddenNameLocalhost, true
	case isNameOrBelow(name, "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "metadata.tencentyun.com"):
		return ForbiddenNameMetadata, true
	case isNameOrBelow(name, "svc", "cluster.local"):
		return ForbiddenNameCluster, true
	case len(labels) == 1:
		return ForbiddenNameSingle, true
	default:
		return "", false
	}
}

// looksLikeAddress follows resolvers, which take a name for an IPv4 address when
// its last label is a number in any base ("127.1", "0x7f.1", "2130706433").
func looksLikeAddress(name, last string) bool {
	if strings.ContainsAny(name, ":[]") {
		return true
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func allDNSLabels(labels []string) bool {
	return !slices.ContainsFunc(labels, func(label string) bool {
		return label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != ""
	})
}

func isNameOrBelow(name string, zones ...string) bool {
	return slices.ContainsFunc(zones, func(zone string) bool {
		return name == zone || strings.HasSuffix(name, "."+zone)
	})
}
