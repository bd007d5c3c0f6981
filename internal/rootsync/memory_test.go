package rootsync

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/meshsync/roots"
)

// memory is one with everything in it.
func memory(t *testing.T, now time.Time) Memory {
	t.Helper()
	m := newCA(t, ca.Config{})
	do(t, m.Add(ca.Root{Name: "b"}))
	all := parsed(m)
	return Memory{
		Bindings: map[string]Binding{"istio": {Roots: all, Seen: map[string]time.Time{all[0].SPKI: now.Add(-13 * time.Hour), all[1].SPKI: now}}},
		Bundles: map[string][]roots.Bundle{"Bundle//SPIFFEBundle/a/12": {
			{Name: "a", Roots: all[:1], Sequence: 7, At: now.Add(-time.Hour), Problem: "status 503", Since: now.Add(-time.Minute)},
			{Name: "b", Roots: all, At: now},
		}},
	}
}

// TestMemory: what is written is read, a while later too.
func TestMemory(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	m := memory(t, now)
	text, left, err := Encode(m, "c", now)
	if err != nil || len(left) > 0 {
		t.Fatalf("left %v, %v", left, err)
	}
	got, err := Decode(text, "c", now.Add(time.Hour))
	if diff := cmp.Diff(m, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	again, _, err := Encode(got, "c", now)
	if err != nil || string(again) != string(text) {
		t.Errorf("it is written differently the second time: %v", err)
	}
	if Digest(m, now) != Digest(got, now) {
		t.Error("a restart is a reason to write")
	}
}

// TestDecode: nothing of a record counts that is not whole, of this cluster and of this
// form, and a time that nobody can vouch for is none.
func TestDecode(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	whole, _, err := Encode(memory(t, now), "c", now)
	do(t, err)
	with := func(old, replacement string) string {
		if !strings.Contains(string(whole), old) {
			t.Fatalf("there is no %q in %s", old, whole)
		}
		return strings.Replace(string(whole), old, replacement, 1)
	}
	for _, c := range []struct {
		name, text, want string
	}{
		{"nothing", "", "cannot be read"},
		{"half of it", string(whole[:len(whole)/2]), "cannot be read"},
		{"something else", `{"hello": "world"}`, "cannot be read"},
		{"more than we know", with(`"version":1`, `"version":1,"trustEverybody":true`), "cannot be read"},
		{"a later version", with(`"version":1`, `"version":2`), "version 2"},
		{"another cluster's", with(`"cluster":"c"`, `"cluster":"d"`), `cluster "d"`},
		{"a root that is not what it is called", with(`-----BEGIN CERTIFICATE-----\n`, `-----BEGIN CERTIFICATE-----\nAAAA`), "not what it is called"},
		{"a root that is missing", with(`"roots":["`, `"roots":["00`), "is missing"},
		{"a huge one", string(whole) + strings.Repeat(" ", 2<<20), "larger"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Decode([]byte(c.text), "c", now)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(got.Bindings)+len(got.Bundles) > 0 {
				t.Errorf("got %d bindings, %d bundles and %v, want %q", len(got.Bindings), len(got.Bundles), err, c.want)
			}
		})
	}
	for _, c := range []struct {
		name, why string
		at        time.Duration
		want      int // times
	}{
		{"a day later", "somebody looked often enough", Gap, 2},
		{"after more than a day", "a root may have gone and come again", Gap + time.Second, 0},
		{"by a clock that is behind a little", "", -ahead, 2},
		{"by a clock that is far behind", "nobody knows when it was", -time.Hour, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Decode(whole, "c", now.Add(c.at))
			if err != nil || len(got.Bindings["istio"].Seen) != c.want || len(got.Bindings["istio"].Roots) != 2 {
				t.Errorf("%s: %d times, %v, want %d beside two roots", c.why, len(got.Bindings["istio"].Seen), err, c.want)
			}
			for _, at := range got.Bindings["istio"].Seen {
				if at.After(now.Add(c.at)) {
					t.Errorf("a time lies ahead: %s", at)
				}
			}
		})
	}
}

// TestBounded: a record stays within what a ConfigMap holds, and says what it lacks.
func TestBounded(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	m := memory(t, now)
	one := m.Bundles["Bundle//SPIFFEBundle/a/12"][0]
	for i := range 2000 {
		one.Name = fmt.Sprintf("%03d.%s", i, strings.Repeat("x", 200))
		m.Bundles[fmt.Sprintf("%04d", i)] = []roots.Bundle{one}
	}
	text, left, err := Encode(m, "c", now)
	if err != nil || len(text) > MaxText || len(left) == 0 {
		t.Fatalf("%d bytes, %d left out, %v", len(text), len(left), err)
	}
	got, err := Decode(text, "c", now)
	if err != nil || len(got.Bindings) != 1 || len(got.Bundles)+len(left) < 2001 {
		t.Errorf("%d bindings, %d bundles, %d left out: %v", len(got.Bindings), len(got.Bundles), len(left), err)
	}
}

// TestDigest: only what would be missed is worth a write.
func TestDigest(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	const name = "Bundle//SPIFFEBundle/a/12"
	base := memory(t, now)
	edit := func(change func(b []roots.Bundle)) Memory {
		m := Memory{Bindings: base.Bindings, Bundles: map[string][]roots.Bundle{name: append([]roots.Bundle(nil), base.Bundles[name]...)}}
		change(m.Bundles[name])
		return m
	}
	for _, c := range []struct {
		name string
		m    Memory
		at   time.Time
		want bool
	}{
		{"read again", edit(func(b []roots.Bundle) { b[0].At = now }), now, false},
		{"another problem", edit(func(b []roots.Bundle) { b[0].Problem = "p" }), now, false},
		{"a higher sequence", edit(func(b []roots.Bundle) { b[0].Sequence++ }), now, true},
		{"another root", edit(func(b []roots.Bundle) { b[0].Roots = b[1].Roots }), now, true},
		{"a problem that lasts", base, now.Add(2 * time.Hour), true},
		{"a binding that is gone", Memory{Bundles: base.Bundles}, now, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Digest(c.m, c.at) != Digest(base, now); got != c.want {
				t.Errorf("worth a write: %t, want %t", got, c.want)
			}
		})
	}
}

// TestEntryName: managers that share a namespace have entries of their own.
func TestEntryName(t *testing.T) {
	a := EntryName("c", []string{"x", "y"})
	if b := EntryName("c", []string{"y", "x"}); a != b {
		t.Errorf("order matters: %s, %s", a, b)
	}
	if a == EntryName("c", []string{"x"}) || a == EntryName("d", []string{"x", "y"}) {
		t.Error("two managers have one entry")
	}
}
