package draw

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/lbmodel"
)

// maxEndpoints are drawn for one pool; the rest is one box that counts them.
const maxEndpoints = 8

// Of draws a gateway. Rules that several listeners share, word for word, are one
// box; so are endpoints that several pools share.
func Of(gw lbmodel.Gateway) Diagram {
	b := builder{pools: map[string]lbmodel.Pool{}, ids: map[string]string{}, edges: map[[2]string]int{}}
	for _, p := range gw.Pools {
		b.pools[p.Name] = p
	}
	for _, l := range gw.Listeners {
		b.listener(l)
	}
	for _, p := range gw.Pools {
		b.pool(p.Name)
	}
	return Diagram{
		Title: cmp.Or(gw.Owner.Kind, "Gateway") + " " + gw.Owner.Namespace + "/" + gw.Owner.Name,
		Columns: []Column{
			{Name: "listeners", Nodes: b.nodes[0]},
			{Name: "rules, first match answers", Nodes: b.nodes[1]},
			{Name: "pools", Nodes: b.nodes[2]},
			{Name: "endpoints", Nodes: b.nodes[3]},
		},
		Edges: b.list,
	}
}

type builder struct {
	pools map[string]lbmodel.Pool
	nodes [4][]Node
	ids   map[string]string // what a node stands for → its ID
	edges map[[2]string]int // ends → index in list
	list  []Edge
}

// node adds a node unless what it stands for is there, and gives its ID.
func (b *builder) node(column int, key string, n Node) (id string, added bool) {
	key = strconv.Itoa(column) + "|" + key
	if id, ok := b.ids[key]; ok {
		return id, false
	}
	n.ID = string("lrpe"[column]) + strconv.Itoa(len(b.nodes[column])+1)
	b.ids[key] = n.ID
	b.nodes[column] = append(b.nodes[column], n)
	return n.ID, true
}

func (b *builder) edge(e Edge) {
	ends := [2]string{e.From, e.To}
	if at, ok := b.edges[ends]; ok {
		if e.Label != "" && !strings.Contains(b.list[at].Label, e.Label) {
			b.list[at].Label = strings.TrimPrefix(b.list[at].Label+", "+e.Label, ", ")
		}
		return
	}
	b.edges[ends] = len(b.list)
	b.list = append(b.list, e)
}

func (b *builder) listener(l lbmodel.Listener) {
	id, _ := b.node(0, l.Name, Node{
		Title: l.Name,
		Lines: listenerLines(l),
		Note:  l.Source.String(),
	})
	for _, r := range l.Rules {
		b.rule(id, r)
	}
	for _, s := range l.SNI {
		b.route(id, Node{Title: words.Host(s.Hostname), Lines: []string{"by SNI", s.Source.Object().String()}, Note: s.Source.String()}, &s.Forward)
	}
	if l.Forward != nil {
		b.route(id, Node{Title: "every connection", Lines: []string{l.Route.Object().String()}, Note: l.Route.String()}, l.Forward)
	}
}

func listenerLines(l lbmodel.Listener) []string {
	at := fmt.Sprintf("%s :%d", l.Protocol, l.Port)
	lines := []string{at}
	if l.Protocol.HasHostnames() {
		lines = append(lines, listenerHost(l))
	}
	if from := words.Sources(l); from != "" {
		lines = append(lines, from)
	}
	return lines
}

func listenerHost(l lbmodel.Listener) string {
	switch {
	case l.TLS == nil:
		return words.Host(l.Hostname)
	case l.TLS.Validation != nil:
		return words.Host(l.Hostname) + ", asks for client certificates"
	default:
		return words.Host(l.Hostname) + ", TLS " + strings.ToLower(string(l.TLS.Mode))
	}
}

func (b *builder) rule(from string, r lbmodel.Rule) {
	n := Node{Title: words.Match(r.Match), Lines: []string{words.Host(r.Hostname)}, Note: r.Source.String()}
	switch a := r.Action; {
	case a.Fixed != nil:
		n.Look = lookOfStatus(a.Fixed.Status)
		n.Lines = append(n.Lines, words.Fixed(*a.Fixed))
	case a.Redirect != nil:
		n.Look = Answer
		n.Lines = append(n.Lines, words.Redirect(*a.Redirect))
	}
	n.Lines = append(n.Lines, words.Edits(r.Action)...)
	n.Lines = append(n.Lines, r.Source.Object().String())
	if r.Action.Fixed != nil || r.Action.Redirect != nil {
		id, _ := b.node(1, key(n), n)
		b.edge(Edge{From: from, To: id, Look: n.Look})
		return
	}
	b.route(from, n, r.Action.Forward)
}

func key(n Node) string {
	return n.Title + "|" + strings.Join(n.Lines, "|") + "|" + n.Note
}

func lookOfStatus(status int) Look {
	if status >= 500 {
		return Broken
	}
	return Answer
}

// route adds a node that forwards, and its pools.
func (b *builder) route(from string, n Node, f *lbmodel.Forward) {
	total := words.Total(f)
	n.Look = b.lookOfForward(f, total)
	if total == 0 {
		n.Lines = append(n.Lines, "answers 500: nothing has a weight")
	}
	id, added := b.node(1, key(n)+"|"+words.Forward(f), n)
	b.edge(Edge{From: from, To: id, Look: Plain})
	if !added {
		return
	}
	for _, backend := range f.Backends {
		b.backend(id, backend, total)
	}
}

func (b *builder) backend(from string, backend lbmodel.Backend, total int64) {
	to, look := "", Broken
	switch {
	case backend.Fixed != nil:
		to, _ = b.node(2, words.Target(backend), Node{Title: words.Target(backend), Lines: []string{"the gateway itself"}, Look: Broken})
	case backend.Redirect != nil:
		look = Answer
		to, _ = b.node(2, words.Target(backend), Node{Title: words.Target(backend), Lines: []string{"the gateway itself"}, Look: Answer})
	default:
		to = b.pool(backend.Pool)
		look = lookOfPool(b.pools[backend.Pool])
	}
	b.edge(Edge{From: from, To: to, Label: words.Share(backend, total), Look: look})
}

// lookOfForward is the weakest protection among the backends that get traffic.
func (b *builder) lookOfForward(f *lbmodel.Forward, total int64) Look {
	if total == 0 {
		return Broken
	}
	look, level := Mutual, 4
	for _, backend := range f.Backends {
		pool, ok := b.pools[backend.Pool]
		if backend.Weight == 0 || !ok {
			continue
		}
		if at := levelOf(pool.TLS.Level()); at < level {
			level, look = at, lookOfLevel(pool.TLS.Level())
		}
	}
	if level == 4 {
		return Broken
	}
	return look
}

func levelOf(l lbmodel.TLSLevel) int {
	switch l {
	case lbmodel.TLSClientAndServer:
		return 3
	case lbmodel.TLSServerOnly:
		return 2
	case lbmodel.TLSUnverified:
		return 1
	default:
		return 0
	}
}

func lookOfLevel(l lbmodel.TLSLevel) Look {
	return [...]Look{Plain, Unverified, Verified, Mutual}[levelOf(l)]
}

func lookOfPool(p lbmodel.Pool) Look {
	if p.Endpoints != nil && len(p.Endpoints) == 0 {
		return Broken
	}
	return lookOfLevel(p.TLS.Level())
}
