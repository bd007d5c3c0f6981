package translate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// TestPmap compares the persistent map with Go's own through random changes, and
// checks that older versions never change. Few keys make sets and deletes meet.
func TestPmap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	type version struct {
		m    pmap[int]
		want map[Key]int
	}
	versions := []version{{want: map[Key]int{}}}
	for i := range 4000 {
		last := versions[len(versions)-1]
		next := version{last.m, maps.Clone(last.want)}
		key := Key{"K", "", fmt.Sprint(rng.IntN(300))}
		if rng.IntN(3) == 0 {
			next.m = next.m.del(key, new(edit))
			delete(next.want, key)
		} else {
			next.m = next.m.set(key, i, new(edit))
			next.want[key] = i
		}
		if versions = append(versions, next); len(versions) > 50 {
			versions = versions[1:]
		}
	}
	for _, v := range versions {
		if got := maps.Collect(v.m.all()); !maps.Equal(got, v.want) || v.m.size != len(v.want) {
			t.Fatalf("a version has %d entries of size %d, want %d", len(got), v.m.size, len(v.want))
		}
		for key, want := range v.want {
			if got, ok := v.m.get(key); !ok || got != want {
				t.Fatalf("%s is %d, want %d", key, got, want)
			}
		}
	}
}

// TestPmapOneHash: keys of one hash live in one leaf, in the order of their
// names, and each can be replaced and removed.
func TestPmapOneHash(t *testing.T) {
	leaf := &trieLeaf[int]{by: new(edit), first: trieEntry[int]{Key{Name: "b"}, 1}}
	for i, name := range []string{"c", "a", "b", "c"} {
		value, _ := leaf.slot(Key{Name: name})
		*value = 10 + i
	}
	order := ""
	leaf.walk(func(k Key, v int) bool { order += fmt.Sprint(k.Name, v, " "); return true })
	want(t, "leaf", order, "a11 b12 c13 ")
	for _, name := range []string{"a", "c", "b"} {
		if last := leaf.del(Key{Name: name}); last != (name == "b") {
			t.Errorf("%s is the last: %v", name, last)
		}
	}
}
