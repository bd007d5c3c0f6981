package serve

import (
	"encoding/binary"
	"net/netip"
)

// proxySignature begins a header of the PROXY protocol, version 2.
const proxySignature = "\r\n\r\n\x00\r\nQUIT\n"

// proxyLocal is the header of a health check: it tells of no client.
func proxyLocal() []byte {
	return append([]byte(proxySignature), 0x20, 0x00, 0, 0)
}

// proxyHeader tells a target who the client is and where it connected to. stream
// is 1 for TCP, 2 for UDP.
func proxyHeader(client, server netip.AddrPort, stream byte) []byte {
	from, to := client.Addr().Unmap(), server.Addr().Unmap()
	family := byte(0x10)
	if from.Is6() || to.Is6() {
		family = 0x20
		from, to = as16(from), as16(to)
	}
	addresses := append(from.AsSlice(), to.AsSlice()...)
	addresses = binary.BigEndian.AppendUint16(addresses, client.Port())
	addresses = binary.BigEndian.AppendUint16(addresses, server.Port())
	out := append([]byte(proxySignature), 0x21, family|stream)
	out = binary.BigEndian.AppendUint16(out, uint16(len(addresses)))
	return append(out, addresses...)
}

func as16(a netip.Addr) netip.Addr { return netip.AddrFrom16(a.As16()) }
