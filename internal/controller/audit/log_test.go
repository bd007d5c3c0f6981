package audit

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

var at = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// call is an event of a finished call about a rule of this name.
func call(name string) providers.Event {
	return providers.Event{
		At: at, What: providers.Done, Called: true, Attempt: 1, Took: 40 * time.Millisecond,
		Owner: lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u"},
		Step:  lbmodel.Step{Verb: lbmodel.Create, ID: lbmodel.ID{Kind: "Rule", Name: name}, Cause: lbmodel.Desire, Why: "is new"},
	}
}

// opened is a log in a directory of the test, and its file.
func opened(t *testing.T, edit func(*Config)) (*Log, string) {
	t.Helper()
	c := Config{Path: filepath.Join(t.TempDir(), "audit.log"), Cluster: "c", Identity: "manager-0"}
	if edit != nil {
		edit(&c)
	}
	l, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, os.ErrInvalid) {
			t.Error(err)
		}
	})
	return l, c.Path
}

// names are the entries of a file in short, and "torn" for what is none.
func names(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for e, err := range Read(f) {
		switch {
		case errors.Is(err, ErrTorn):
			out = append(out, "torn")
		case err != nil:
			t.Fatal(err)
		case e.Lost > 0:
			out = append(out, fmt.Sprintf("lost %d", e.Lost))
		default:
			out = append(out, e.ID.Name)
		}
	}
	return out
}

// TestEntry keeps all that is known of a call.
func TestEntry(t *testing.T) {
	l, path := opened(t, nil)
	on := l.On(Reason{Provider: "fake", Plan: "abc", For: Object{Kind: "Gateway", Namespace: "apps", Name: "edge", Generation: 7}})
	e := call("r")
	e.Attempt, e.Err = 2, &lbmodel.Error{Code: lbmodel.CodeDenied, Op: "CreateRule", Err: numberedError{errors.New("no right")}}
	e.Step.Have.Digest = lbmodel.Digest{0xab}
	on(e)
	started := call("r")
	started.What, started.Called = providers.Started, false
	on(started)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"time":"2026-08-01T12:00:00Z","cluster":"c","identity":"manager-0","provider":"fake","gateway":"Gateway/apps/edge",` +
		`"for":{"kind":"Gateway","namespace":"apps","name":"edge","generation":7},"plan":"abc","op":"CreateRule","id":{"kind":"Rule","name":"r"},` +
		`"cause":"Desire","why":"is new","before":"ab` + strings.Repeat("0", 62) + `","attempt":2,"code":"Denied",` +
		`"error":"CreateRule: Denied: no right","request":"req-1","took":0.04}` + "\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

type numberedError struct{ error }

func (numberedError) RequestID() string { return "req-1" }

// TestTorn: whatever was cut off costs its own line only, for the reader as for the
// next process.
func TestTorn(t *testing.T) {
	l, path := opened(t, nil)
	l.On(Reason{})(call("one"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, 1, 20, len(whole) - 1, len(whole)} {
		if err := os.WriteFile(path, slices.Concat(whole, whole[:left]), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := Open(Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		again.On(Reason{})(call("two"))
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		want := map[int][]string{0: {"one", "two"}, len(whole) - 1: {"one", "one", "two"}, len(whole): {"one", "one", "two"}}[left]
		if want == nil {
			want = []string{"one", "torn", "two"}
		}
		if diff := cmp.Diff(want, names(t, path)); diff != "" {
			t.Errorf("cut after %d bytes (-want +got):\n%s", left, diff)
		}
	}
}

// TestRotation keeps a bounded number of files, each with whole entries, in order.
func TestRotation(t *testing.T) {
	l, path := opened(t, func(c *Config) { c.MaxBytes, c.Files = 600, 2 })
	for i := range 20 {
		l.On(Reason{})(call(fmt.Sprintf("r%02d", i)))
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != 3 {
		t.Fatalf("files %v, %v; want the one that is written and two before it", files, err)
	}
	slices.Sort(files) // audit.log, .1, .2
	var all []string
	for _, name := range slices.Backward(files) {
		all = append(all, names(t, name)...)
		if info, err := os.Stat(name); err != nil || info.Size() > 1200 {
			t.Errorf("%s is %d bytes, %v; want an entry more than 600 at most", name, info.Size(), err)
		}
	}
	if !slices.IsSorted(all) || slices.Contains(all, "torn") || all[len(all)-1] != "r19" {
		t.Errorf("the files hold %v", all)
	}
}

// TestUnwritable: nothing stops, everything is counted, it is said once, and the
// record itself says what it lacks.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	var said bytes.Buffer
	l, path := opened(t, func(c *Config) {
		c.Path, c.Log = filepath.Join(dir, "audit.log"), slog.New(slog.NewTextHandler(&said, nil))
	})
	on := l.On(Reason{})
	for range 3 {
		on(call("lost"))
	}
	if l.Lost() != 3 || l.Err() == nil {
		t.Errorf("lost %d, err %v; want 3 and why", l.Lost(), l.Err())
	}
	if n := strings.Count(said.String(), "level=ERROR"); n != 1 {
		t.Errorf("it was said %d times:\n%s", n, &said)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	on(call("kept"))
	if diff := cmp.Diff([]string{"lost 3", "kept"}, names(t, path)); diff != "" || l.Err() != nil {
		t.Errorf("err %v, -want +got:\n%s", l.Err(), diff)
	}
}

// TestFullDisk: every write fails half way or at once, and the pass goes on.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Logf("%v: a directory in the file's place stands for it", err)
	}
	for _, path := range []string{"/dev/full", t.TempDir()} {
		l, err := Open(Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		l.On(Reason{})(call("a"))
		l.On(Reason{})(call("b"))
		if l.Lost() != 2 || l.Err() == nil {
			t.Errorf("%s: lost %d, err %v; want 2 and why", path, l.Lost(), l.Err())
		}
		_ = l.Close() // the disk is full for it too
	}
}

// TestManyWriters: entries never mix, also while files change.
func TestManyWriters(t *testing.T) {
	l, path := opened(t, func(c *Config) { c.MaxBytes, c.Files = 4096, 100 })
	var wait sync.WaitGroup
	for w := range 8 {
		on := l.On(Reason{For: Object{Kind: "Gateway", Name: fmt.Sprint(w)}})
		wait.Go(func() {
			for i := range 25 {
				on(call(fmt.Sprintf("r%d-%d", w, i)))
			}
		})
	}
	wait.Wait()
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range files {
		for _, entry := range names(t, name) {
			seen[entry] = true
		}
	}
	if len(seen) != 200 || seen["torn"] {
		t.Errorf("%d different entries, torn %t; want 200 whole ones", len(seen), seen["torn"])
	}
}

// TestNobodyAudits: a controller without a record needs no special case.
func TestNobodyAudits(t *testing.T) {
	var l *Log
	if ctx := l.Watch(t.Context(), Reason{}); ctx != t.Context() || l.Lost() != 0 || l.Err() != nil || l.Close() != nil {
		t.Errorf("a nil log does something")
	}
}

// TestReadIsBounded: a line without an end is no entry, and no reason to stop.
func TestReadIsBounded(t *testing.T) {
	text := strings.Repeat("x", 3<<20) + "\n" + `{"time":"2026-08-01T12:00:00Z","op":"CreateRule","later":{"member":1}}`
	var got []string
	for e, err := range Read(strings.NewReader(text)) {
		got = append(got, e.Op+fmt.Sprint(err))
	}
	if diff := cmp.Diff([]string{"line 1: not an audit entry", "CreateRule<nil>"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
