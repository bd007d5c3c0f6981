package lbmodel

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A world is a small random load balancer: templates, from which any number of
// versions are compiled. It follows the rules that Compile follows:
//
//   - What cannot be changed in place is part of the name.
//   - What lives inside a parent carries the parent's name (childName).
//   - Nobody refers into a subtree that holds a slot, except from inside it.
type world struct {
	rnd       *rand.Rand
	childName func(parent, base string) string
	templates []template
}

type template struct {
	hold    Hold
	parent  int // -1: none
	slotted bool
	moves   bool // its slot can change in place, as a rule's priority; else it is part of the name
	refs    []int
}

// carriesParent is the naming rule of the design; forgetsParent breaks it.
func carriesParent(parent, base string) string { return strings.TrimPrefix(parent+"/"+base, "/") }
func forgetsParent(_, base string) string      { return base }

func newWorld(rnd *rand.Rand, childName func(parent, base string) string) *world {
	w := &world{rnd: rnd, childName: childName}
	for i := range 4 + rnd.IntN(14) {
		w.templates = append(w.templates, w.template(i))
	}
	return w
}

func (w *world) template(i int) template {
	t := template{parent: w.rnd.IntN(i+2) - 1}
	if t.parent == i {
		t.parent = -1
	}
	t.slotted, t.moves = w.chance(45), w.chance(40)
	if t.parent < 0 {
		t.hold = []Hold{Own, Own, Own, Shared, Shared, Adopted, External}[w.rnd.IntN(7)]
	}
	for j := range i {
		if w.chance(30) && w.mayRefer(i, t, j) {
			t.refs = append(t.refs, j)
		}
	}
	return t
}

// mayRefer says whether all slotted resources on the way to j are above i too.
func (w *world) mayRefer(i int, t template, j int) bool {
	above := map[int]bool{}
	for k := t.parent; k >= 0; k = w.templates[k].parent {
		above[k] = true
	}
	for k := j; k >= 0; k = w.templates[k].parent {
		if w.templates[k].slotted && !above[k] {
			return false
		}
	}
	return j != i
}

func (w *world) chance(percent int) bool { return w.rnd.IntN(100) < percent }

// version compiles one random configuration against what is there.
func (w *world) version(have Graph) Graph {
	out, ids := Graph{}, make([]ID, len(w.templates))
	ports := w.ports()
	for i, t := range w.templates {
		parentGone := t.parent >= 0 && ids[t.parent] == (ID{})
		if parentGone || w.chance(25) {
			continue
		}
		ids[i] = w.id(i, ids, ports[i])
		out[ids[i]] = Resource{ID: ids[i], Spec: w.spec(i, ids, ports[i]), Hold: t.hold}
	}
	w.place(out, have)
	for id, r := range out {
		r.Digest = DigestOf(r.Spec)
		out[id] = r
	}
	return out
}

// ports gives each template a number of its own. Most keep theirs from version to
// version, so that a replacement wants the very slot of what it replaces.
func (w *world) ports() []int {
	out := make([]int, len(w.templates))
	for i := range out {
		out[i] = i
	}
	for range w.rnd.IntN(3) {
		i, j := w.rnd.IntN(len(out)), w.rnd.IntN(len(out))
		out[i], out[j] = out[j], out[i]
	}
	return out
}

func (w *world) id(i int, ids []ID, port int) ID {
	t := w.templates[i]
	base, parent := fmt.Sprintf("r%d", i), ""
	if t.hold == Own || t.hold == Shared {
		base += fmt.Sprintf("#%d", w.rnd.IntN(2)) // stands for the hash of the immutable fields
		if t.slotted && !t.moves {
			base += fmt.Sprintf(":%d", port)
		}
	}
	if t.parent >= 0 {
		parent = ids[t.parent].Name
	}
	return ID{Kind: "Box", Location: "here", Name: w.childName(parent, base)}
}

func (w *world) spec(i int, ids []ID, port int) *engineSpec {
	t := w.templates[i]
	s := &engineSpec{Value: fmt.Sprint(w.rnd.IntN(3))}
	if w.chance(15) {
		s.effect = "open connections are cut"
	}
	parent := "root"
	if t.parent >= 0 {
		parent = ids[t.parent].Name
		s.Refs = append(s.Refs, ids[t.parent])
	}
	for _, j := range t.refs {
		if ids[j] != (ID{}) && j != t.parent && w.chance(70) {
			s.Refs = append(s.Refs, ids[j])
		}
	}
	switch {
	case !t.slotted:
	case t.hold == External || t.hold == Adopted:
		s.Port = fmt.Sprintf("%s:fixed%d", parent, i)
	case t.moves:
		s.Port = parent + ":any"
	default:
		s.Port = fmt.Sprintf("%s:%d", parent, port)
	}
	return s
}

