package providertest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
)

// scene is what some gateways of one cluster should be: small enough to read in
// a failure, and able to hold every trait that plans stumble over. What gateways
// share (endpoint groups, trust) is stated once.
type scene struct {
	groups   map[string]int    // endpoint group → how many times its endpoints were replaced
	trust    map[string][]int  // trust → numbers of its roots
	unknown  bool              // nobody knows the endpoints: a plan from files
	rotation lbmodel.Trust     // how the roots of every trust come and go; Roots are not from here
	bound    bool              // issued identities need an authority among the roots of the trusts
	held     *lbmodel.Held     // what the issuer has of issued identities
	gateways map[string]sketch // by name
}

// sketch is one gateway.
type sketch struct {
	location string
	adopt    bool
	https    bool
	issued   bool // has a client identity that is issued at Apply
	limited  bool // serves some client addresses only, where that is offered
	renewed  int  // how often the owner of the HTTPS certificate has renewed it
	pools    map[string]pool
	routes   []route // in matching order
}

// pool is how one gateway speaks to a group.
type pool struct {
	group    string
	protocol lbmodel.PoolProtocol
	trust    string
}

// route is one rule of every listener of a gateway.
type route struct {
	path  string
	pools []string
}

func (s scene) clone() scene {
	out := scene{unknown: s.unknown, rotation: s.rotation, bound: s.bound, groups: maps.Clone(s.groups), trust: maps.Clone(s.trust), gateways: map[string]sketch{}}
	for name, g := range s.gateways {
		g.pools, g.routes = maps.Clone(g.pools), slices.Clone(g.routes)
		out.gateways[name] = g
	}
	return out
}

// names are the gateways' names, sorted.
func (s scene) names() []string { return slices.Sorted(maps.Keys(s.gateways)) }

// String is the scene as a failure prints it.
func (s scene) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "groups %v trust %v", s.groups, s.trust)
	for _, name := range s.names() {
		fmt.Fprintf(&b, "\n  %s: %+v", name, s.gateways[name])
	}
	return b.String()
}

var (
	protocols = []lbmodel.PoolProtocol{lbmodel.PoolHTTP1, lbmodel.PoolH2C}
	groups    = []string{"apps/a:80", "apps/b:80", "apps/c:80"}
	trusts    = []string{"mesh", "corp"}
)

// draw makes a random scene.
func draw(r *rand.Rand, locations []string) scene {
	s := scene{groups: map[string]int{}, trust: map[string][]int{}, gateways: map[string]sketch{}}
	for _, g := range groups {
		s.groups[g] = 0
	}
	for _, t := range trusts {
		s.trust[t] = []int{r.IntN(3)}
	}
	for i := range 1 + r.IntN(3) {
		s.gateways[fmt.Sprintf("gw%d", i)] = drawGateway(r, locations)
	}
	return s
}

func drawGateway(r *rand.Rand, locations []string) sketch {
	g := sketch{
		location: pick(r, locations), https: r.IntN(2) == 0, issued: r.IntN(2) == 0, limited: r.IntN(4) == 0,
		pools: map[string]pool{},
	}
	for i, group := range groups {
		p := pool{group: group, protocol: pick(r, protocols)}
		if r.IntN(2) == 0 {
			p.trust = pick(r, trusts)
		}
		g.pools[fmt.Sprintf("p%d", i)] = p
	}
	for i := range 1 + r.IntN(4) {
		g.routes = append(g.routes, drawRoute(r, i))
	}
	return g
}

