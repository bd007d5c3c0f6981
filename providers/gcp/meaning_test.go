package gcp

import (
	"flag"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/lbmodel"
)

var seeds = flag.Uint64("seeds", 3, "how many gateways are asked, of each flavour")

// settingsOf are those of a flavour, with more fields.
func settingsOf(flavour, more string) string {
	s := `{"project":"my-project","flavour":"` + flavour + `","zones":["europe-west1-b","europe-west1-c"],"proxyRanges":["10.129.0.0/23"]` + more
	switch flavour {
	case "RegionalExternal":
		s += `,"location":"europe-west1"`
	case "PassthroughExternal":
		s += `,"location":"europe-west1","nodeSubnetwork":"default"`
	case "RegionalInternal":
		s += `,"location":"europe-west1","subnetwork":"default"`
	case "PassthroughInternal":
		s += `,"location":"europe-west1","subnetwork":"default","nodeSubnetwork":"default"`
	case "CrossRegionInternal":
		s += `,"frontends":[{"region":"europe-west1","subnetwork":"default"}]`
	}
	return s + "}"
}

const assumed = `,"assume":["HeaderValuesCaseSensitive","HostPortIgnored","CORSByLoadBalancer"]`

// proxyFlavours are those with URL maps.
func proxyFlavours() []string {
	return []string{"GlobalExternal", "RegionalExternal", "RegionalInternal", "CrossRegionInternal"}
}

// Why: whatever Google leaves open, a request reaches what the model says, as the model
// says; or the match or action is refused. With assumptions the switches that they
// speak of stand as assumed.
func TestMeaningIsKept(t *testing.T) {
	var mu sync.Mutex
	all := tally{}
	t.Run("flavours", func(t *testing.T) {
		for i, flavour := range proxyFlavours() {
			for name, how := range map[string]assumption{"nothing assumed": {}, "all assumed": {assumed, map[string]serve.Position{"HeaderValueCase": serve.Sensitive, "HostPort": serve.Ignored}}} {
				t.Run(flavour+"/"+name, func(t *testing.T) {
					t.Parallel()
					sum := keepsMeaning(t, uint64(10_000*i), flavour, how)
					mu.Lock()
					defer mu.Unlock()
					all.add(sum)
				})
			}
		}
	})
	t.Logf("%+v", all)
	if all.Answered < all.Asked/5 || all.Forwards < all.Asked/20 || all.Redirects < all.Asked/100 || all.Refused == 0 {
		t.Errorf("%+v: the test asks hardly anything", all)
	}
}

// assumption is what the operator vouches for, and the switches that it settles.
type assumption struct {
	more  string
	fixed map[string]serve.Position
}

// turns is in how many gateways each position of the switches comes once: what takes time
// is to make what serves with it.
const turns = 3

func keepsMeaning(t *testing.T, offset uint64, flavour string, how assumption) tally {
	var sum tally
	for seed := range *seeds {
		w := newWorld(t, seed+offset, settingsOf(flavour, how.more))
		for i, n := range positions(newDice(seed), how.fixed) {
			if (uint64(i)+seed)%turns != 0 {
				continue
			}
			n.name = fmt.Sprintf("gateway %d, %s", seed+offset, n.name)
			w.ask(t, newDice(1000*seed+uint64(i)), n, &sum)
		}
	}
	return sum
}

// tally says what a run was about.
type tally struct{ Asked, Answered, Forwards, Redirects, Refused int }

func (s *tally) add(o tally) {
	s.Asked, s.Answered, s.Forwards = s.Asked+o.Asked, s.Answered+o.Answered, s.Forwards+o.Forwards
	s.Redirects, s.Refused = s.Redirects+o.Redirects, s.Refused+o.Refused
}

// named is a setting of all switches.
type named struct {
	name string
	s    serve.Switches
}

