package dataplane

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// TestShares: any run of choices is within a few of the exact shares, so a small
// canary gets its part of little traffic too.
func TestShares(t *testing.T) {
	for range 200 {
		weights := make([]int32, 1+rand.N(6))
		var sum int64
		for i := range weights {
			weights[i] = rand.Int32N(100)
			sum += int64(weights[i])
		}
		s := newShares(weights)
		if sum == 0 {
			if s.next() != -1 {
				t.Fatalf("%v: a choice among zeros", weights)
			}
			continue
		}
		got := make([]int64, len(weights))
		n := int64(50 + rand.IntN(500))
		for range n {
			got[s.next()]++
		}
		for i, w := range weights {
			exact := float64(n) * float64(w) / float64(sum)
			if off := float64(got[i]) - exact; off > 5 || off < -5 {
				t.Fatalf("weights %v, %d choices: %v; number %d is %.1f off its share", weights, n, got, i, off)
			}
			if w == 0 && got[i] != 0 {
				t.Fatalf("weights %v: a weight of 0 was chosen", weights)
			}
		}
	}
}

// TestReplay reads a body several times, whole or in part, up to the limit.
func TestReplay(t *testing.T) {
	text := strings.Repeat("0123456789", 100)
	for _, c := range []struct {
		name, why string
		limit     int
		first     int64 // bytes that the first attempt takes
		again     bool
	}{
		{"whole", "all of it was kept", 1000, 1000, true},
		{"part", "the rest comes from the source", 1000, 300, true},
		{"none", "nothing was read yet", 10, 0, true},
		{"too large", "what was not kept is gone", 200, 700, false},
	} {
		var told []string
		r := &replay{source: iotest.OneByteReader(strings.NewReader(text)), limit: c.limit}
		r.whenRead(func(body []byte, whole bool) {
			if whole {
				told = append(told, string(body))
			}
		})
		io.CopyN(io.Discard, r.open(), c.first)
		if r.again() != c.again {
			t.Errorf("%s: again is %v: %s", c.name, r.again(), c.why)
		}
		got, err := io.ReadAll(r.open())
		if c.again && c.limit >= len(text) && (string(got) != text || len(told) != 1 || told[0] != text) {
			t.Errorf("%s: the second reader got %d bytes, %v, the copy %d: %s", c.name, len(got), err, len(told), c.why)
		}
		if !c.again && !errors.Is(err, errSpent) {
			t.Errorf("%s: %v, want %v", c.name, err, errSpent)
		}
		r.finish()
	}
}

// TestReplayReadersAtOnce gives a second attempt what a first one, given up but
// still reading, takes from the client.
func TestReplayReadersAtOnce(t *testing.T) {
	source, client := io.Pipe()
	r := &replay{source: source, limit: 100}
	first := make(chan string, 1)
	go func() {
		b := make([]byte, 10)
		n, _ := r.open().Read(b)
		first <- string(b[:n])
	}()
	client.Write([]byte("one")) // returns when a reader took it
	if got := <-first; got != "one" {
		t.Fatalf("the first attempt read %q", got)
	}
	go func() { client.Write([]byte("two")); client.Close() }()
	if got, err := io.ReadAll(r.open()); string(got) != "onetwo" || err != nil {
		t.Errorf("the second attempt read %q, %v", got, err)
	}
}
