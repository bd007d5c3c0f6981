package kubelet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// bridge is the link that all pods hang on.
const bridge = "pods"

// AddBridge makes the pods' bridge. It has the first address of each prefix,
// which is the pods' gateway to everything of this machine.
func AddBridge(prefixes []netip.Prefix) error {
	off := false
	b := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridge}, MulticastSnooping: &off}
	if err := netlink.LinkAdd(b); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	for _, p := range prefixes {
		if err := netlink.AddrAdd(b, address(p.Addr().Next(), p.Bits())); err != nil {
			return fmt.Errorf("bridge address %s: %w", p, err)
		}
	}
	return netlink.LinkSetUp(b)
}

func address(a netip.Addr, bits int) *netlink.Addr {
	ip := &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(bits, a.BitLen())}
	return &netlink.Addr{IPNet: ip, Flags: unix.IFA_F_NODAD}
}

// pool gives out addresses in turn, so that one is not used again soon.
type pool struct {
	prefixes []netip.Prefix

	mu   sync.Mutex
	last int
	used map[int]bool
}

// first leaves out the network's own address and the bridge's.
const (
	first = 2
	limit = 1<<16 - 1
)

func newPool(prefixes []netip.Prefix) *pool {
	return &pool{prefixes: prefixes, last: first - 1, used: map[int]bool{}}
}

// take is a number and its address in each prefix.
func (p *pool) take() (int, []netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range limit {
		p.last++
		if p.last >= limit {
			p.last = first
		}
		if !p.used[p.last] {
			p.used[p.last] = true
			return p.last, p.addresses(p.last), nil
		}
	}
	return 0, nil, errors.New("no pod address is free")
}

func (p *pool) give(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, n)
}

func (p *pool) addresses(n int) []netip.Addr {
	var out []netip.Addr
	for _, prefix := range p.prefixes {
		b := prefix.Addr().AsSlice()
		b[len(b)-2], b[len(b)-1] = byte(n>>8), byte(n)
		a, _ := netip.AddrFromSlice(b)
		out = append(out, a)
	}
	return out
}

// sandbox is a pod's network.
type sandbox struct {
	pool      *pool
	number    int
	addresses []netip.Addr
	ns        *os.File // nil: the machine's own
}

// sandbox makes the network of a pod, or shares the node's.
func (k *Kubelet) sandbox(n Node, shared bool) (*sandbox, error) { //nolint:revive // hostNetwork is a boolean of the API
	if shared {
		return &sandbox{addresses: n.Addresses}, nil
	}
	number, addresses, err := k.pool.take()
	if err != nil {
		return nil, err
	}
	s := &sandbox{pool: k.pool, number: number, addresses: addresses}
	if s.ns, err = newNamespace(); err == nil {
		err = s.connect()
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("network of the pod: %w", err)
	}
	return s, nil
}

// close ends the network; its links go with the last process in it.
func (s *sandbox) close() {
	if s.pool == nil {
		return
	}
	s.pool.give(s.number)
	if s.ns != nil {
		_ = s.ns.Close() // it was never written to
	}
}

// newNamespace makes a network namespace. Namespaces belong to threads: the
// caller's thread leaves its own for a moment and comes back.
func newNamespace() (*os.File, error) {
	const mine = "/proc/thread-self/ns/net"
	runtime.LockOSThread()
	old, err := os.Open(mine)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer old.Close() //nolint:errcheck // it is a name, not a file
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	f, err := os.Open(mine)
	if back := unix.Setns(int(old.Fd()), unix.CLONE_NEWNET); back != nil {
		return nil, back // the thread stays locked, so that it serves nobody else
	}
	runtime.UnlockOSThread()
	return f, err
}

// connect puts a link with the pod's addresses into its namespace.
func (s *sandbox) connect() error {
	parent, err := netlink.LinkByName(bridge)
	if err != nil {
		return err
	}
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprintf("pod%d", s.number), MasterIndex: parent.Attrs().Index},
		PeerName:  "eth0", PeerNamespace: netlink.NsFd(int(s.ns.Fd())),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(veth); err != nil {
		return err
	}
	h, err := netlink.NewHandleAt(netns.NsHandle(s.ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	return s.configure(h)
}

func (s *sandbox) configure(h *netlink.Handle) error {
	for _, name := range []string{"lo", "eth0"} {
		link, err := h.LinkByName(name)
		if err != nil {
			return err
		}
		if err := h.LinkSetUp(link); err != nil {
			return err
		}
		if name == "lo" {
			continue
		}
		for i, a := range s.addresses {
			prefix := s.pool.prefixes[i]
			if err := h.AddrAdd(link, address(a, prefix.Bits())); err != nil {
				return err
			}
			if err := h.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: prefix.Addr().Next().AsSlice()}); err != nil {
				return err
			}
		}
	}
	return nil
}
