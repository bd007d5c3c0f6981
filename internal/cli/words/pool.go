package words

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"gatehouse.dev/lbmodel"
)

// TLS is the protection of the hop to a pool.
func TLS(t *lbmodel.BackendTLS) string { return Level(t.Level()) }

// Level is a level of protection in the words of people who run servers.
func Level(l lbmodel.TLSLevel) string {
	switch l {
	case lbmodel.TLSClientAndServer:
		return "mutual TLS"
	case lbmodel.TLSServerOnly:
		return "TLS, server verified"
	case lbmodel.TLSUnverified:
		return "TLS, not verified"
	default:
		return "plain text"
	}
}

// Protocol is what is spoken to a pool, in the words of people who run servers.
func Protocol(p lbmodel.PoolProtocol) string {
	switch p {
	case lbmodel.PoolHTTP1:
		return "HTTP/1.1"
	case lbmodel.PoolH2C:
		return "h2c"
	case lbmodel.PoolHTTP2:
		return "HTTP/2"
	case lbmodel.PoolGRPC:
		return "gRPC"
	default:
		return string(p)
	}
}

// Endpoint is host:port.
func Endpoint(e lbmodel.Endpoint) string {
	host := e.Address
	if host == "" {
		host = e.FQDN
	}
	return net.JoinHostPort(host, strconv.Itoa(int(e.Port)))
}

// State is what keeps an endpoint from getting new traffic, "" when nothing does.
func State(e lbmodel.Endpoint) string {
	switch {
	case e.Terminating && e.Serving:
		return "terminating, still serving"
	case e.Terminating:
		return "terminating"
	case !e.Ready:
		return "not ready"
	default:
		return ""
	}
}

// Endpoints counts a pool's endpoints: "3 endpoints", "2 of 3 endpoints ready",
// "no endpoints: answers 503", "endpoints known after apply".
func Endpoints(p lbmodel.Pool) string {
	if p.Endpoints == nil {
		return "endpoints known after apply"
	}
	usable := 0
	for _, e := range p.Endpoints {
		if e.Usable() {
			usable++
		}
	}
	switch n := len(p.Endpoints); {
	case n == 0:
		return "no endpoints: answers 503"
	case usable == n:
		return Count(n, "endpoint")
	default:
		return fmt.Sprintf("%d of %s ready", usable, Count(n, "endpoint"))
	}
}

// Count is "1 thing" or "2 things".
func Count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "y"):
		return strconv.Itoa(n) + " " + strings.TrimSuffix(thing, "y") + "ies"
	default:
		return strconv.Itoa(n) + " " + thing + "s"
	}
}

// Hop is how the gateway protects its own hop, one short phrase each.
func Hop(t *lbmodel.BackendTLS) []string {
	if t == nil {
		return nil
	}
	var out []string
	if t.SNI != "" {
		out = append(out, "SNI "+t.SNI)
	}
	if t.Trust != "" {
		out = append(out, "trusts "+t.Trust)
	}
	for _, san := range t.SANs {
		out = append(out, "the server must be "+san.Value)
	}
	if t.Identity != "" {
		out = append(out, "shows the certificate "+t.Identity)
	}
	if t.MinVersion != "" {
		out = append(out, "TLS "+t.MinVersion+" or newer")
	}
	return append(out, "configured by "+t.Source.String())
}
