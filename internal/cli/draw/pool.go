package draw

import (
	"slices"

	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/lbmodel"
)

// pool adds a pool with its endpoints and gives its ID.
func (b *builder) pool(name string) string {
	p := b.pools[name]
	id, added := b.node(2, name, Node{
		Title: poolTitle(p),
		Lines: poolLines(p),
		Note:  p.Source.String(),
		Look:  lookOfPool(p),
	})
	if added {
		b.endpoints(id, p)
	}
	return id
}

func poolTitle(p lbmodel.Pool) string {
	if p.Source.Name == "" {
		return p.Name
	}
	return p.Source.Kind + " " + p.Source.Namespace + "/" + p.Source.Name
}

func poolLines(p lbmodel.Pool) []string {
	lines := []string{p.Name, words.Protocol(p.Protocol) + ", " + words.TLS(p.TLS)}
	if p.TLS != nil && p.TLS.SNI != "" {
		lines = append(lines, "SNI "+p.TLS.SNI)
	}
	if p.TLS != nil {
		for _, san := range p.TLS.SANs {
			lines = append(lines, "must be "+san.Value)
		}
	}
	return slices.Compact(lines)
}

// endpoints draws a pool's endpoints. Pools of one group share them.
func (b *builder) endpoints(from string, p lbmodel.Pool) {
	look := lookOfPool(p)
	switch {
	case p.Endpoints == nil:
		id, _ := b.node(3, p.Group, Node{Title: "known after apply", Look: Idle})
		b.edge(Edge{From: from, To: id, Look: look})
	case len(p.Endpoints) == 0:
		id, _ := b.node(3, "none", Node{Title: "no endpoints", Lines: []string{"answers 503"}, Look: Broken})
		b.edge(Edge{From: from, To: id, Look: Broken})
	}
	shown := p.Endpoints[:min(len(p.Endpoints), maxEndpoints)]
	for _, e := range shown {
		id, _ := b.node(3, p.Group+"|"+words.Endpoint(e), endpoint(e))
		b.edge(Edge{From: from, To: id, Look: look})
	}
	if more := len(p.Endpoints) - len(shown); more > 0 {
		id, _ := b.node(3, p.Group+"|more", Node{Title: "and " + words.Count(more, "other"), Look: Idle})
		b.edge(Edge{From: from, To: id, Look: look})
	}
}

func endpoint(e lbmodel.Endpoint) Node {
	n := Node{Title: words.Endpoint(e), Note: e.Pod.String()}
	if e.Pod.Name != "" {
		n.Lines = append(n.Lines, "Pod "+e.Pod.Name)
	} else if e.Node != "" {
		n.Lines = append(n.Lines, "Node "+e.Node)
	}
	if state := words.State(e); state != "" {
		n.Lines, n.Look = append(n.Lines, state), Idle
	}
	return n
}
