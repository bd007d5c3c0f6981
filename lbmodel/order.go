package lbmodel

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// arrange orders the nodes: each behind those it waits for, ties by rank. Nodes
// in a circle, and those behind one, come last and are held; the error names a
// circle. Edges that other edges imply are dropped.
func (d *differ) arrange() ([]int, error) {
	order := d.topological()
	d.reduce(order)
	if len(order) == len(d.nodes) {
		return order, nil
	}
	stuck := d.missingFrom(order)
	circle := d.circle(stuck)
	for _, i := range stuck {
		d.hold(i, ID{}, WaitNoOrder, "has no safe order: "+circle)
	}
	err := Errorf(CodeInternal, "diff", d.nodes[stuck[0]].ID, "no safe order: %s", circle)
	return append(order, stuck...), err
}

// topological is Kahn's algorithm with the smallest rank first. It sets levels,
// and leaves out what a circle blocks.
func (d *differ) topological() []int {
	waiting, users := d.degrees()
	var ready rankHeap
	for i, n := range waiting {
		if n == 0 {
			ready = append(ready, i) // ascending, so already a heap
		}
	}
	order := make([]int, 0, len(d.nodes))
	for len(ready) > 0 {
		i := heap.Pop(&ready).(int)
		order = append(order, i)
		for _, u := range users[i] {
			d.nodes[u].level = max(d.nodes[u].level, d.nodes[i].level+1)
			if waiting[u]--; waiting[u] == 0 {
				heap.Push(&ready, u)
			}
		}
	}
	return order
}

// degrees counts what each node waits for and turns the edges around. An edge
// named twice counts once.
func (d *differ) degrees() (waiting []int, users [][]int) {
	waiting, users = make([]int, len(d.nodes)), make([][]int, len(d.nodes))
	for i := range d.nodes {
		n := &d.nodes[i]
		slices.Sort(n.after)
		n.after = slices.Compact(n.after)
		waiting[i] = len(n.after)
		for _, j := range n.after {
			users[j] = append(users[j], i)
		}
	}
	return waiting, users
}

// reduce drops every edge that a longer path implies. A node reaches only lower
// levels, so each list is walked from the highest level down. What lies under the
// highest is remembered from node to node, since siblings mostly share it.
func (d *differ) reduce(order []int) {
	under, seen := make([]int, len(d.nodes)), make([]int, len(d.nodes))
	top, generation := -1, 0
	for _, i := range order {
		after := d.nodes[i].after
		slices.SortFunc(after, func(a, b int) int {
			return cmp.Or(cmp.Compare(d.nodes[b].level, d.nodes[a].level), cmp.Compare(a, b))
		})
		if len(after) < 2 {
			continue
		}
		if top != after[0] {
			top, generation = after[0], generation+1
			d.mark(top, under, generation, 0)
		}
		lowest := d.nodes[after[len(after)-1]].level
		kept := after[:1]
		for _, j := range after[1:] {
			if under[j] != generation && seen[j] != i+1 {
				kept = append(kept, j)
				d.mark(j, seen, i+1, lowest)
			}
		}
		d.nodes[i].after = kept
	}
}

// mark stamps everything that node i waits for, directly or not, down to a level.
func (d *differ) mark(i int, stamps []int, stamp, lowest int) {
	for _, j := range d.nodes[i].after {
		if d.nodes[j].level < lowest {
			return // sorted: the rest is lower still
		}
		if stamps[j] != stamp {
			stamps[j] = stamp
			d.mark(j, stamps, stamp, lowest)
		}
	}
}

// missingFrom are the nodes that are not in order, by rank.
func (d *differ) missingFrom(order []int) []int {
	done := make([]bool, len(d.nodes))
	for _, i := range order {
		done[i] = true
	}
	var out []int
	for i := range d.nodes {
		if !done[i] {
			out = append(out, i)
		}
	}
	return out
}

// circle finds one circle among nodes that all wait for another of them, and
// spells it.
func (d *differ) circle(stuck []int) string {
	isStuck, at := map[int]bool{}, map[int]int{}
	for _, i := range stuck {
		isStuck[i] = true
	}
	var path []int
	next := stuck[0]
	for {
		if start, again := at[next]; again {
			return d.spell(path[start:])
		}
		at[next] = len(path)
		path = append(path, next)
		k := slices.IndexFunc(d.nodes[next].after, func(j int) bool { return isStuck[j] })
		next = d.nodes[next].after[k]
	}
}

// spell writes a circle as "Delete A waits for Update B waits for Delete A".
func (d *differ) spell(circle []int) string {
	names := make([]string, 0, len(circle)+1)
	for _, i := range append(circle, circle[0]) {
		names = append(names, string(d.nodes[i].Verb)+" "+d.nodes[i].ID.String())
	}
	return strings.Join(names, " waits for ")
}

// rankHeap is a heap of nodes with the smallest rank on top.
type rankHeap []int

func (h rankHeap) Len() int           { return len(h) }
func (h rankHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h rankHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *rankHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *rankHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
