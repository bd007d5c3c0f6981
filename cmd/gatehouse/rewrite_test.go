//go:build unix

package main

import (
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// rewrite WAY FILE ADDRESS URL PREFIX: writes a file thirty times a second for a
// while, as worse editors do, under load: no answer may begin otherwise. WAY is
// truncate (emptied, and written in two halves) or backup (moved away, and written
// anew).
func rewrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: rewrite truncate|backup FILE ADDRESS URL PREFIX")
	}
	name, text := ts.MkAbs(args[1]), ts.ReadFile(args[1])
	deadline := time.Now().Add(1500 * time.Millisecond)
	var load sync.WaitGroup
	var lost, asked atomic.Int64
	var first atomic.Value
	for range 2 {
		load.Go(func() {
			for time.Now().Before(deadline.Add(1200 * time.Millisecond)) { // also what is decided afterwards
				asked.Add(1)
				if got := ask(args[2], args[3]); !strings.HasPrefix(got, args[4]) {
					lost.Add(1)
					first.CompareAndSwap(nil, got)
				}
			}
		})
	}
	var trouble error
	for time.Now().Before(deadline) && trouble == nil {
		trouble = rewriteOnce(args[0], name, text)
		time.Sleep(28 * time.Millisecond)
	}
	load.Wait()
	ts.Check(trouble)
	ts.Logf("%d of %d requests lost", lost.Load(), asked.Load())
	if lost.Load() > 0 || asked.Load() < 100 {
		ts.Fatalf("%d of %d requests lost, the first answer was %q", lost.Load(), asked.Load(), first.Load())
	}
}

func rewriteOnce(way, name, text string) error {
	if way == "backup" {
		if err := os.Rename(name, name+"~"); err != nil {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	for _, half := range []string{text[:len(text)/2], text[len(text)/2:]} {
		time.Sleep(time.Millisecond)
		if _, err := f.WriteString(half); err != nil {
			return err
		}
	}
	return f.Close()
}

// occupy ADDRESS: listens there until the script ends, as another program would.
func occupy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: occupy ADDRESS")
	}
	l, err := net.Listen("tcp", args[0])
	ts.Check(err)
	ts.Defer(func() { l.Close() })
}

// empty FILE: leaves nothing of its content, in place.
func empty(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.Truncate(ts.MkAbs(args[0]), 0))
}
