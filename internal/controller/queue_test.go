package controller

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

// TestLanes takes items in and out. Why this table: a user's edit must not wait
// behind a thousand gateways that are only looked at again, and those must not wait
// for ever behind users.
func TestLanes(t *testing.T) {
	tests := []struct {
		name string
		fill func(*lanes[string])
		want []string
	}{
		{"in their order", func(l *lanes[string]) { push(l, "a", "b", "c") }, []string{"a", "b", "c"}},
		{"what is urgent overtakes", func(l *lanes[string]) {
			push(l, "a", "b")
			l.hurry("c")
			push(l, "c")
		}, []string{"c", "a", "b"}},
		{"what waits becomes urgent", func(l *lanes[string]) {
			push(l, "a", "b", "c")
			l.hurry("c")
			l.Touch("c")
		}, []string{"c", "a", "b"}},
		{"what is added again stays in its place", func(l *lanes[string]) {
			push(l, "a", "b")
			l.Touch("b")
		}, []string{"a", "b"}},
		{"every eighth turn is for the others", func(l *lanes[string]) {
			push(l, "low")
			for _, item := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
				l.hurry(item)
				push(l, item)
			}
		}, []string{"1", "2", "3", "4", "5", "6", "7", "low", "8", "9"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLanes[string]()
			tt.fill(l)
			var got []string
			for l.Len() > 0 {
				got = append(got, l.Pop())
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("order (-want +got):\n%s", d)
			}
		})
	}
}

func push(l *lanes[string], items ...string) {
	for _, item := range items {
		l.Push(item)
	}
}

// TestUrgencyEndsWithTheTurn: an item that was urgent once is not so for ever.
func TestUrgencyEndsWithTheTurn(t *testing.T) {
	l := newLanes[string]()
	l.hurry("a")
	push(l, "a")
	l.Pop()
	push(l, "b", "a")
	if first := l.Pop(); first != "b" {
		t.Errorf("%s came first, want b: the urgency of a ended with its turn", first)
	}
}

// TestHangingItemsHoldUpNobody: with every worker's item hanging, another is worked
// on all the same, and no item is worked on twice at once.
func TestHangingItemsHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var done []string
		busy := map[string]int{}
		q := newQueue("", func(ctx context.Context, item string) {
			mu.Lock()
			defer mu.Unlock()
			busy[item]++
			if busy[item] > 1 {
				t.Errorf("%s is worked on twice at once", item)
			}
			if item[0] == 'h' {
				mu.Unlock()
				<-ctx.Done()
				mu.Lock()
			}
			busy[item]--
			done = append(done, item)
		})
		for _, item := range []string{"h1", "h2", "ok"} {
			q.Add(item)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); q.run(ctx, 2) }()
		synctest.Wait()
		q.Add("h1") // it is being worked on: it comes again afterwards
		time.Sleep(slowWork + time.Second)
		synctest.Wait()
		mu.Lock()
		if !slices.Equal(done, []string{"ok"}) {
			t.Errorf("done are %v, want ok: two others hang", done)
		}
		mu.Unlock()
		cancel()
		q.ShutDown()
		<-ended
	})
}

// TestStuck holds that work which does not end is told from work that does: it fails
// the health check, so that the process is started again.
func TestStuck(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	q := newQueue("stuck", func(context.Context, string) {
		close(entered)
		<-release
	})
	done := make(chan struct{})
	go func() { defer close(done); q.run(t.Context(), 1) }()
	q.Add("web")
	<-entered
	if item, found := q.stuck(0); !found || item != "web" {
		t.Errorf("stuck: %q, %v; want web", item, found)
	}
	if _, found := q.stuck(time.Hour); found {
		t.Error("what has just begun counts as stuck")
	}
	q.ShutDown()
	close(release)
	<-done
	if _, found := q.stuck(0); found {
		t.Error("what is done counts as stuck")
	}
}

// TestTries: the delay after a failure follows from how often just that happened, and
// not from how long something was only waited for.
func TestTries(t *testing.T) {
	q := newQueue("test", func(context.Context, string) {})
	defer q.ShutDown()
	for range 20 {
		q.failed("edge", lbmodel.CodePending)
	}
	if n := q.failed("edge", lbmodel.CodeDenied); n != 1 {
		t.Errorf("the first refusal counts as number %d", n)
	}
	if n := q.failed("edge", lbmodel.CodeDenied); n != 2 {
		t.Errorf("the second refusal counts as number %d", n)
	}
	q.succeeded("edge")
	if n := q.failed("edge", lbmodel.CodeDenied); n != 1 {
		t.Errorf("after a success a refusal counts as number %d", n)
	}
}
