package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Merge is RFC 7396: its own examples, where both sides are objects.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name              string
		into, patch, want Object
	}{
		{"replace", Object{"a": "b"}, Object{"a": "c"}, Object{"a": "c"}},
		{"add", Object{"a": "b"}, Object{"b": "c"}, Object{"a": "b", "b": "c"}},
		{"remove", Object{"a": "b", "b": "c"}, Object{"a": nil}, Object{"b": "c"}},
		{"a list is replaced", Object{"a": []any{"b"}}, Object{"a": []any{1.0}}, Object{"a": []any{1.0}}},
		{"inside", Object{"a": Object{"b": "c", "d": "e"}}, Object{"a": Object{"b": "d", "d": nil}}, Object{"a": Object{"b": "d"}}},
		{"an object over text", Object{"a": "b"}, Object{"a": Object{"b": Object{"c": nil}}}, Object{"a": Object{"b": Object{}}}},
		{"nothing to remove", Object{}, Object{"a": Object{"bb": Object{"ccc": nil}}}, Object{"a": Object{"bb": Object{}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := Clone(c.into)
			if d := cmp.Diff(c.want, Merge(c.into, c.patch)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(before, c.into); d != "" {
				t.Errorf("the argument was changed: %s", d)
			}
		})
	}
}

// Patterns name fields, elements of lists, values of maps, and any depth.
func TestVisit(t *testing.T) {
	o := Object{
		"service": "0", "list": []any{"1", "2"}, "labels": Object{"b": "4", "a": "3"},
		"matchers": []any{Object{"service": "5", "rules": []any{Object{"service": "6"}}}, Object{"action": Object{"service": "7"}}},
	}
	for _, c := range []struct{ pattern, want string }{
		{"service", "service=0 "}, {"list[]", "list[0]=1 list[1]=2 "}, {"labels.*", "labels.a=3 labels.b=4 "},
		{"matchers[].service", "matchers[0].service=5 "}, {"nothing.at.all", ""},
		{"**.service", "service=0 matchers[0].service=5 matchers[0].rules[0].service=6 matchers[1].action.service=7 "},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			got := ""
			Each(o, c.pattern, func(path string, value any) { got += path + "=" + show(value) + " " })
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	Visit(o, "**.service", func(_ string, value any) any { return "x" + show(value) })
	Strip(o, "matchers[].rules")
	want := Object{"service": "x0", "list": []any{"1", "2"}, "labels": Object{"b": "4", "a": "3"},
		"matchers": []any{Object{"service": "x5"}, Object{"action": Object{"service": "x7"}}}}
	if d := cmp.Diff(want, o); d != "" {
		t.Error(d)
	}
}

// A name is taken apart.
func TestName(t *testing.T) {
	for _, c := range []struct {
		name                                     Name
		host, scope, collection, id, at, project string
	}{
		{"//compute.googleapis.com/projects/p/global/urlMaps/u", "compute.googleapis.com", "projects/p/global", "urlMaps", "u", "global", "p"},
		{"//compute.googleapis.com/projects/p/zones/z/instances/i", "compute.googleapis.com", "projects/p/zones/z", "instances", "i", "z", "p"},
		{"//certificatemanager.googleapis.com/projects/p/locations/l/certificateMaps/m/certificateMapEntries/e", "certificatemanager.googleapis.com", "projects/p/locations/l/certificateMaps/m", "certificateMapEntries", "e", "l", "p"},
		{"//compute.googleapis.com/projects/p", "compute.googleapis.com", "", "projects", "p", "global", "p"},
	} {
		n := c.name
		got := []string{n.Host(), n.Scope(), n.Collection(), n.ID(), n.Location(), n.Project()}
		if d := cmp.Diff([]string{c.host, c.scope, c.collection, c.id, c.at, c.project}, got); d != "" {
			t.Errorf("%s: %s", n, d)
		}
	}
}

// Pages cover a list exactly, and strange tokens are refused.
func TestPage(t *testing.T) {
	all, got, token := []int{1, 2, 3, 4, 5}, []int(nil), ""
	for {
		page, next, err := Page(all, token, 2)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page...)
		if token = next; token == "" {
			break
		}
	}
	if d := cmp.Diff(all, got); d != "" {
		t.Error(d)
	}
	if _, _, err := Page(all, "?", 2); err == nil {
		t.Error("a strange token is taken")
	}
}

// What is gone is forgotten, with who it used, once nobody can ask for it any more.
func TestSweep(t *testing.T) {
	s := New(Config{Projects: []Project{{ID: "p", Number: "1"}}, Times: Times{Read: time.Second}})
	kind := &Kind{Host: "h", Collection: "things", Noun: "thing", References: []Reference{{Field: "uses", To: []string{"things"}}}}
	s.Register(kind)
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	name := func(id string) Name { return NameOf("h", "projects/p/global/things/"+id) }
	apply := func(verb Verb, id string, want Object) {
		t.Helper()
		c := testCall(now)
		if _, err := s.Apply(c, Change{Kind: kind, Name: name(id), Type: "test", Verb: verb, Want: want}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	apply(Insert, "a", Object{})
	apply(Insert, "b", Object{"uses": "global/things/a"})
	apply(Remove, "b", nil)
	if got := s.At(now).Users(name("a")); len(got) != 0 {
		t.Errorf("users %v", got)
	}
	apply(Remove, "a", nil)
	now = now.Add(time.Minute)
	apply(Insert, "c", Object{})
	if len(s.records) != 1 || len(s.users) != 0 || len(s.collections["h/things"]) != 1 || len(s.gone) != 0 {
		t.Errorf("kept: records %v, users %v, gone %v", s.records, s.users, s.gone)
	}
	for range 10 {
		apply(Update, "c", Object{"n": "x"})
	}
	if n := len(s.records[name("c")].versions); n > 3 {
		t.Errorf("%d versions are kept", n)
	}
	now = now.Add(fortnight + time.Hour)
	apply(Update, "c", Object{"n": "y"})
	if n := len(s.started); n != 1 {
		t.Errorf("%d operations are kept after two weeks", n)
	}
}
