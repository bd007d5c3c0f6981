package aws

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

var now = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// listenerOf is a gateway whose rules look at these paths.
func listenerOf(paths ...string) lbmodel.Gateway {
	l := lbmodel.Listener{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Source: lbmodel.Source{Kind: "Gateway", Name: "edge"}}
	for _, p := range paths {
		l.Rules = append(l.Rules, lbmodel.Rule{
			Source: lbmodel.Source{Kind: "HTTPRoute", Name: p}, Match: lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchExact, Value: p}},
			Action: lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 200, Body: p}},
		})
	}
	return lbmodel.Gateway{Owner: owner, Settings: []byte(strictSettings), Listeners: []lbmodel.Listener{l}}
}

func place(t *testing.T, gw lbmodel.Gateway, have lbmodel.Graph) lbmodel.Graph {
	t.Helper()
	own, _, findings := Compiler{}.Compile(gw)
	out, more := Compiler{}.Place(own, have, now)
	if len(findings)+len(more) > 0 {
		t.Fatal(findings, more)
	}
	return out
}

// prioritiesIn are the rules' by path, and whether their order is that of the paths.
func prioritiesIn(t *testing.T, g lbmodel.Graph, paths []string) map[string]int32 {
	t.Helper()
	out := map[string]int32{}
	for _, r := range g {
		if rule, ok := r.Spec.(*Rule); ok && r.Hold != lbmodel.External {
			out[rule.Action.Fixed.Body] = rule.Priority
		}
	}
	for i := 1; i < len(paths); i++ {
		if out[paths[i-1]] >= out[paths[i]] {
			t.Errorf("%s has %d and %s has %d: the order is lost", paths[i-1], out[paths[i-1]], paths[i], out[paths[i]])
		}
	}
	return out
}

func paths(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("/p%03d", i)
	}
	return out
}

// Why: one insertion, and one move, is one call, wherever it is.
func TestOneChangeIsOneNumber(t *testing.T) {
	base := paths(99)
	have := place(t, listenerOf(base...), nil)
	was := prioritiesIn(t, have, base)
	for at := range 100 {
		now := slices.Insert(slices.Clone(base), at, "/new")
		got := prioritiesIn(t, place(t, listenerOf(now...), have), now)
		delete(got, "/new")
		if !maps.Equal(got, was) {
			t.Fatalf("a rule at %d moves others", at)
		}
	}
	moved := append(slices.Clone(base[1:]), base[0])
	got := prioritiesIn(t, place(t, listenerOf(moved...), have), moved)
	delete(got, base[0])
	delete(was, base[0])
	if !maps.Equal(got, was) {
		t.Error("a move moves others")
	}
}

// Why: law 3. What was before must not show where nothing is kept of it.
func TestCanonicalWithoutHistory(t *testing.T) {
	own, _, _ := Compiler{}.Compile(listenerOf(paths(20)...))
	placed, _ := Compiler{}.Place(own, nil, now)
	for id, r := range own {
		if placed[id].Digest != r.Digest {
			t.Errorf("%s is placed elsewhere", id)
		}
	}
	if again, _ := (Compiler{}).Place(own, placed, now); len(again) != len(placed) {
		t.Error("the second plan is not empty")
	}
}

// Why: in a listener of somebody else's, their priorities are theirs.
func TestForeignPrioritiesAreRespected(t *testing.T) {
	base := paths(5)
	gw := listenerOf(base...)
	own, _, _ := Compiler{}.Compile(gw)
	listener := rulesByListener(own)
	foreign := lbmodel.Graph{}
	for ref := range listener {
		for i := range int32(1200) {
			id := lbmodel.ID{Kind: KindRule, Location: "eu-west-1", Name: fmt.Sprint("arn:", i)}
			foreign[id] = lbmodel.NewResource(id, &Rule{Listener: ref, Priority: 200 + i}).With(lbmodel.External)
		}
	}
	for path, p := range prioritiesIn(t, place(t, gw, foreign), base) {
		if p >= 200 && p < 1400 || p < 1 {
			t.Errorf("%s has the foreign priority %d", path, p)
		}
	}
}

// Why: keys, roots and targets that nobody knows anew stay what they are.
func TestPlaceKeeps(t *testing.T) {
	gw := readGateway(t, "testdata/https-verified/gateway.yaml")
	own, shared, _ := Compiler{}.Compile(gw)
	maps.Copy(own, shared)
	have, _ := Compiler{}.Place(own, nil, now)
	leaf := &lbmodel.Leaf{SHA256: "77", NotBefore: now.Add(-time.Hour), NotAfter: now.Add(23 * time.Hour), Authority: "aa"}
	for id, r := range have {
		switch spec := r.Spec.(type) {
		case *Certificate:
			if spec.Leaf == lbmodel.KnownAfterApply {
				issued := *spec
				issued.Leaf = leaf.SHA256
				r = placeSpec(r, &issued)
				r.Facts.Leaf = leaf
			}
		case *Targets:
			r = placeSpec(r, &Targets{Group: spec.Group, Targets: []Target{{ID: "10.0.0.9", Port: 8443}}})
		}
		have[id] = r
	}
	rotated := gw
	rotated.Trust = slices.Clone(gw.Trust)
	rotated.Trust[0].Roots = []lbmodel.Root{{SHA256: "cc", SPKI: "dd", NotAfter: now.Add(1000 * time.Hour), PEM: "PEM2"}}
	own, shared, _ = Compiler{}.Compile(rotated)
	maps.Copy(own, shared)
	got, findings := Compiler{}.Place(own, have, now)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	for id, r := range got {
		switch spec := r.Spec.(type) {
		case *Certificate, *Targets:
			if r.Digest != have[id].Digest {
				t.Errorf("%s is %s", id, encode(spec))
			}
		case *TrustStore:
			if len(spec.Roots) != 2 {
				t.Errorf("%s reads %v, want the old root beside the new one", id, spec.Roots)
			}
		}
	}
}

// Why: what cannot be verified is not served.
func TestUnknownRootsWait(t *testing.T) {
	gw := readGateway(t, "testdata/https-verified/gateway.yaml")
	gw.Trust[0].Roots, gw.Trust[0].Unknown = nil, true
	_, shared, _ := Compiler{}.Compile(gw)
	got, findings := Compiler{}.Place(shared, nil, now)
	if len(findings) != 1 || len(got) != 1 {
		t.Errorf("%d resources, %v", len(got), findings)
	}
}