// place chooses the slots that can change in place, as a provider's Place does:
// some keep theirs, some move to one that is free or becomes free before, never
// in a circle.
func (w *world) place(want, have Graph) {
	free := map[string][]string{}
	var later []ID
	for _, id := range slices.SortedFunc(maps.Keys(want), ID.Compare) {
		spec := want[id].Spec.(*engineSpec)
		parent, any := strings.CutSuffix(spec.Port, ":any")
		if !any {
			continue
		}
		if free[parent] == nil {
			free[parent] = freeSlots(parent, want, have)
		}
		if held := slotOf(have[id].Spec); strings.HasPrefix(held, parent+":p") && w.chance(50) {
			spec.Port = held
			continue
		}
		later = append(later, id)
	}
	slices.SortStableFunc(later, func(a, b ID) int { // those who leave a slot first
		return strings.Compare(slotOf(have[b].Spec), slotOf(have[a].Spec))
	})
	for _, id := range later {
		w.move(want[id].Spec.(*engineSpec), slotOf(have[id].Spec), free)
	}
}

func (w *world) move(spec *engineSpec, held string, free map[string][]string) {
	parent := strings.TrimSuffix(spec.Port, ":any")
	k := w.rnd.IntN(len(free[parent]))
	spec.Port = free[parent][k]
	free[parent] = slices.Delete(free[parent], k, k+1)
	if strings.HasPrefix(held, parent+":p") {
		free[parent] = append(free[parent], held)
	}
}

// freeSlots are the slots below a parent that nobody holds, or that somebody
// holds whom nobody wants.
func freeSlots(parent string, want, have Graph) []string {
	held := map[string]bool{}
	for id, h := range have {
		if _, stays := want[id]; stays || h.Hold == External {
			held[slotOf(h.Spec)] = true
		}
	}
	var out []string
	for k := range 20 {
		if slot := fmt.Sprintf("%s:p%d", parent, k); !held[slot] {
			out = append(out, slot)
		}
	}
	return out
}

// startCloud is a cloud with the foreign and adopted objects of a version, some
// of them missing.
func (w *world) startCloud(v Graph) *strictCloud {
	c := &strictCloud{objects: Graph{}}
	for _, id := range slices.SortedFunc(maps.Keys(v), ID.Compare) {
		r := v[id]
		if (r.Hold == External || r.Hold == Adopted) && !w.chance(12) {
			spec := *r.Spec.(*engineSpec)
			c.objects[id] = NewResource(id, &spec).With(r.Hold)
		}
	}
	return c
}

// disturb lets somebody else change the cloud: values, missing objects, foreign
// objects that take a wanted slot or use one of ours.
func (w *world) disturb(c *strictCloud, want Graph) {
	for _, id := range slices.SortedFunc(maps.Keys(c.objects), ID.Compare) {
		r := c.objects[id]
		switch {
		case r.Hold == External:
		case w.chance(6):
			spec := *r.Spec.(*engineSpec)
			spec.Value = "drifted"
			c.objects[id] = NewResource(id, &spec).With(r.Hold)
		case w.chance(6) && r.Hold != Adopted:
			_ = c.remove(id) // refused while used: then it just stays
		case w.chance(3):
			c.add(ID{Kind: "Foreign", Name: "user of " + id.Name}, &engineSpec{Refs: []ID{id}})
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(want), ID.Compare) {
		if _, there := c.objects[id]; !there && w.chance(3) {
			c.add(id, &engineSpec{Value: "somebody else's"})
		}
		if slot := slotOf(want[id].Spec); slot != "" && w.chance(5) {
			c.add(ID{Kind: "Foreign", Name: "holder of " + slot}, &engineSpec{Port: slot})
		}
	}
}

// add puts a foreign object into the cloud where it fits.
func (c *strictCloud) add(id ID, spec *engineSpec) {
	for _, other := range c.objects {
		if spec.Port != "" && slotOf(other.Spec) == spec.Port {
			return
		}
	}
	c.objects[id] = NewResource(id, spec).With(External)
}
