package lbmodel

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
)

// listChanges explains a list by its elements: by name where all have one, else
// by the longest common run.
func listChanges(out []Change, path string, old, want []jsontext.Value) []Change {
	for _, field := range []string{"name", "id", "key", "address"} {
		oldKeys, wantKeys := elementKeys(old, field), elementKeys(want, field)
		if oldKeys != nil && wantKeys != nil {
			return keyedChanges(out, path, keyedList{oldKeys, old}, keyedList{wantKeys, want})
		}
	}
	if len(old) == len(want) && len(onlyIn(old, want)) == 0 {
		return append(out, orderChange(path, elementTexts(old), elementTexts(want)))
	}
	for _, g := range alignLists(old, want) {
		out = gapChanges(out, path, g, old, want)
	}
	return out
}

// keyedList is a list whose elements have unique keys.
type keyedList struct {
	keys   []string
	values []jsontext.Value
}

// elementKeys are the values of one field of all elements, or nil when one lacks
// it or two share it.
func elementKeys(list []jsontext.Value, field string) []string {
	keys, seen := make([]string, 0, len(list)), make(map[string]bool, len(list))
	for _, v := range list {
		if v.Kind() != '{' {
			return nil
		}
		key := string(opened[map[string]jsontext.Value](v)[field])
		if key == "" || key[0] != '"' || seen[key] {
			return nil
		}
		seen[key] = true
		keys = append(keys, key)
	}
	return keys
}

func keyedChanges(out []Change, path string, old, want keyedList) []Change {
	oldAt, wantAt := keyPositions(old.keys), keyPositions(want.keys)
	var oldOrder, wantOrder []string // of the elements that both have
	for i, key := range old.keys {
		j, stays := wantAt[key]
		if !stays {
			out = append(out, Change{Path: path + "[" + key + "]", Old: string(old.values[i])})
			continue
		}
		oldOrder = append(oldOrder, key)
		out = changesAt(out, path+"["+key+"]", old.values[i], want.values[j])
	}
	for j, key := range want.keys {
		if _, was := oldAt[key]; was {
			wantOrder = append(wantOrder, key)
			continue
		}
		out = append(out, Change{Path: path + "[" + key + "]", New: string(want.values[j])})
	}
	if !slices.Equal(oldOrder, wantOrder) {
		out = append(out, orderChange(path, oldOrder, wantOrder))
	}
	return out
}

func keyPositions(keys []string) map[string]int {
	out := make(map[string]int, len(keys))
	for i, k := range keys {
		out[k] = i
	}
	return out
}

func orderChange(path string, old, want []string) Change {
	spelled := func(keys []string) string { return "[" + strings.Join(keys, ",") + "]" }
	return Change{Path: path + " order", Old: spelled(old), New: spelled(want)}
}

func elementTexts(list []jsontext.Value) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// listGap is a stretch where two lists differ: old[oldFrom:oldTo] stands where
// want[wantFrom:wantTo] should be.
type listGap struct{ oldFrom, oldTo, wantFrom, wantTo int }

// gapChanges pairs the elements of a gap that are alike; the others come and go.
func gapChanges(out []Change, path string, g listGap, old, want []jsontext.Value) []Change {
	i, j := g.oldFrom, g.wantFrom
	for i < g.oldTo && j < g.wantTo && alike(old[i], want[j]) {
		out = changesAt(out, elementPath(path, j), old[i], want[j])
		i, j = i+1, j+1
	}
	for ; i < g.oldTo; i++ {
		out = append(out, Change{Path: elementPath(path, i), Old: string(old[i])})
	}
	for ; j < g.wantTo; j++ {
		out = append(out, Change{Path: elementPath(path, j), New: string(want[j])})
	}
	return out
}

func elementPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// alike says whether one element is better told as a change of the other than as
// one gone and one come: scalars, lists, and objects that share half their fields.
func alike(a, b jsontext.Value) bool {
	if a.Kind() != '{' || b.Kind() != '{' {
		return a.Kind() != '{' && b.Kind() != '{'
	}
	fieldsA, fieldsB := opened[map[string]jsontext.Value](a), opened[map[string]jsontext.Value](b)
	same := 0
	for k, v := range fieldsA {
		if w, ok := fieldsB[k]; ok && string(v) == string(w) {
			same++
		}
	}
	return 2*same >= max(len(fieldsA), len(fieldsB))
}

// alignLimit bounds the table of the exact alignment; longer lists are told by
// which elements came and went.
const alignLimit = 1 << 20

// alignLists finds where two lists differ, keeping the longest common run.
func alignLists(old, want []jsontext.Value) []listGap {
	from := 0
	for from < len(old) && from < len(want) && string(old[from]) == string(want[from]) {
		from++
	}
	oldTo, wantTo := len(old), len(want)
	for oldTo > from && wantTo > from && string(old[oldTo-1]) == string(want[wantTo-1]) {
		oldTo, wantTo = oldTo-1, wantTo-1
	}
	if (oldTo-from)*(wantTo-from) > alignLimit {
		return unorderedGaps(old[from:oldTo], want[from:wantTo], from)
	}
	return exactGaps(old[from:oldTo], want[from:wantTo], from)
}

// exactGaps is the textbook longest common subsequence.
func exactGaps(old, want []jsontext.Value, offset int) []listGap {
	width := len(want) + 1
	common := make([]int32, (len(old)+1)*width) // of old[i:] and want[j:]
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(want) - 1; j >= 0; j-- {
			if string(old[i]) == string(want[j]) {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	var gaps []listGap
	for i, j := 0, 0; i < len(old) || j < len(want); {
		g := listGap{oldFrom: i + offset, wantFrom: j + offset}
		for i < len(old) || j < len(want) {
			if i < len(old) && j < len(want) && string(old[i]) == string(want[j]) {
				break
			}
			if j == len(want) || i < len(old) && common[(i+1)*width+j] >= common[i*width+j+1] {
				i++
			} else {
				j++
			}
		}
		g.oldTo, g.wantTo = i+offset, j+offset
		if g.oldFrom < g.oldTo || g.wantFrom < g.wantTo {
			gaps = append(gaps, g)
		}
		i, j = i+1, j+1 // over the common element
	}
	return gaps
}

// unorderedGaps names the elements that only one list has.
func unorderedGaps(old, want []jsontext.Value, offset int) []listGap {
	var gaps []listGap
	for _, i := range onlyIn(old, want) {
		gaps = append(gaps, listGap{oldFrom: i + offset, oldTo: i + offset + 1})
	}
	for _, j := range onlyIn(want, old) {
		gaps = append(gaps, listGap{wantFrom: j + offset, wantTo: j + offset + 1})
	}
	return gaps
}

// onlyIn are the positions of the elements of a that b has not, or not as often.
func onlyIn(a, b []jsontext.Value) []int {
	count := make(map[string]int, len(b))
	for _, v := range b {
		count[string(v)]++
	}
	var out []int
	for i, v := range a {
		if count[string(v)]--; count[string(v)] < 0 {
			out = append(out, i)
		}
	}
	return out
}
