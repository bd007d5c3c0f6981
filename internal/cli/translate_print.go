package cli

import (
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/lbmodel"
)

// printModel writes a gateway as tables: what it listens on, who answers, and
// where that leads.
func printModel(s term.Screen, provider string, gw lbmodel.Gateway) {
	s.Printf("%s  %s\n\n", s.Paint(term.Title, title(gw.Owner)), s.Paint(term.Dim, "provider "+provider))
	for _, l := range gw.Listeners {
		printListener(s, l)
	}
	printPools(s, gw.Pools)
	printCredentials(s, gw)
}

func printListener(s term.Screen, l lbmodel.Listener) {
	what := words.Listener(l)
	if l.TLS != nil && len(l.TLS.Certificates) > 0 {
		what += ", certificates " + strings.Join(l.TLS.Certificates, ", ")
	}
	s.Printf("  %s  %s\n", s.Paint(term.Bold, "listener "+l.Name), what)
	t := term.Table{Header: []string{"#", "host", "match", "answer", "from"}}
	for i, r := range l.Rules {
		t.Cells(term.Cell{Text: strconv.Itoa(i + 1)}, term.Cell{Text: words.Host(r.Hostname)}, term.Cell{Text: words.Match(r.Match), Paint: term.Bold},
			term.Cell{Text: words.Action(r.Action), Paint: paintOf(r.Action)}, term.Cell{Text: r.Source.Object().String(), Paint: term.Dim})
	}
	for i, r := range l.SNI {
		t.Row(strconv.Itoa(i+1), words.Host(r.Hostname), "by SNI", words.Forward(&r.Forward), r.Source.Object().String())
	}
	if l.Forward != nil {
		t.Row("1", "", "every connection", words.Forward(l.Forward), l.Route.Object().String())
	}
	if t.Empty() {
		s.Printf("    %s\n", s.Paint(term.Dim, "no route is attached"))
	} else {
		t.Print(s, "    ")
	}
	s.Println()
}

func paintOf(a lbmodel.Action) term.Paint {
	switch {
	case broken(a):
		return term.Red
	case a.Forward == nil:
		return term.Violet
	default:
		return ""
	}
}

// broken says whether nobody but the gateway answers, with a failure.
func broken(a lbmodel.Action) bool {
	failure := func(f *lbmodel.Fixed) bool { return f != nil && f.Status >= 500 }
	if a.Forward == nil {
		return failure(a.Fixed)
	}
	return words.Total(a.Forward) == 0 ||
		!slices.ContainsFunc(a.Forward.Backends, func(b lbmodel.Backend) bool { return b.Weight > 0 && !failure(b.Fixed) })
}

func printPools(s term.Screen, pools []lbmodel.Pool) {
	if len(pools) == 0 {
		return
	}
	t := term.Table{Header: []string{"pool", "protocol", "protection", "endpoints", "from"}}
	for _, p := range pools {
		t.Cells(term.Cell{Text: p.Name, Paint: term.Bold}, term.Cell{Text: words.Protocol(p.Protocol)},
			term.Cell{Text: words.TLS(p.TLS), Paint: paintOfLevel(p.TLS.Level())}, term.Cell{Text: words.Endpoints(p), Paint: paintOfEndpoints(p)},
			term.Cell{Text: p.Source.String(), Paint: term.Dim})
	}
	t.Print(s, "  ")
	s.Println()
}

func paintOfLevel(l lbmodel.TLSLevel) term.Paint {
	switch l {
	case lbmodel.TLSClientAndServer:
		return term.Green
	case lbmodel.TLSServerOnly:
		return term.Blue
	case lbmodel.TLSUnverified:
		return term.Yellow
	default:
		return ""
	}
}

func paintOfEndpoints(p lbmodel.Pool) term.Paint {
	if p.Endpoints != nil && len(p.Endpoints) == 0 {
		return term.Red
	}
	return ""
}

func printCredentials(s term.Screen, gw lbmodel.Gateway) {
	t := term.Table{Header: []string{"certificate", "names", "expires", "from"}}
	for _, id := range gw.Identities {
		names, expires := id.DNSNames, "issued at apply"
		if id.Leaf != nil {
			names, expires = append(id.Leaf.DNSNames, id.Leaf.URIs...), id.Leaf.NotAfter.UTC().Format("2006-01-02")
		} else if id.SPIFFEID != "" {
			names = append(names, id.SPIFFEID)
		}
		t.Row(id.Name, strings.Join(names, ", "), expires, id.Source.String())
	}
	for _, trust := range gw.Trust {
		what := words.Count(len(trust.Roots), "root")
		if trust.System {
			what = "the public roots"
		}
		t.Row(trust.Name, what, firstExpiry(trust), trust.Source.String())
	}
	if !t.Empty() {
		t.Print(s, "  ")
		s.Println()
	}
}

func firstExpiry(t lbmodel.Trust) string {
	first := ""
	for _, r := range t.Roots {
		if day := r.NotAfter.UTC().Format("2006-01-02"); first == "" || day < first {
			first = day
		}
	}
	return first
}
