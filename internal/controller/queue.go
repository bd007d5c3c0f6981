package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"gatehouse.dev/lbmodel"
)

// lanes is the order of a queue: what somebody waits for overtakes what is only to
// be looked at again. Every so often one of the others gets its turn all the same.
type lanes[T comparable] struct {
	mu          sync.Mutex
	urgent      map[T]bool // asked for and not begun
	front, back []T
	turn        int
}

// fairness is of how many turns one is kept for what is not urgent.
const fairness = 8

func newLanes[T comparable]() *lanes[T] { return &lanes[T]{urgent: map[T]bool{}} }

// hurry makes an item urgent: the one that waits, or the one that comes next.
func (l *lanes[T]) hurry(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.urgent[item] = true
}

// Touch implements workqueue.Queue: an item that waits was added again.
func (l *lanes[T]) Touch(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.back, item); i >= 0 && l.urgent[item] {
		l.back = slices.Delete(l.back, i, i+1)
		l.front = append(l.front, item)
	}
}

// Push implements workqueue.Queue.
func (l *lanes[T]) Push(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.urgent[item] {
		l.front = append(l.front, item)
	} else {
		l.back = append(l.back, item)
	}
}

// Len implements workqueue.Queue.
func (l *lanes[T]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.front) + len(l.back)
}

// Pop implements workqueue.Queue.
func (l *lanes[T]) Pop() T {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn++
	lane := &l.front
	if len(l.front) == 0 || len(l.back) > 0 && l.turn%fairness == 0 {
		lane = &l.back
	}
	item := (*lane)[0]
	*lane = (*lane)[1:]
	delete(l.urgent, item)
	return item
}

// queue hands items to workers, each to one at a time.
type queue[T comparable] struct {
	workqueue.TypedDelayingInterface[T]
	lanes *lanes[T]
	do    func(context.Context, T)

	mu    sync.Mutex
	tries map[T]tries     // in a row that did not do all
	begun map[T]time.Time // what is being worked on, since when
}

func newQueue[T comparable](name string, do func(context.Context, T)) *queue[T] {
	order := newLanes[T]()
	inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: name, Queue: order})
	return &queue[T]{
		TypedDelayingInterface: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{Name: name, Queue: inner}),
		lanes:                  order, do: do, tries: map[T]tries{}, begun: map[T]time.Time{},
	}
}

// hurry adds an item that somebody waits for.
func (q *queue[T]) hurry(item T) {
	q.lanes.hurry(item)
	q.Add(item)
}

// tries are those in a row that ended alike.
type tries struct {
	code lbmodel.Code
	n    int
}

// failed counts another try that did not do all, and says how many there were for the
// same reason: who waited long for somebody is not told late when that fails.
func (q *queue[T]) failed(item T, code lbmodel.Code) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.tries[item]
	if t.code != code {
		t = tries{code: code}
	}
	t.n++
	q.tries[item] = t
	return t.n
}

// succeeded forgets failures.
func (q *queue[T]) succeeded(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.tries, item)
}

func (q *queue[T]) begin(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begun[item] = time.Now()
}

func (q *queue[T]) end(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.begun, item)
}

// stuck finds an item that has been worked on for longer than it may take.
func (q *queue[T]) stuck(most time.Duration) (item T, found bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for item, at := range q.begun {
		if time.Since(at) > most {
			return item, true
		}
	}
	return item, false
}

// slowWork is how long an item may take before it no longer counts as one of those
// that are worked on: one gateway whose cloud hangs holds up nobody else.
const slowWork = 2 * time.Second

// run works on some items at a time until the queue is shut down, and returns when
// the last of them is done.
func (q *queue[T]) run(ctx context.Context, workers int) {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, workers)
	for {
		slots <- struct{}{}
		item, over := q.Get()
		if over {
			return
		}
		all.Go(func() {
			defer q.Done(item)
			free := sync.OnceFunc(func() { <-slots })
			defer free()
			defer time.AfterFunc(slowWork, free).Stop()
			q.begin(item)
			defer q.end(item)
			q.do(ctx, item)
		})
	}
}
