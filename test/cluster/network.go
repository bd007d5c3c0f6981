package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gatehouse.dev/test/cluster/kubelet"
)

// The addresses of the test network. All are from ranges for private or
// benchmark use, and exist only inside the namespace of the tests.
var (
	// Server is where the API server listens.
	Server = netip.MustParseAddrPort("198.19.0.1:6443")
	// Gateways are the ranges whose every address is local, so that a gateway
	// can be served on any of them, at any port.
	Gateways = []netip.Prefix{netip.MustParsePrefix("198.18.0.0/16"), netip.MustParsePrefix("fd00:198:18::/64")}
	// Pods are the ranges of the pods' bridge; the first address is the bridge's.
	Pods = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:10:244::/64")}
	// nodes hold the nodes' addresses: node n has the n-th.
	nodes = []netip.Prefix{netip.MustParsePrefix("198.19.1.0/24"), netip.MustParsePrefix("fd00:198:19:1::/64")}
)

// DualStack tells whether the kernel has IPv6, and so whether everything in the
// test network has addresses of both families.
func DualStack() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}

// families cuts a list that has IPv4 first and IPv6 second to what there is.
func families[T any](both []T) []T {
	if DualStack() {
		return both
	}
	return both[:1]
}

// network makes the links, addresses and routes that every test finds.
func network() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	if err := AddAddress(Server.Addr()); err != nil {
		return err
	}
	for _, p := range families(Gateways) {
		if err := local(lo, p); err != nil {
			return err
		}
	}
	return kubelet.AddBridge(families(Pods))
}

// AddAddress gives this machine an address, as of a node or of a host beside the
// cluster. It is an error of netlink when it cannot; an address that is already
// there is none.
func AddAddress(a netip.Addr) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	ip := &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}
	err = netlink.AddrAdd(lo, &netlink.Addr{IPNet: ip, Flags: unix.IFA_F_NODAD})
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("address %s: %w", a, err)
	}
	return nil
}

// local makes every address of a prefix this machine's own.
func local(lo netlink.Link, p netip.Prefix) error {
	route := &netlink.Route{
		LinkIndex: lo.Attrs().Index,
		Dst:       &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())},
		Type:      unix.RTN_LOCAL,
		Table:     unix.RT_TABLE_LOCAL,
		Scope:     netlink.SCOPE_HOST,
	}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("local route %s: %w", p, err)
	}
	if p.Addr().Is6() { // unlike IPv4, a local route alone lets nobody listen
		if err := os.WriteFile("/proc/sys/net/ipv6/ip_nonlocal_bind", []byte("1"), 0o644); err != nil {
			return fmt.Errorf("listening on %s: %w", p, err)
		}
	}
	return nil
}

// nodeAddresses are those of the n-th node, from 1.
func nodeAddresses(n int) []netip.Addr {
	var out []netip.Addr
	for _, p := range families(nodes) {
		a := p.Addr()
		for range n {
			a = a.Next()
		}
		out = append(out, a)
	}
	return out
}