// positions are every switch in every position, one at a time, and some where all
// stand anyhow.
func positions(d dice, fixed map[string]serve.Position) []named {
	var base serve.Switches
	for _, w := range serve.AllSwitches() {
		if p, ok := fixed[w.Name]; ok {
			base = w.Set(base, p)
		}
	}
	var out []named
	base.EachPosition(func(name string, s serve.Switches) {
		for _, w := range serve.AllSwitches() {
			if p, ok := fixed[w.Name]; ok && w.Get(s) != p {
				return
			}
		}
		out = append(out, named{name, s})
	})
	for i := range 12 {
		s := base
		for _, w := range serve.AllSwitches() {
			if _, ok := fixed[w.Name]; !ok {
				s = w.Set(s, w.Positions[d.IntN(len(w.Positions))])
			}
		}
		out = append(out, named{fmt.Sprintf("anyhow %d: %+v", i, s), s})
	}
	return out
}

// world is a gateway, compiled.
type world struct {
	matcher *lbmodel.GatewayMatcher
	configs map[int32]serve.Config
	pools   map[string]string // by backend service
	gateway lbmodel.Gateway
	refused int
}

func newWorld(t *testing.T, seed uint64, settings string) *world {
	t.Helper()
	gw := newDice(seed).gateway(settings)
	features, findings := Compiler{}.Offers(gw.Settings)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	gw, told := lbmodel.Restrict(gw, features)
	own, _, more := Compiler{}.Compile(gw)
	for _, f := range more {
		if f.Code != lbmodel.CodeUnsupported {
			t.Fatalf("seed %d: %+v", seed, f)
		}
	}
	plain, _ := asCompiled(gw)
	w := &world{configs: serveConfigs(t, gw, own), pools: map[string]string{}, gateway: plain, refused: len(told) + len(more)}
	for id, r := range own {
		if b, ok := r.Spec.(*BackendService); ok {
			w.pools[serve.Ref(Path(id, "my-project"))] = b.hop
		}
	}
	w.matcher, _ = lbmodel.NewGatewayMatcher(plain.Listeners)
	return w
}

// ask compares both answers to many requests.
func (w *world) ask(t *testing.T, d dice, n named, sum *tally) {
	t.Helper()
	matchers := map[int32]*serve.Matcher{}
	for port, c := range w.configs {
		m, err := serve.New(c, n.s)
		if err != nil {
			t.Fatal(err)
		}
		matchers[port] = m
	}
	mapped := n.s.AbortGRPC == serve.Mapped
	sum.Refused += w.refused
	for range 25 {
		r := w.request(d)
		answer := w.matcher.Match(r)
		if answer.Refused != "" {
			continue
		}
		sum.count(&answer)
		asked := serve.Request{Method: r.Method, Host: r.Host, Path: r.Path, Query: r.Query, Header: http.Header(r.Headers)}
		by := matchers[r.Port].Answer(asked)
		want, got := modelled(answer, r, mapped), served(by, r, w.pools)
		if want != got {
			t.Fatalf("%s: %s %s on %d%s?%s %v\n want %s\n by   %s\n got  %s\n by   %s: %s", n.name, r.Method, r.Host, r.Port, r.Path, r.Query, r.Headers, want, encode(answer.Rule), got, by.Rule, by.Why)
		}
	}
}

// request is near a rule of the gateway's, mostly.
func (w *world) request(d dice) *lbmodel.Request {
	l := &w.gateway.Listeners[d.IntN(len(w.gateway.Listeners))]
	if len(l.Rules) == 0 || d.one(4) {
		return d.request()
	}
	return d.near(l, &l.Rules[d.IntN(len(l.Rules))])
}

func (s *tally) count(a *lbmodel.Answer) {
	s.Asked++
	if a.Rule == nil {
		return
	}
	s.Answered++
	if a.Rule.Action.Forward != nil {
		s.Forwards++
	}
	if a.Rule.Action.Redirect != nil {
		s.Redirects++
	}
}
