package translate

import (
	"iter"
	"slices"
)

// pmap is a persistent map: set and delete return another map that shares all
// but one path with the old one, so that an Index with one object changed costs
// a few small copies and readers of the old Index never notice. It is a hash
// trie of 32 ways; its order depends on nothing but its keys.
//
// The zero value is empty.
type pmap[V any] struct {
	root *trieNode[V]
	size int
}

// edit marks the nodes that one builder made and may therefore change in place.
type edit struct{ _ byte }

const (
	trieBits = 5
	trieFan  = 1 << trieBits
)

// trieNode is a branch (kids) or a leaf: the entries of one hash. The first entry
// of a leaf lies in the node, where reading it costs nothing more; others are
// there only when two keys have one hash.
type trieNode[V any] struct {
	by    *edit
	kids  *[trieFan]*trieNode[V]
	hash  uint64
	first trieEntry[V]
	more  []trieEntry[V]
}

type trieEntry[V any] struct {
	key   Key
	value V
}

// hashKey is FNV-1a: unseeded, so that equal maps iterate equally in every run.
func hashKey(k Key) uint64 {
	h := uint64(14695981039346656037)
	for _, part := range [...]string{k.Kind, k.Namespace, k.Name} {
		for i := range len(part) {
			h = (h ^ uint64(part[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	return h ^ h>>32
}

func (m pmap[V]) get(k Key) (value V, ok bool) {
	hash := hashKey(k)
	n := m.root
	for shift := 0; n != nil && n.kids != nil; shift += trieBits {
		n = n.kids[hash>>shift&(trieFan-1)]
	}
	if n == nil || n.hash != hash {
		return value, false
	}
	if n.first.key == k {
		return n.first.value, true
	}
	if i := n.find(k); i >= 0 {
		return n.more[i].value, true
	}
	return value, false
}

func (m pmap[V]) has(k Key) bool {
	_, ok := m.get(k)
	return ok
}

func (m pmap[V]) set(k Key, v V, by *edit) pmap[V] {
	hash := hashKey(k)
	root, added := m.root.set(hash, 0, trieEntry[V]{k, v}, by)
	m.root = root
	if added {
		m.size++
	}
	return m
}

func (m pmap[V]) del(k Key, by *edit) pmap[V] {
	if !m.has(k) {
		return m
	}
	m.root = m.root.del(hashKey(k), 0, k, by)
	m.size--
	return m
}

// all yields every entry, in an order that depends on the keys alone.
func (m pmap[V]) all() iter.Seq2[Key, V] {
	return func(yield func(Key, V) bool) { m.root.walk(yield) }
}

// find is the place of a key among the entries beyond the first.
func (n *trieNode[V]) find(k Key) int {
	return slices.IndexFunc(n.more, func(e trieEntry[V]) bool { return e.key == k })
}

// own is n itself where this edit made it, and a copy otherwise.
func (n *trieNode[V]) own(by *edit) *trieNode[V] {
	if n.by == by {
		return n
	}
	c := &trieNode[V]{by: by, hash: n.hash, first: n.first, more: slices.Clone(n.more)}
	if n.kids != nil {
		kids := *n.kids
		c.kids = &kids
	}
	return c
}

func (n *trieNode[V]) set(hash uint64, shift int, e trieEntry[V], by *edit) (_ *trieNode[V], added bool) {
	switch {
	case n == nil:
		return &trieNode[V]{by: by, hash: hash, first: e}, true
	case n.kids == nil && n.hash == hash:
		return n.own(by).setLeaf(e)
	case n.kids == nil:
		branch := &trieNode[V]{by: by, kids: new([trieFan]*trieNode[V])}
		branch.kids[n.hash>>shift&(trieFan-1)] = n
		n = branch
	default:
		n = n.own(by)
	}
	slot := &n.kids[hash>>shift&(trieFan-1)]
	*slot, added = (*slot).set(hash, shift+trieBits, e, by)
	return n, added
}

func (n *trieNode[V]) setLeaf(e trieEntry[V]) (*trieNode[V], bool) {
	if n.first.key == e.key {
		n.first = e
		return n, false
	}
	if i := n.find(e.key); i >= 0 {
		n.more[i] = e
		return n, false
	}
	if compareKeys(e.key, n.first.key) < 0 {
		e, n.first = n.first, e
	}
	n.more = append(n.more, e)
	slices.SortFunc(n.more, func(a, b trieEntry[V]) int { return compareKeys(a.key, b.key) })
	return n, true
}

// del removes a key that is there. Empty branches go; a branch with one leaf
// stays, which costs a step when reading and nothing else.
func (n *trieNode[V]) del(hash uint64, shift int, k Key, by *edit) *trieNode[V] {
	n = n.own(by)
	if n.kids == nil {
		return n.delLeaf(k)
	}
	slot := &n.kids[hash>>shift&(trieFan-1)]
	*slot = (*slot).del(hash, shift+trieBits, k, by)
	if *n.kids == ([trieFan]*trieNode[V]{}) {
		return nil
	}
	return n
}

func (n *trieNode[V]) delLeaf(k Key) *trieNode[V] {
	switch {
	case n.first.key != k:
		i := n.find(k)
		n.more = slices.Delete(n.more, i, i+1)
	case len(n.more) == 0:
		return nil
	default:
		n.first = n.more[0]
		n.more = slices.Delete(n.more, 0, 1)
	}
	return n
}

func (n *trieNode[V]) walk(yield func(Key, V) bool) bool {
	if n == nil {
		return true
	}
	if n.kids == nil {
		if !yield(n.first.key, n.first.value) {
			return false
		}
		for _, e := range n.more {
			if !yield(e.key, e.value) {
				return false
			}
		}
		return true
	}
	for _, kid := range n.kids {
		if !kid.walk(yield) {
			return false
		}
	}
	return true
}

// multimap is a persistent map from a key to a set of keys, each with a value.
type multimap[V any] struct{ sets pmap[pmap[V]] }

func (m multimap[V]) add(k, member Key, v V, by *edit) multimap[V] {
	set, _ := m.sets.get(k)
	m.sets = m.sets.set(k, set.set(member, v, by), by)
	return m
}

func (m multimap[V]) remove(k, member Key, by *edit) multimap[V] {
	set, ok := m.sets.get(k)
	if !ok {
		return m
	}
	set = set.del(member, by)
	if set.size == 0 {
		m.sets = m.sets.del(k, by)
		return m
	}
	m.sets = m.sets.set(k, set, by)
	return m
}

// of is k's set, which may be empty.
func (m multimap[V]) of(k Key) pmap[V] {
	set, _ := m.sets.get(k)
	return set
}