func drawRoute(r *rand.Rand, i int) route {
	out := route{path: fmt.Sprintf("/r%d", i)}
	for i := range groups {
		if i == 0 || r.IntN(3) == 0 {
			out.pools = append(out.pools, fmt.Sprintf("p%d", (i+len(out.path))%len(groups)))
		}
	}
	return out
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// change is one thing that can happen to a scene.
type change struct {
	name  string
	apply func(*rand.Rand, *scene, []string)
}

// changes are everything that the laws make happen.
var changes = []change{
	{"a rule is inserted in the middle", func(r *rand.Rand, s *scene, _ []string) {
		s.edit(r, func(g *sketch) {
			g.routes = slices.Insert(g.routes, r.IntN(len(g.routes)+1), drawRoute(r, 10+r.IntN(1000)))
		})
	}},
	{"a rule goes", func(r *rand.Rand, s *scene, _ []string) {
		s.edit(r, func(g *sketch) {
			if len(g.routes) > 1 {
				i := r.IntN(len(g.routes))
				g.routes = slices.Delete(g.routes, i, i+1)
			}
		})
	}},
	{"the rules change their order", func(r *rand.Rand, s *scene, _ []string) {
		s.edit(r, func(g *sketch) {
			r.Shuffle(len(g.routes), func(i, j int) { g.routes[i], g.routes[j] = g.routes[j], g.routes[i] })
		})
	}},
	{"a rule goes to other pools", func(r *rand.Rand, s *scene, _ []string) {
		s.edit(r, func(g *sketch) { g.routes[0].pools = []string{fmt.Sprintf("p%d", r.IntN(len(groups)))} })
	}},
	{"a rule goes to a service that is new", func(r *rand.Rand, s *scene, _ []string) {
		group := fmt.Sprintf("apps/new%d:80", r.IntN(100))
		s.groups[group] = 0
		s.edit(r, func(g *sketch) {
			g.pools["new"] = pool{group: group, protocol: lbmodel.PoolHTTP1}
			g.routes[0].pools = []string{"new"}
		})
	}},
	{"a pool changes its protocol", func(r *rand.Rand, s *scene, _ []string) {
		s.edit(r, func(g *sketch) {
			p := g.pools["p0"]
			p.protocol = protocols[(slices.Index(protocols, p.protocol)+1)%len(protocols)]
			g.pools["p0"] = p
		})
	}},
	{"endpoints are replaced", func(r *rand.Rand, s *scene, _ []string) { s.groups[pick(r, groups)]++ }},
	{"a root is added and an old one dropped", func(r *rand.Rand, s *scene, _ []string) {
		t := pick(r, trusts)
		s.trust[t] = append(slices.Clone(s.trust[t][len(s.trust[t])-1:]), s.trust[t][len(s.trust[t])-1]+1)
	}},
	{"TLS to a backend comes or goes", func(r *rand.Rand, s *scene, _ []string) {
		s.edit(r, func(g *sketch) {
			p := g.pools["p1"]
			if p.trust == "" {
				p.trust = pick(r, trusts)
			} else {
				p.trust = ""
			}
			g.pools["p1"] = p
		})
	}},
	{"HTTPS comes or goes", func(r *rand.Rand, s *scene, _ []string) { s.edit(r, func(g *sketch) { g.https = !g.https }) }},
	{"source ranges come or go", func(r *rand.Rand, s *scene, _ []string) { s.edit(r, func(g *sketch) { g.limited = !g.limited }) }},
	{"a certificate is renewed by its owner", func(r *rand.Rand, s *scene, _ []string) {
		s.edit(r, func(g *sketch) { g.https, g.renewed = true, g.renewed+1 })
	}},
	{"a gateway moves to another location", func(r *rand.Rand, s *scene, locations []string) {
		s.edit(r, func(g *sketch) {
			g.location = locations[(slices.Index(locations, g.location)+1)%len(locations)]
		})
	}},
	{"a gateway comes", func(r *rand.Rand, s *scene, locations []string) {
		s.gateways[fmt.Sprintf("new%d", r.IntN(100))] = drawGateway(r, locations)
	}},
	{"a gateway goes", func(r *rand.Rand, s *scene, _ []string) {
		if len(s.gateways) > 1 {
			delete(s.gateways, pick(r, s.names()))
		}
	}},
}

// edit changes one gateway.
func (s *scene) edit(r *rand.Rand, f func(*sketch)) {
	name := pick(r, s.names())
	g := s.gateways[name]
	f(&g)
	s.gateways[name] = g
}

// mutate is the scene after some changes, and their names.
func mutate(r *rand.Rand, s scene, locations []string) (scene, string) {
	out := s.clone()
	var names []string
	for range 1 + r.IntN(3) {
		c := pick(r, changes)
		c.apply(r, &out, locations)
		names = append(names, c.name)
	}
	for g, before := range s.groups { // a rollout replaces one endpoint at a time
		out.groups[g] = min(out.groups[g], before+1)
	}
	return out, strings.Join(names, "; ")
}
