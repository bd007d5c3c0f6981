package cli

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// shownCurls are printed for one listener: enough to try it.
const shownCurls = 6

// printServing says where the gateways answer, with lines to try, and what is not
// served.
func (s *server) printServing() {
	var n served
	for _, b := range s.engine.backends {
		if b.DataPlane == nil {
			continue
		}
		bound := b.DataPlane.Bound()
		for _, g := range s.engine.loop.Gateways() {
			n = n.plus(s.printGateway(g.Served, bound)).plus(s.printRefused(g))
		}
	}
	switch text := "Serving."; {
	case n.listeners == 0:
		s.out.Printf("\n%s\n", s.out.Paint(term.Bold, "Nothing to serve yet. Ctrl-C stops."))
	case n.bound == 0:
		s.out.Printf("\n%s\n", s.out.Paint(term.Red, "Nothing is served (see above), and it is tried again. Ctrl-C stops."))
	case n.bound < n.listeners:
		text = fmt.Sprintf("Serving %d of %s; what is not served is tried again.", n.bound, words.Count(n.listeners, "listener"))
		s.out.Printf("\n%s\n", s.out.Paint(term.Yellow, text+" Ctrl-C drains and stops."))
	default:
		s.out.Printf("\n%s\n", s.out.Paint(term.Bold, text+" Ctrl-C drains and stops."))
	}
}

// served counts listeners.
type served struct{ listeners, bound int }

func (n served) plus(m served) served { return served{n.listeners + m.listeners, n.bound + m.bound} }

func (s *server) printGateway(gw lbmodel.Gateway, bound []Bound) (n served) {
	s.out.Printf("\n%s\n", s.out.Paint(term.Title, title(gw.Owner)))
	for _, l := range gw.Listeners {
		n.listeners++
		at := boundOf(bound, gw.Owner, l)
		if !at.IsValid() {
			s.out.Printf("  %s %s :%d %s\n", s.out.Paint(term.Red, l.Name), l.Protocol, l.Port, s.out.Paint(term.Red, "is not served"))
			continue
		}
		n.bound++
		s.out.Printf("  %s  %s on %s  %s\n", s.out.Paint(term.Bold, l.Name), l.Protocol, s.out.Paint(term.Green, at.String()), s.out.Paint(term.Dim, clients(l)))
		for _, line := range tries(l, at) {
			s.out.Printf("    %s\n", line)
		}
	}
	return n
}

// printRefused says which of a Gateway's own listeners, or of a Service's ports,
// were not taken at all. Its findings, above, say why.
func (s *server) printRefused(g reconcile.Gateway) (n served) {
	refused := func(name string, protocol any, port int32) {
		taken := slices.ContainsFunc(g.Served.Listeners, func(t lbmodel.Listener) bool {
			return t.Port == port && string(t.Protocol) == fmt.Sprint(protocol) && (name == "" || t.Name == name)
		})
		if !taken {
			n.listeners++
			s.out.Printf("  %s %s :%d %s\n", s.out.Paint(term.Red, name), protocol, port, s.out.Paint(term.Red, "is not served: see what is wrong with it above"))
		}
	}
	for _, obj := range s.latest.Snapshot.Services {
		if g.Key == (translate.Key{Kind: translate.KindService, Namespace: obj.Namespace, Name: obj.Name}) {
			for _, p := range obj.Spec.Ports {
				refused(p.Name, p.Protocol, p.Port)
			}
		}
	}
	for _, obj := range s.latest.Snapshot.Gateways {
		if g.Key != (translate.Key{Kind: translate.KindGateway, Namespace: obj.Namespace, Name: obj.Name}) {
			continue
		}
		for _, l := range obj.Spec.Listeners {
			refused(string(l.Name), l.Protocol, l.Port)
		}
	}
	return n
}

func boundOf(bound []Bound, owner lbmodel.Owner, l lbmodel.Listener) netip.AddrPort {
	for _, b := range bound {
		sameTransport := (b.Protocol == lbmodel.ProtocolUDP) == (l.Protocol == lbmodel.ProtocolUDP)
		if b.Owner == owner && b.Port == l.Port && sameTransport {
			return b.Addr
		}
	}
	return netip.AddrPort{}
}

// tries are commands that reach the first rules of a listener.
func tries(l lbmodel.Listener, at netip.AddrPort) []string {
	switch l.Protocol {
	case lbmodel.ProtocolHTTP, lbmodel.ProtocolHTTPS:
		return curls(l, at)
	case lbmodel.ProtocolTLS:
		return []string{fmt.Sprintf("openssl s_client -connect %s -servername %s", at, sample(l.Hostname))}
	case lbmodel.ProtocolUDP:
		return []string{fmt.Sprintf("nc -u %s %d", at.Addr(), at.Port())}
	default:
		return []string{fmt.Sprintf("nc %s %d", at.Addr(), at.Port())}
	}
}

func curls(l lbmodel.Listener, at netip.AddrPort) []string {
	scheme, flags := "http", ""
	if l.Protocol == lbmodel.ProtocolHTTPS {
		scheme, flags = "https", " -k"
	}
	var out []string
	seen := map[string]bool{}
	for _, r := range l.Rules {
		host := sample(r.Hostname)
		if r.Hostname == "" {
			host = sample(l.Hostname)
		}
		url := fmt.Sprintf("%s://%s%s", scheme, hostPort(host, l.Port), samplePath(r.Match))
		if seen[url] || r.Match.GRPC != nil || r.Match.Path.Kind == lbmodel.MatchRegex {
			continue
		}
		seen[url] = true
		if len(out) == shownCurls {
			break
		}
		out = append(out, fmt.Sprintf("curl%s --connect-to ::%s%s '%s'", flags, at, conditions(r.Match), url))
	}
	return out
}

// sample is a name that a hostname covers.
func sample(hostname string) string {
	if hostname == "" {
		return "any.test"
	}
	return strings.Replace(hostname, "*", "any", 1)
}

func samplePath(m lbmodel.Match) string {
	path := m.Path.Value
	if path == "" {
		path = "/"
	}
	var query []string
	for _, q := range m.Query {
		if q.Kind == lbmodel.MatchExact {
			query = append(query, q.Name+"="+q.Value)
		}
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	return path
}

func conditions(m lbmodel.Match) string {
	var out strings.Builder
	if m.Method != "" {
		out.WriteString(" -X " + m.Method)
	}
	for _, h := range m.Headers {
		if h.Kind == lbmodel.MatchExact {
			fmt.Fprintf(&out, " -H '%s: %s'", h.Name, strings.ReplaceAll(h.Value, "'", `'\''`))
		}
	}
	return out.String()
}

// clients says which hosts a listener is for, where its protocol tells hosts
// apart.
func clients(l lbmodel.Listener) string {
	if !l.Protocol.HasHostnames() {
		return ""
	}
	return words.Host(l.Hostname)
}
