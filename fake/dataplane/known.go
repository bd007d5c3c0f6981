package dataplane

import (
	"reflect"

	"gatehouse.dev/lbmodel"
)

// known is a gateway as it was programmed last, with what it compiled to.
type known struct {
	in  Gateway
	out *gateway
}

// knowledge spares a gateway that is programmed again the work of compiling it,
// and its balancing the start from anew. A cloud tells about all its gateways
// whenever one of them changes.
type knowledge map[lbmodel.Owner]known

// find is the compiled gateway, if this is all the same as before. What the cloud
// did not touch is shared with the last time, so comparing it follows few
// pointers.
func (k knowledge) find(in Gateway) *gateway {
	before, ok := k[in.Model.Owner]
	if !ok || !reflect.DeepEqual(before.in, in) {
		return nil
	}
	return before.out
}

// compiled is the gateway of the last time, or a new one. One that could not be
// compiled whole is tried again every time.
func (d *DataPlane) compiled(in Gateway, next knowledge) (*gateway, error) {
	g := d.known.find(in)
	if g == nil {
		var err error
		if g, err = d.compile(in); err != nil {
			return g, err
		}
	} else {
		d.links.keep(g)
	}
	next[g.owner] = known{in, g}
	return g, nil
}

// keep marks the links of a compiled gateway as meant.
func (l *links) keep(g *gateway) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range g.pools {
		for _, link := range p.links {
			l.used[link.key] = true
		}
	}
}
