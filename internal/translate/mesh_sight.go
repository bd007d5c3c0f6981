package translate

import (
	"reflect"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// Sight is what probes of a binding's backends have shown (MeshBinding.spec.probe).
// Whoever makes them puts one into the Snapshot.
type Sight struct {
	Binding string
	// Seen are Trust.Seen of the binding's trust, sorted.
	Seen []string
	// Pools are those with something to tell, ordered by gateway and name.
	Pools []PoolSight
}

// PoolSight is what is to be told of one gateway's pool.
type PoolSight struct {
	Gateway Key
	Pool    string // Pool.Name
	// Fails says that the hop was seen not to work; else nobody could see whether it
	// does, which proves nothing.
	Fails bool
	Text  string // for a person
}

// sight is what was seen of a binding's backends; nil is nothing.
func (x *Index) sight(binding string) *Sight {
	s, _ := lookup[*Sight](x, KindSight, "", binding)
	return s
}

// of is what was seen of one pool.
func (s *Sight) of(gateway Key, pool string) *PoolSight {
	if s == nil {
		return nil
	}
	for i := range s.Pools {
		if s.Pools[i].Gateway == gateway && s.Pools[i].Pool == pool {
			return &s.Pools[i]
		}
	}
	return nil
}

// seenOn is a trust with the roots that are seen in use.
func (x *Index) seenOn(binding string, t lbmodel.Trust) lbmodel.Trust {
	if s := x.sight(binding); s != nil {
		t.Seen = s.Seen
	}
	return t
}

// sight concerns the gateways of which something else is seen; what all of a mesh
// share is compared apart.
func (m *meshChange) sight(old, obj any) {
	before, _ := old.(*Sight)
	after, _ := obj.(*Sight)
	tell := func(a, b *Sight) {
		if a == nil {
			return
		}
		for i := range a.Pools {
			if p := &a.Pools[i]; !reflect.DeepEqual(p, b.of(p.Gateway, p.Pool)) {
				m.concerned[p.Gateway] = true
			}
		}
	}
	tell(before, after)
	tell(after, before)
}

// probed is what a probe has to say of a group that is reached; told says that there
// is something.
func (g MeshGroup) probed() (text string, told bool) {
	if g.Probe == nil {
		return "", false
	}
	return "the probe says: " + g.Probe.Text, true
}

// failed is the verdict on a group that a probe found not to work; ok is that it did
// not.
func (g MeshGroup) failed() (v meshsync.Verdict, ok bool) {
	if g.Probe == nil || !g.Probe.Fails {
		return g.Verdict, true
	}
	v = g.Verdict
	v.Path, v.Reason = meshsync.Blocked, meshsync.ReasonProbeFailed
	return v, false
}
