package lbmodel

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
)

// FuzzDiff feeds Diff graphs that no Compile would make: circles, needs that are
// nowhere, two wishes for one slot, holds that contradict each other. Whatever it
// answers must be a well-formed plan that a strict cloud takes in any allowed
// order and that leaves nothing more to do.
func FuzzDiff(f *testing.F) {
	f.Add([]byte{}, []byte{}, uint64(1))
	f.Add([]byte{0x01, 0, 0, 0x02, 1, 0}, []byte{0x01, 2, 0}, uint64(2))
	f.Add([]byte{0x11, 2, 1, 0x12, 1, 2}, []byte{0x41, 0, 1, 0x42, 1, 2}, uint64(3))
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(engineSeed, seed))
		f.Add(randomBytes(rnd), randomBytes(rnd), seed)
	}
	f.Fuzz(func(t *testing.T, wantBytes, haveBytes []byte, seed uint64) {
		want, have := fuzzGraph(wantBytes), consistent(fuzzGraph(haveBytes))
		rnd := rand.New(rand.NewPCG(engineSeed, seed))
		plan, err := Diff(want, have, have)
		again, errAgain := Diff(rebuilt(rnd, want), rebuilt(rnd, have), rebuilt(rnd, have))
		if !reflect.DeepEqual(plan, again) || !reflect.DeepEqual(err, errAgain) {
			t.Fatalf("two plans for one input:\n%+v %v\n%+v %v", plan, err, again, errAgain)
		}
		if err := wellFormed(plan); err != nil {
			t.Fatal(err)
		}
		if err != nil && CodeOf(err) != CodeInternal {
			t.Fatalf("%v: want Internal", err)
		}
		cloud := &strictCloud{have}
		if err := runPlan(cloud, want, anyOrder(rnd, plan.Steps), 0, noFault); err != nil {
			t.Fatal(err)
		}
		if rest, _ := Diff(want, have, cloud.objects); !rest.Empty() {
			t.Fatalf("after the plan there is still to do: %+v", rest.Steps)
		}
	})
}

func randomBytes(rnd *rand.Rand) []byte {
	out := make([]byte, 3*rnd.IntN(9))
	for i := range out {
		out[i] = byte(rnd.Uint32())
	}
	return out
}

// fuzzGraph reads three bytes a resource: name, value and hold; needs; slot.
func fuzzGraph(data []byte) Graph {
	out := Graph{}
	for len(data) >= 3 {
		head, needs, slot := data[0], data[1], data[2]
		data = data[3:]
		spec := &engineSpec{Value: strconv.Itoa(int(head >> 3 & 3))}
		for k := range 8 {
			if needs&(1<<k) != 0 {
				spec.Refs = append(spec.Refs, fuzzID(k))
			}
		}
		if slot%4 != 0 {
			spec.Port = strconv.Itoa(int(slot % 4))
		}
		id := fuzzID(int(head & 7))
		out[id] = NewResource(id, spec).With(Hold(head >> 6))
	}
	return out
}

func fuzzID(k int) ID { return ID{Kind: "Box", Name: strconv.Itoa(k)} }

// consistent makes a graph one that a cloud could hold: every need is there, no
// slot is held twice.
func consistent(g Graph) Graph {
	out, slots := Graph{}, map[string]bool{}
	for k := range 8 {
		r, ok := g[fuzzID(k)]
		if !ok {
			continue
		}
		spec := *r.Spec.(*engineSpec)
		if slots[spec.Port] {
			spec.Port = ""
		}
		slots[spec.Port] = spec.Port != ""
		spec.Refs = nil
		for _, need := range needsOf(r.Spec) {
			if _, there := g[need]; there && need != r.ID {
				spec.Refs = append(spec.Refs, need)
			}
		}
		out[r.ID] = NewResource(r.ID, &spec).With(r.Hold)
	}
	return out
}
