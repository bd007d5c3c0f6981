package dataplane

import (
	"net/http"
	"net/textproto"
	"slices"
	"sync/atomic"

	"gatehouse.dev/lbmodel"
)

// forward is a compiled lbmodel.Forward.
type forward struct {
	shares   *shares
	backends []*backend
}

// backend is one share of a forward. Without a pool it is answered by the
// gateway itself.
type backend struct {
	pool     *pool
	fixed    *lbmodel.Fixed
	redirect *lbmodel.Redirect
	edits    edits
	answers  *tally[int]
	streams  *atomic.Uint64
}

// compileForward makes a share of every backend. One that names a pool that is
// not there answers 500, like a reference that could not be resolved.
func (g *gateway) compileForward(model *lbmodel.Forward, rule string) *forward {
	f := &forward{}
	var weights []int32
	for i := range model.Backends {
		f.backends = append(f.backends, g.compileBackend(&model.Backends[i], rule))
		weights = append(weights, model.Backends[i].Weight)
	}
	f.shares = newShares(weights)
	return f
}

func (g *gateway) compileBackend(model *lbmodel.Backend, rule string) *backend {
	b := &backend{
		pool:     g.pools[model.Pool],
		fixed:    model.Fixed,
		redirect: model.Redirect,
		edits:    g.compileEdits(model.Edits),
		answers:  g.plane.tallies.requests(g.owner, rule, model.Pool),
	}
	if b.pool != nil {
		b.streams = g.plane.tallies.streams(g.owner, model.Pool)
	} else if b.fixed == nil && b.redirect == nil {
		b.fixed = &lbmodel.Fixed{Status: http.StatusInternalServerError}
	}
	return b
}

// choose takes a backend by weight; nil when there is none or all weigh zero.
func (f *forward) choose() *backend {
	if f == nil {
		return nil
	}
	if i := f.shares.next(); i >= 0 {
		return f.backends[i]
	}
	return nil
}

// edits are compiled lbmodel.Edits.
type edits struct {
	request  *headerEdit
	response *headerEdit
	rewrite  *lbmodel.Rewrite
	mirrors  []mirror
}

func (g *gateway) compileEdits(model lbmodel.Edits) edits {
	e := edits{request: compileHeaderEdit(model.Request), response: compileHeaderEdit(model.Response), rewrite: model.Rewrite}
	for _, m := range model.Mirrors {
		if p := g.pools[m.Pool]; p != nil {
			e.mirrors = append(e.mirrors, newMirror(m, p))
		}
	}
	return e
}

// headerEdit is lbmodel.HeaderEdit with names in the form that headers have, so
// that an edit allocates its values only.
type headerEdit struct {
	remove []string
	set    map[string][]string
	add    []lbmodel.Header
}

func compileHeaderEdit(model *lbmodel.HeaderEdit) *headerEdit {
	if model == nil {
		return nil
	}
	e := &headerEdit{set: map[string][]string{}}
	for _, name := range model.Remove {
		e.remove = append(e.remove, textproto.CanonicalMIMEHeaderKey(name))
	}
	for _, h := range model.Set {
		e.set[textproto.CanonicalMIMEHeaderKey(h.Name)] = []string{h.Value}
	}
	for _, h := range model.Add {
		e.add = append(e.add, lbmodel.Header{Name: textproto.CanonicalMIMEHeaderKey(h.Name), Value: h.Value})
	}
	return e
}

// apply is lbmodel.HeaderEdit.Apply. The values that it sets are shared, with no
// room to append to.
func (e *headerEdit) apply(h http.Header) {
	if e == nil {
		return
	}
	for _, name := range e.remove {
		delete(h, name)
	}
	for name, value := range e.set {
		h[name] = slices.Clip(value)
	}
	for _, a := range e.add {
		h[a.Name] = append(slices.Clip(h[a.Name]), a.Value)
	}
}
