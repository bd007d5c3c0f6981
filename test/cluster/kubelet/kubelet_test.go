package kubelet

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestExpand(t *testing.T) {
	env := environment{"A": "1", "EMPTY": ""}
	for _, c := range []struct{ name, text, want, why string }{
		{"known", "x$(A)y", "x1y", "a reference is replaced"},
		{"empty", "x$(EMPTY)y", "xy", "an empty value is a value"},
		{"unknown", "x$(B)y", "x$(B)y", "an unknown name stays as written"},
		{"escaped", "$$(A)", "$(A)", "a doubled dollar is one, and no reference"},
		{"open", "$(A", "$(A", "what does not end is no reference"},
		{"dollar", "5$ and $", "5$ and $", "a dollar alone is a dollar"},
		{"two", "$(A)$(A)", "11", "all are replaced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := env.expand(c.text); got != c.want {
				t.Errorf("expand(%q) = %q, want %q: %s", c.text, got, c.want, c.why)
			}
		})
	}
}

// TestPayload writes a volume through its states. Programs that watch a volume
// rely on the link that is swapped, and on nothing being touched without need.
func TestPayload(t *testing.T) {
	dir := t.TempDir()
	one := payload{"a": {data: []byte("1"), mode: 0o644}, "deep/b": {data: []byte("2"), mode: 0o400}}
	two := payload{"a": {data: []byte("3"), mode: 0o644}}
	for _, step := range []struct {
		name  string
		write payload
		want  map[string]string
		same  bool
	}{
		{"new", one, map[string]string{"a": "1", "deep/b": "2"}, false},
		{"again", one, map[string]string{"a": "1", "deep/b": "2"}, true},
		{"changed, and one gone", two, map[string]string{"a": "3"}, false},
		{"empty", payload{}, map[string]string{}, false},
	} {
		t.Run(step.name, func(t *testing.T) {
			before, _ := os.Readlink(filepath.Join(dir, current)) // not there before the first
			if err := step.write.write(dir); err != nil {
				t.Fatal(err)
			}
			after, err := os.Readlink(filepath.Join(dir, current))
			if err != nil || (before == after) != step.same {
				t.Errorf("link %q became %q (%v), want the same: %v", before, after, err, step.same)
			}
			if diff := cmp.Diff(step.want, visible(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// visible reads a volume as a program does, through its links.
func visible(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"[^.]*", "[^.]*/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil { // folders are no files
				out[strings.TrimPrefix(name, dir+"/")] = string(text)
			}
		}
	}
	return out
}

func TestPayloadAdd(t *testing.T) {
	data := map[string][]byte{"k": []byte("v")}
	for _, c := range []struct {
		name, why string
		items     []corev1.KeyToPath
		optional  *bool
		bad       bool
		want      []string
	}{
		{"all", "no items means every key", nil, nil, false, []string{"k"}},
		{"renamed", "an item is at its path", []corev1.KeyToPath{{Key: "k", Path: "x/y"}}, nil, false, []string{"x/y"}},
		{"missing", "a key that is not there is waited for", []corev1.KeyToPath{{Key: "m", Path: "m"}}, nil, true, nil},
		{"optional", "unless nobody needs it", []corev1.KeyToPath{{Key: "m", Path: "m"}}, new(true), false, nil},
		{"outside", "no path leads out of the volume", []corev1.KeyToPath{{Key: "k", Path: "../k"}}, nil, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := payload{}
			err := p.add(data, c.items, nil, c.optional)
			if (err != nil) != c.bad {
				t.Fatalf("error = %v: %s", err, c.why)
			}
			var got []string
			for name := range p {
				got = append(got, name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}

func TestLog(t *testing.T) {
	k := &Kubelet{config: Config{Dir: t.TempDir()}}
	l, err := k.openLog("x")
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("one\ntw")
	time.Sleep(2 * time.Millisecond)
	middle := time.Now()
	write("o\nthree")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	close(over)
	for _, c := range []struct {
		name, why, want string
		q               query
	}{
		{"all", "a line is whole whatever the writes were, also the last", "one\ntwo\nthree\n", query{tail: -1}},
		{"tail", "the last lines", "two\nthree\n", query{tail: 2}},
		{"none", "a tail of none", "", query{tail: 0}},
		{"since", "a line has the time of its end", "two\nthree\n", query{tail: -1, since: middle}},
		{"limit", "at most so many bytes", "one\nt", query{tail: -1, limit: 5}},
		{"follow", "following what has ended ends", "one\ntwo\nthree\n", query{tail: -1, follow: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := c.q.read(t.Context(), k.logPath("x"), &out, over); err != nil && c.q.limit == 0 {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("read %q, want %q: %s", out.String(), c.want, c.why)
			}
		})
	}
}

// TestLogFollow reads while it is written, until the program has ended.
func TestLogFollow(t *testing.T) {
	k := &Kubelet{config: Config{Dir: t.TempDir()}}
	l, err := k.openLog("x")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for _, s := range []string{"a\n", "b", "c\n"} {
			time.Sleep(20 * time.Millisecond)
			_, _ = l.Write([]byte(s)) // the reader sees it or fails
		}
		l.Close()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var out bytes.Buffer
	if err := (query{tail: -1, follow: true}).read(ctx, k.logPath("x"), &out, over); err != nil {
		t.Fatal(err)
	}
	if out.String() != "a\nbc\n" {
		t.Errorf("read %q", out.String())
	}
}

// TestPool takes addresses: none twice, none soon again.
func TestPool(t *testing.T) {
	p := newPool([]netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:1::/64")})
	n, first, err := p.take()
	if err != nil {
		t.Fatal(err)
	}
	if want := []netip.Addr{netip.MustParseAddr("10.244.0.2"), netip.MustParseAddr("fd00:1::2")}; !cmp.Equal(first, want, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })) {
		t.Errorf("first addresses = %v, want %v", first, want)
	}
	p.give(n)
	seen := map[netip.Addr]bool{}
	for range 1 << 12 {
		_, a, err := p.take()
		if err != nil {
			t.Fatal(err)
		}
		if seen[a[0]] || a[0] == first[0] {
			t.Fatalf("%s was given twice", a[0])
		}
		seen[a[0]] = true
	}
}
