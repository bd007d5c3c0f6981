package cloud

import (
	"fmt"
	"net/netip"
)

// allocate gives an address object its value. It is known to the cloud at once and
// shown when the delay has passed.
func (c *Cloud) allocate(o *object, body *Address) error {
	o.ReadyAt = c.now().Add(c.options.AddressDelay)
	used := c.state.used[o.Location]
	if body.Value != "" {
		return c.allocateStatic(o, body, used)
	}
	prefixes, err := parsePrefixes(body.Prefixes)
	if err != nil {
		return refuse(InvalidArgument, "%w", err)
	}
	for _, p := range prefixes {
		if ip, ok := firstFree(p, used); ok {
			o.Address = ip
			return nil
		}
	}
	return refuse(LimitExceeded, "no address is free in %v: %d are used in %s", body.Prefixes, len(used), o.Location)
}

func (c *Cloud) allocateStatic(o *object, body *Address, used map[netip.Addr]*object) error {
	ip, err := netip.ParseAddr(body.Value)
	if err != nil {
		return refuse(InvalidArgument, "%w", err)
	}
	if holder := used[ip]; holder != nil {
		return refuse(SlotTaken, "address %s is held by Address %s", ip, holder.Name)
	}
	o.Address = ip
	return nil
}

// firstFree is the lowest address of a prefix that is not used. The first and the
// last of a prefix (network and broadcast) are not given out, unless it has no
// other.
func firstFree(p netip.Prefix, used map[netip.Addr]*object) (netip.Addr, bool) {
	ip := p.Masked().Addr()
	if p.Addr().BitLen()-p.Bits() > 1 {
		ip = ip.Next()
	}
	for ; ip.IsValid() && p.Contains(ip); ip = ip.Next() {
		last := p.Addr().BitLen()-p.Bits() > 1 && !p.Contains(ip.Next())
		if used[ip] == nil && !last {
			return ip, true
		}
	}
	return netip.Addr{}, false
}

func parsePrefixes(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for i, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("prefixes[%d] is %q, want a form such as 127.71.0.0/16", i, text)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("prefixes is empty")
	}
	return out, nil
}
