package live

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// timeToLive is AWS's for the names of load balancers, in seconds.
const timeToLive = 60

// Resolver is the DNS of the account: it finds the addresses that the listeners of a
// load balancer are bound to by the load balancer's DNS name, and nothing else. A
// client that is to come to the listeners' own ports needs awsapi.Config.Bind to bind
// those.
func (l *Live) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go l.converse(server) // until the resolver closes its end
		return client, nil
	}}
}

// converse answers questions as DNS does over TCP (RFC 1035, 4.2.2).
func (l *Live) converse(with net.Conn) {
	defer func() { _ = with.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(with, size[:]); err != nil {
			return
		}
		text := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(with, text); err != nil {
			return
		}
		var message dnsmessage.Message
		if err := message.Unpack(text); err != nil || len(message.Questions) != 1 {
			return
		}
		out, err := l.reply(message).Pack()
		if err != nil {
			return
		}
		if _, err := with.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
			return
		}
	}
}

// reply has the addresses of the family that is asked for.
func (l *Live) reply(to dnsmessage.Message) *dnsmessage.Message {
	asked := to.Questions[0]
	out := &dnsmessage.Message{Questions: to.Questions}
	out.ID, out.Response, out.Authoritative, out.RecursionDesired, out.RecursionAvailable = to.ID, true, true, to.RecursionDesired, true
	arn, ok := l.Named(strings.ToLower(strings.TrimSuffix(asked.Name.String(), ".")))
	if !ok {
		out.RCode = dnsmessage.RCodeNameError
		return out
	}
	for _, a := range l.addresses(arn) {
		var body dnsmessage.ResourceBody
		switch {
		case a.Is4() && asked.Type == dnsmessage.TypeA:
			body = &dnsmessage.AResource{A: a.As4()}
		case a.Is6() && asked.Type == dnsmessage.TypeAAAA:
			body = &dnsmessage.AAAAResource{AAAA: a.As16()}
		default:
			continue
		}
		out.Answers = append(out.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: asked.Name, Class: dnsmessage.ClassINET, TTL: timeToLive}, Body: body})
	}
	return out
}

// addresses are those that a load balancer's listeners are bound to.
func (l *Live) addresses(arn string) []netip.Addr {
	var out []netip.Addr
	for _, b := range l.traffic.Bound() {
		if b.LoadBalancer == arn && !slices.Contains(out, b.Addr.Addr()) {
			out = append(out, b.Addr.Addr())
		}
	}
	return out
}
