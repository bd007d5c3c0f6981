package lbmodel

// Follower is a Spec that does not need some other resources, but whose change
// must come at the right time when one plan updates both: a client certificate
// follows the roots of the peers that it is shown to. What it follows is widened
// before it changes, and narrowed after.
type Follower interface {
	Follows() []ID
}

// Narrowing is a Spec that knows whether the way from have to it brings something,
// as a new root does, or takes something away. What only notes something does
// neither, and no follower waits for it or keeps it waiting.
type Narrowing interface {
	Widens(have Spec) bool
	Narrows(have Spec) bool
}

// linkFollowers orders updates of followers and of what they follow. Creates and
// deletes are not in use yet, or any more.
func (d *differ) linkFollowers() {
	for i, n := range d.nodes {
		f, ok := n.Want.(Follower)
		if !ok || n.Verb != Update {
			continue
		}
		for _, id := range f.Follows() {
			if j, changes := d.index[id]; changes && d.nodes[j].Verb == Update {
				d.linkFollower(i, j)
			}
		}
	}
}

func (d *differ) linkFollower(follower, leader int) {
	l := &d.nodes[leader]
	switch n, ok := l.Want.(Narrowing); {
	case !ok || n.Widens(l.Have.Spec):
		d.nodes[follower].after = append(d.nodes[follower].after, leader)
	case n.Narrows(l.Have.Spec):
		l.after = append(l.after, follower)
	}
}
