package translate

// vertex is all that the index knows under one key, in one place: to find an
// object, those that change with it and its parts is one look, and looks are what
// translation spends most of its time on. A vertex without an object is a meeting
// point, or an object that others name and that does not exist.
type vertex struct {
	obj     any
	affects pmap[struct{}] // those that change with it
	parts   pmap[any]      // its parts, with the objects themselves
}

func (v vertex) empty() bool { return v.obj == nil && v.affects.size == 0 && v.parts.size == 0 }

// at is the vertex of a key; one that nobody named is empty.
func (x *Index) at(key Key) vertex {
	v, _ := x.graph.get(key)
	return v
}

// vertex is a vertex to write to until the next call.
func (x *Index) vertex(key Key, by *edit) (v *vertex) {
	x.graph, v = x.graph.slot(key, by)
	return v
}

// put stores an object with its edges, in place of an older one.
func (x *Index) put(key Key, obj any, by *edit) edges {
	x.drop(key, by)
	e := x.edgesOf(key, obj)
	v := x.vertex(key, by)
	v.obj = obj
	for _, k := range e.partOf {
		v.affects = v.affects.set(k, struct{}{}, by)
	}
	for _, k := range e.reads {
		v := x.vertex(k, by)
		v.affects = v.affects.set(key, struct{}{}, by)
	}
	for k := range e.wholes {
		v := x.vertex(k, by)
		v.parts = v.parts.set(key, obj, by)
	}
	return e
}

// drop takes an object out with its edges, if it is there.
func (x *Index) drop(key Key, by *edit) {
	obj := x.at(key).obj
	if obj == nil {
		return
	}
	e := x.edgesOf(key, obj)
	v := x.vertex(key, by)
	v.obj = nil
	for _, k := range e.partOf {
		v.affects = v.affects.del(k, by)
	}
	x.prune(key, by)
	for _, k := range e.reads {
		v := x.vertex(k, by)
		v.affects = v.affects.del(key, by)
		x.prune(k, by)
	}
	for k := range e.wholes {
		v := x.vertex(k, by)
		v.parts = v.parts.del(key, by)
		x.prune(k, by)
	}
	x.orphans = x.orphans.del(key, by)
}

// prune forgets a vertex that says nothing any more.
func (x *Index) prune(key Key, by *edit) {
	if x.at(key).empty() {
		x.graph = x.graph.del(key, by)
	}
}

// findOrphan remembers an object whose status has our entry for a parent that
// does not exist: nobody else would ever clean it up.
func (x *Index) findOrphan(key Key, obj any, by *edit) {
	for _, parent := range x.edgesOf(key, obj).claimed {
		if x.at(parent).obj == nil {
			x.orphans = x.orphans.set(key, struct{}{}, by)
			return
		}
	}
}

// orphan does the same for everybody with an entry for a parent that went.
func (x *Index) orphan(parent Key, by *edit) {
	for key := range x.at(claimPoint(parent)).parts.all() {
		x.orphans = x.orphans.set(key, struct{}{}, by)
	}
}

// walk follows the edges from a changed object up to the gateways.
func (x *Index) walk(start Key, old, obj any, gateways map[Key]bool) {
	seen := map[Key]bool{start: true}
	for todo := []Key{start}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at.Kind == KindGateway {
			gateways[at] = true
			continue
		}
		if at.Kind == KindService && x.mattersToService(start, at) {
			gateways[at] = true
		}
		for k := range x.at(at).affects.all() {
			if k.Kind == KindService && (at.Kind == kindNodes || at.Kind == KindParameters) {
				if x.matters(at, k, old, obj) { // to its own load balancer, not to whoever routes to it
					gateways[k] = true
				}
				continue
			}
			if !seen[k] && x.matters(at, k, old, obj) {
				seen[k] = true
				todo = append(todo, k)
			}
		}
	}
}
