package translate

import (
	"iter"
	"slices"
)

// pmap is a persistent map: set and delete return another map that shares all
// but one path with the old one, so that an Index with one object changed costs
// a few small copies and readers of the old Index never notice. It is a hash
// trie of 16 ways; its order depends on nothing but its keys.
//
// The zero value is empty.
type pmap[V any] struct {
	root trieSlot[V]
	size int
}

// edit marks the nodes that one builder made and may therefore change in place.
type edit struct{ _ byte }

const (
	trieBits = 4
	trieFan  = 1 << trieBits
)

// trieSlot holds a branch, a leaf or nothing. Which of them it is lies here and
// not in what it points at, so that a level of a large map costs one wait for
// memory and not two.
type trieSlot[V any] struct {
	branch *trieBranch[V]
	leaf   *trieLeaf[V]
}

type trieBranch[V any] struct {
	by    *edit
	slots [trieFan]trieSlot[V]
}

// trieLeaf has the entries of one hash. The first lies in the leaf, where reading
// it costs nothing more; others are there only when two keys have one hash.
type trieLeaf[V any] struct {
	by    *edit
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
	leaf := m.root.leaf
	for b, shift := m.root.branch, 0; b != nil; shift += trieBits {
		slot := &b.slots[hash>>shift&(trieFan-1)]
		b, leaf = slot.branch, slot.leaf
	}
	if leaf == nil || leaf.hash != hash {
		return value, false
	}
	if leaf.first.key == k {
		return leaf.first.value, true
	}
	if i := leaf.find(k); i >= 0 {
		return leaf.more[i].value, true
	}
	return value, false
}

func (m pmap[V]) has(k Key) bool {
	_, ok := m.get(k)
	return ok
}

func (m pmap[V]) set(k Key, v V, by *edit) pmap[V] {
	m, value := m.slot(k, by)
	*value = v
	return m
}

// slot is the map with a value for k that the edit may write to, zero where there
// was none. It is good until the map's next change.
func (m pmap[V]) slot(k Key, by *edit) (_ pmap[V], value *V) {
	value, added := m.root.slot(hashKey(k), 0, k, by)
	if added {
		m.size++
	}
	return m, value
}

func (m pmap[V]) del(k Key, by *edit) pmap[V] {
	if m.has(k) {
		m.root.del(hashKey(k), 0, k, by)
		m.size--
	}
	return m
}

// all yields every entry, in an order that depends on the keys alone.
func (m pmap[V]) all() iter.Seq2[Key, V] {
	return func(yield func(Key, V) bool) { m.root.walk(yield) }
}

// own makes what is in the slot the edit's own: what others made is copied.
func (s *trieSlot[V]) own(by *edit) {
	switch {
	case s.branch != nil && s.branch.by != by:
		s.branch = &trieBranch[V]{by: by, slots: s.branch.slots}
	case s.leaf != nil && s.leaf.by != by:
		l := *s.leaf
		l.by, l.more = by, slices.Clone(l.more)
		s.leaf = &l
	}
}

func (s *trieSlot[V]) slot(hash uint64, shift int, k Key, by *edit) (value *V, added bool) {
	switch {
	case s.branch == nil && s.leaf == nil:
		s.leaf = &trieLeaf[V]{by: by, hash: hash, first: trieEntry[V]{key: k}}
		return &s.leaf.first.value, true
	case s.leaf != nil && s.leaf.hash == hash:
		s.own(by)
		return s.leaf.slot(k)
	case s.leaf != nil:
		b := &trieBranch[V]{by: by}
		b.slots[s.leaf.hash>>shift&(trieFan-1)] = *s
		*s = trieSlot[V]{branch: b}
	default:
		s.own(by)
	}
	return s.branch.slots[hash>>shift&(trieFan-1)].slot(hash, shift+trieBits, k, by)
}

// del removes a key that is there. Empty branches go; a branch with one leaf
// stays, which costs a step when reading and nothing else.
func (s *trieSlot[V]) del(hash uint64, shift int, k Key, by *edit) {
	s.own(by)
	if s.leaf != nil {
		if s.leaf.del(k) {
			s.leaf = nil
		}
		return
	}
	s.branch.slots[hash>>shift&(trieFan-1)].del(hash, shift+trieBits, k, by)
	if s.branch.slots == ([trieFan]trieSlot[V]{}) {
		s.branch = nil
	}
}

func (s *trieSlot[V]) walk(yield func(Key, V) bool) bool {
	if s.leaf != nil {
		return s.leaf.walk(yield)
	}
	if s.branch != nil {
		for i := range s.branch.slots {
			if !s.branch.slots[i].walk(yield) {
				return false
			}
		}
	}
	return true
}

// find is the place of a key among the entries beyond the first.
func (l *trieLeaf[V]) find(k Key) int {
	return slices.IndexFunc(l.more, func(e trieEntry[V]) bool { return e.key == k })
}

// slot keeps the entries of one hash in the order of their keys.
func (l *trieLeaf[V]) slot(k Key) (value *V, added bool) {
	if l.first.key == k {
		return &l.first.value, false
	}
	if i := l.find(k); i >= 0 {
		return &l.more[i].value, false
	}
	e := trieEntry[V]{key: k}
	if compareKeys(k, l.first.key) < 0 {
		l.more = slices.Insert(l.more, 0, l.first)
		l.first = e
		return &l.first.value, true
	}
	i, _ := slices.BinarySearchFunc(l.more, k, func(e trieEntry[V], k Key) int { return compareKeys(e.key, k) })
	l.more = slices.Insert(l.more, i, e)
	return &l.more[i].value, true
}

// del removes a key that is there, and says whether it was the last.
func (l *trieLeaf[V]) del(k Key) (last bool) {
	switch {
	case l.first.key != k:
		i := l.find(k)
		l.more = slices.Delete(l.more, i, i+1)
	case len(l.more) == 0:
		return true
	default:
		l.first = l.more[0]
		l.more = slices.Delete(l.more, 0, 1)
	}
	return false
}

func (l *trieLeaf[V]) walk(yield func(Key, V) bool) bool {
	if !yield(l.first.key, l.first.value) {
		return false
	}
	for i := range l.more {
		if !yield(l.more[i].key, l.more[i].value) {
			return false
		}
	}
	return true
}
