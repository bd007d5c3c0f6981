package lbmodel

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// freeSpec is a spec of any form.
type freeSpec map[string]any

func (freeSpec) Needs() []ID { return nil }

func TestExplain(t *testing.T) {
	type list = []any
	type object = map[string]any
	tests := []struct {
		name, why  string
		have, want Spec
		changes    []string
	}{
		{"field", "path, old and new", freeSpec{"a": 1}, freeSpec{"a": 2}, []string{"a: 1 -> 2"}},
		{"come and go", "a field can be absent", freeSpec{"a": 1}, freeSpec{"b": "x"}, []string{"- a: 1", `+ b: "x"`}},
		{"nested", "only the part that differs", freeSpec{"a": object{"b": object{"c": 1, "d": 1}}},
			freeSpec{"a": object{"b": object{"c": 2, "d": 1}}}, []string{"a.b.c: 1 -> 2"}},
		{"odd keys", "a path must be unambiguous", freeSpec{"labels": object{"a.b/c": "1", "": "1"}},
			freeSpec{"labels": object{"a.b/c": "2", "": "2"}}, []string{`labels[""]: "1" -> "2"`, `labels["a.b/c"]: "1" -> "2"`}},
		{"kinds", "a value can change its kind", freeSpec{"a": list{1}}, freeSpec{"a": "1"}, []string{`a: [1] -> "1"`}},
		{"large numbers", "no digit is lost", freeSpec{"a": uint64(9007199254740993)}, freeSpec{"a": uint64(9007199254740992)},
			[]string{"a: 9007199254740993 -> 9007199254740992"}},
		{"element added", "one line, not the whole list", freeSpec{"a": list{"x", "z"}}, freeSpec{"a": list{"x", "y", "z"}},
			[]string{`+ a[1]: "y"`}},
		{"element removed", "likewise, at its old place", freeSpec{"a": list{"x", "y", "z"}}, freeSpec{"a": list{"x", "z"}},
			[]string{`- a[1]: "y"`}},
		{"elements apart", "the longest common run stays", freeSpec{"a": list{"1", "2", "3", "4", "5"}},
			freeSpec{"a": list{"2", "3", "6", "5", "7"}}, []string{`- a[0]: "1"`, `a[2]: "4" -> "6"`, `+ a[4]: "7"`}},
		{"longest run", "what stays is kept as long as possible", freeSpec{"a": list{"a", "1", "2", "b"}},
			freeSpec{"a": list{"c", "d", "1", "2", "e"}}, []string{`a[0]: "a" -> "c"`, `+ a[1]: "d"`, `a[4]: "b" -> "e"`}},
		{"named elements", "by name, wherever they stand",
			freeSpec{"a": list{object{"name": "x", "v": 1}, object{"name": "y", "v": 1}}},
			freeSpec{"a": list{object{"name": "z"}, object{"name": "x", "v": 2}}},
			[]string{`a["x"].v: 1 -> 2`, `- a["y"]: {"name":"y","v":1}`, `+ a["z"]: {"name":"z"}`}},
		{"another order", "the order is told, not every element",
			freeSpec{"a": list{object{"name": "x"}, object{"name": "y"}}}, freeSpec{"a": list{object{"name": "y"}, object{"name": "x"}}},
			[]string{`a order: ["x","y"] -> ["y","x"]`}},
		{"unnamed in another order", "likewise", freeSpec{"a": list{1, 2, 3}}, freeSpec{"a": list{3, 1, 2}},
			[]string{"a order: [1,2,3] -> [3,1,2]"}},
		{"similar elements", "without a name, half of the fields make it the same element",
			freeSpec{"a": list{object{"ip": "1", "port": 80, "zone": "a"}}}, freeSpec{"a": list{object{"ip": "2", "port": 80, "zone": "a"}}},
			[]string{`a[0].ip: "1" -> "2"`}},
		{"just similar", "exactly half is enough",
			freeSpec{"a": list{object{"ip": "1", "port": 80}}}, freeSpec{"a": list{object{"ip": "2", "port": 80}}},
			[]string{`a[0].ip: "1" -> "2"`}},
		{"unlike elements", "else one goes and one comes",
			freeSpec{"a": list{object{"ip": "1", "port": 80}}}, freeSpec{"a": list{object{"ip": "2", "port": 81}}},
			[]string{`- a[0]: {"ip":"1","port":80}`, `+ a[0]: {"ip":"2","port":81}`}},
		{"two of one name", "a name that repeats names nothing",
			freeSpec{"a": list{object{"name": "x", "v": 1}, object{"name": "x", "v": 2}}}, freeSpec{"a": list{object{"name": "x", "v": 1}}},
			[]string{`- a[1]: {"name":"x","v":2}`}},
		{"created", "everything comes", nil, freeSpec{"a": 1, "b": list{}}, []string{"+ a: 1", "+ b: []"}},
		{"deleted", "everything goes", freeSpec{"a": 1}, nil, []string{"- a: 1"}},
		{"equal", "nothing to tell", freeSpec{"a": list{1, object{"b": 2}}}, freeSpec{"a": list{1, object{"b": 2}}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, c := range Explain(test.have, test.want) {
				got = append(got, c.String())
			}
			if diff := cmp.Diff(test.changes, got); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}

// Lists too long for an exact alignment are still told element by element.
func TestExplainLongLists(t *testing.T) {
	numbers := func(step int) []any {
		out := make([]any, 3000)
		for i := range out {
			out[i] = (i * step) % 3000
		}
		return out
	}
	old, want := numbers(1), numbers(7) // the same numbers in another order
	old[5], want[5] = "gone", "come"
	var got []string
	for _, c := range Explain(freeSpec{"a": old}, freeSpec{"a": want}) {
		got = append(got, c.String())
	}
	expected := []string{`- a[5]: "gone"`, fmt.Sprintf("- a[35]: %d", 35), `+ a[5]: "come"`, "+ a[1715]: 5"}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if moved := Explain(freeSpec{"a": numbers(1)}, freeSpec{"a": numbers(7)}); len(moved) != 1 || moved[0].Path != "a order" {
		t.Errorf("%d changes: a list in another order is one change", len(moved))
	}
}

func TestWhyIsBounded(t *testing.T) {
	have, want := freeSpec{}, freeSpec{}
	for i := range 100 {
		have[fmt.Sprintf("field%02d", i)] = strings.Repeat("ö", 500)
		want[fmt.Sprintf("field%02d", i)] = i
	}
	r := func(s Spec) Graph { return Graph{boxID("a"): NewResource(boxID("a"), s)} }
	plan, err := Diff(r(want), nil, r(have))
	if err != nil {
		t.Fatal(err)
	}
	why := plan.Steps[0].Why
	if !utf8.ValidString(why) {
		t.Errorf("cut inside a rune: %q", why)
	}
	if len(why) > 400 || !strings.HasSuffix(why, "; and 98 more") || !strings.Contains(why, "… (1002 bytes) -> 0; field01: ") {
		t.Errorf("%d bytes: %s", len(why), why)
	}
}

// A digest that says "different" over equal fields is a provider's bug; the plan
// says so instead of inventing a difference.
func TestWhyOfEqualFields(t *testing.T) {
	have := box("a v=1")
	have.Digest[0]++
	plan, err := Diff(boxes("a v=1"), nil, Graph{have.ID: have})
	if err != nil {
		t.Fatal(err)
	}
	if why := plan.Steps[0].Why; why != "has another digest, though its fields look equal" {
		t.Error(why)
	}
}
