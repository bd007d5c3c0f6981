package lbmodel

import (
	"fmt"
	"slices"
)

// Protected is a Spec of how a gateway speaks to the endpoints of a pool that knows how
// well that is protected.
type Protected interface{ Protection() TLSLevel }

// Downgrade is what the user must agree to when a hop that is mutual TLS becomes less; ""
// is nothing. Whoever takes away a lesser protection says so in an object of the backend's
// own, a BackendTLSPolicy or an appProtocol, and is taken at their word.
func Downgrade(have, want TLSLevel) string {
	if have != TLSClientAndServer || want.AtLeast(have) {
		return ""
	}
	return fmt.Sprintf("backends that are reached with TLS %s would be reached with TLS %s", have, want)
}

// downgrade is likewise what it means that something which needs hops comes to need
// others, as a rule does whose backend leaves a mesh: hops of one protection are other
// resources than those of another. A hop stands in the place of those of the same backend
// that go. One that comes beside them takes nobody's place: that is how pods leave a mesh
// one by one.
func (d *differ) downgrade(s Step) string {
	if s.Verb != Update || s.For != nil || s.Cause == Drift {
		return ""
	}
	before, after := needsOf(s.Have.Spec), needsOf(s.Want)
	var out string
	lowest := TLSClientAndServer
	for _, id := range after {
		level, known := d.protection(id)
		if !known || slices.Contains(before, id) || level.AtLeast(lowest) {
			continue
		}
		if text := Downgrade(d.replaced(before, after, id), level); text != "" {
			out, lowest = text+" ("+id.String()+")", level
		}
	}
	return out
}

// replaced is the greatest protection among the hops in whose place one comes.
func (d *differ) replaced(before, after []ID, comes ID) TLSLevel {
	greatest := TLSNone
	for _, id := range before {
		level, known := protectionOf(d.have[id].Spec)
		if known && !slices.Contains(after, id) && level.AtLeast(greatest) && d.alike(id, comes) {
			greatest = level
		}
	}
	return greatest
}

// alike says whether two hops may lead to the same backend. What is observed does not say
// whose it is: a hop that this process has never wanted may be anybody's.
func (d *differ) alike(was, comes ID) bool {
	x, y := d.sources(was), d.sources(comes)
	return len(x) == 0 || len(y) > 0 && x[0] == y[0]
}

func (d *differ) sources(id ID) []Source {
	for _, g := range []Graph{d.want, d.base} {
		if told, ok := g[id].Spec.(Sourced); ok {
			return told.Sources()
		}
	}
	return nil
}

// protection is that of a hop as it will be.
func (d *differ) protection(id ID) (TLSLevel, bool) {
	if w, wanted := d.want[id]; wanted {
		return protectionOf(w.Spec)
	}
	return protectionOf(d.have[id].Spec)
}

func protectionOf(s Spec) (TLSLevel, bool) {
	if p, ok := s.(Protected); ok {
		return p.Protection(), true
	}
	return "", false
}
