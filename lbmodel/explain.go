package lbmodel

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// KnownAfterApply is what a Spec's text field holds when only the cloud, or the
// cluster, can tell its value later. Plans print it without quotes.
const KnownAfterApply = "(known after apply)"

// Change is one difference between two Specs. Old and New are compact JSON; an
// empty Old means added, an empty New removed.
type Change struct {
	Path string `json:"path"` // listeners["web"].ports[0]
	Old  string `json:"old,omitzero"`
	New  string `json:"new,omitzero"`
}

// Explain lists how want differs from have, smallest differences first in depth:
// a list that gained one element is one Change. Either may be nil.
func Explain(have, want Spec) []Change {
	return changesAt(nil, "", encodedSpec(have), encodedSpec(want))
}

// The bounds of what a plan says in one line, in bytes.
const (
	whyLimit   = 300
	valueLimit = 80
)

// explainStep fills in what a person wants to know of a step.
func explainStep(s *Step) {
	s.Why = whyOf(*s)
	s.Impact = impactOf(*s)
}

func whyOf(s Step) string {
	drifted := s.Cause == Drift
	switch {
	case s.For != nil:
		return "keeps the place of what lacks something that it needs, and answers that it cannot serve"
	case s.Verb == Create && drifted:
		return "was removed outside of Gatehouse"
	case s.Verb == Create:
		return "is new"
	case s.Verb == Delete && drifted:
		return "was added outside of Gatehouse"
	case s.Verb == Delete:
		return "is no longer wanted"
	case drifted:
		return "was changed outside of Gatehouse, puts back " + summary(Explain(s.Have.Spec, s.Want))
	default:
		return summary(Explain(s.Have.Spec, s.Want))
	}
}

// impactOf asks the Spec that is there for what deleting it means, and the
// wanted one for everything else.
func impactOf(s Step) string {
	subject := s.Want
	if s.Verb == Delete {
		subject = s.Have.Spec
	}
	if e, ok := subject.(Explained); ok {
		return e.Impact(s.Verb, s.Have.Spec)
	}
	return ""
}

// summary is the changes in one bounded line.
func summary(changes []Change) string {
	if len(changes) == 0 {
		return "has another digest, though its fields look equal"
	}
	var out strings.Builder
	for i, c := range changes {
		text := c.String()
		if i > 0 && out.Len()+len(text) > whyLimit {
			fmt.Fprintf(&out, "; and %d more", len(changes)-i)
			break
		}
		if i > 0 {
			out.WriteString("; ")
		}
		out.WriteString(text)
	}
	return out.String()
}

// String is the change in one bounded line.
func (c Change) String() string {
	path := shorten(c.Path, valueLimit)
	switch {
	case c.Old == "":
		return "+ " + path + ": " + shownValue(c.New)
	case c.New == "":
		return "- " + path + ": " + shownValue(c.Old)
	default:
		return path + ": " + shownValue(c.Old) + " -> " + shownValue(c.New)
	}
}

// shownValue is a value as plans print it.
func shownValue(text string) string {
	if text == strconv.Quote(KnownAfterApply) {
		return KnownAfterApply
	}
	if id := shownID(text); id != "" {
		text = id
	}
	return shorten(text, valueLimit)
}

// shorten cuts text to about limit bytes, between runes, and says how much is
// missing.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:cut], len(text))
}

func encodedSpec(s Spec) jsontext.Value {
	if s == nil {
		return jsontext.Value("{}")
	}
	return canonical(s)
}

// changesAt appends how two encoded values at one path differ. Equal parts are
// never opened.
func changesAt(out []Change, path string, old, want jsontext.Value) []Change {
	switch {
	case bytes.Equal(old, want):
		return out
	case old.Kind() == '{' && want.Kind() == '{':
		return objectChanges(out, path, opened[map[string]jsontext.Value](old), opened[map[string]jsontext.Value](want))
	case old.Kind() == '[' && want.Kind() == '[':
		return listChanges(out, path, opened[[]jsontext.Value](old), opened[[]jsontext.Value](want))
	default:
		return append(out, Change{Path: path, Old: string(old), New: string(want)})
	}
}

// opened decodes one level of a value that canonical has written.
func opened[T any](v jsontext.Value) T {
	var out T
	if err := json.Unmarshal(v, &out); err != nil {
		panic(fmt.Sprintf("lbmodel: a spec's own encoding cannot be read: %v", err))
	}
	return out
}

func objectChanges(out []Change, path string, old, want map[string]jsontext.Value) []Change {
	keys := maps.Clone(old)
	maps.Copy(keys, want)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		at := memberPath(path, k)
		switch o, w := old[k], want[k]; {
		case o == nil:
			out = append(out, Change{Path: at, New: string(w)})
		case w == nil:
			out = append(out, Change{Path: at, Old: string(o)})
		default:
			out = changesAt(out, at, o, w)
		}
	}
	return out
}

// memberPath is path.key, or path["key"] where key is not a plain word.
func memberPath(path, key string) string {
	plain := strings.IndexFunc(key, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
	switch {
	case !plain || key == "":
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

// spread appends a change as lines that are easy to read: an object that comes or
// goes is told by its parts when it is long, a list when it is long or holds
// objects.
func spread(out []Change, c Change) []Change {
	old, want := jsontext.Value(c.Old), jsontext.Value(c.New)
	whole, empty := want, jsontext.Value(nil)
	switch {
	case c.New == "":
		whole = old
	case c.Old != "":
		return append(out, c)
	}
	switch long := len(whole) > valueLimit; {
	case whole.Kind() == '{' && long && shownID(string(whole)) == "":
		empty = jsontext.Value("{}")
	case whole.Kind() == '[' && (long || len(whole) > 1 && whole[1] == '{'):
		empty = jsontext.Value("[]")
	default:
		return append(out, c)
	}
	if c.New == "" {
		want = empty
	} else {
		old = empty
	}
	for _, part := range changesAt(nil, c.Path, old, want) {
		out = spread(out, part)
	}
	return out
}

// shownID is the plain form of an encoded ID, or "" for any other value.
func shownID(text string) string {
	var id ID
	if text == "" || text[0] != '{' || json.Unmarshal([]byte(text), &id, json.RejectUnknownMembers(true)) != nil {
		return ""
	}
	if id.Kind == "" || id.Name == "" {
		return ""
	}
	return id.String()
}
