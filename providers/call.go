package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"time"

	"gatehouse.dev/lbmodel"
)

// Call is one finished call of a provider, as metrics count it.
type Call struct {
	Op   string // verb and kind, such as CreateRule; or Observe
	Code lbmodel.Code
	Took time.Duration
}

const opObserve = "Observe"

// opOf is the name that a step's calls are paced and counted under.
func opOf(s lbmodel.Step) string { return string(s.Verb) + s.ID.Kind }

// Calls counts the calls made so far by operation (CreateRule, Observe, …),
// failed ones too. A plan of nothing adds none.
func (a *Account) Calls() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.calls)
}

// attempt is one call of the provider. finish gets what came of it as soon as
// the provider returns, however late that is, and before anyone else hears of it.
type attempt[T any] struct {
	op     string
	id     lbmodel.ID
	call   func(context.Context) (T, error)
	finish func(T, error) (T, error)
}

type reply[T any] struct {
	value T
	err   error
}

// do makes one call, in a goroutine of its own so that a provider that ignores
// its deadline cannot hold the caller: a quarter past it the caller is told that
// the outcome is unknown.
func do[T any](ctx context.Context, a *Account, at attempt[T]) (T, error) {
	limit := a.config.CallTimeout
	a.count(at.op)
	replied := make(chan reply[T], 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		began := a.config.Clock.Now()
		value, err := safely(ctx, at)
		a.watch(Call{Op: at.op, Code: lbmodel.CodeOf(err), Took: a.config.Clock.Now().Sub(began)})
		value, err = at.finish(value, err)
		replied <- reply[T]{value, err}
	}()
	late := time.NewTimer(limit + limit/4)
	defer late.Stop()
	select {
	case r := <-replied:
		return r.value, r.err
	case <-late.C:
		var none T
		a.config.Log.Warn("a call does not return", "op", at.op, "id", at.id.String(), "deadline", limit)
		return none, lbmodel.Errorf(lbmodel.CodeUnavailable, at.op, at.id,
			"the provider ignored its deadline of %s; what became of the call is unknown", limit)
	}
}

// safely calls and turns every failure into an lbmodel.Error that names the
// operation and the resource: the only place where errors are wrapped. A panic is
// the provider's bug and costs this call only; its value is not told, since it
// could hold anything.
func safely[T any](ctx context.Context, at attempt[T]) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = lbmodel.Errorf(lbmodel.CodeInternal, at.op, at.id, "the provider panicked: %s", panicText(p))
		}
	}()
	value, err = at.call(ctx)
	return value, located(at.op, at.id, err)
}

func panicText(p any) string {
	if e, ok := p.(runtime.Error); ok {
		return e.Error()
	}
	return fmt.Sprintf("%T", p)
}

// located is err with its code, operation and resource.
func located(op string, id lbmodel.ID, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*lbmodel.Error](err)
	switch {
	case !ok:
		return &lbmodel.Error{Code: lbmodel.CodeOf(err), Op: op, ID: id, Err: err}
	case e.Op != "" && e.ID != (lbmodel.ID{}):
		return err
	case any(e) != any(err): // wrapped by the provider, whose words are kept
		return &lbmodel.Error{Code: e.Code, Op: op, ID: id, RetryAfter: e.RetryAfter, Err: err}
	}
	full := *e
	full.Op = cmp.Or(full.Op, op)
	full.ID = cmp.Or(full.ID, id)
	return &full
}

func (a *Account) count(op string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[op]++
}

func (a *Account) watch(c Call) {
	if a.config.Watch != nil {
		a.config.Watch(c)
	}
}

// claim takes the right to call about a resource; release gives it back. Two
// plans that share a resource so never create it twice.
func (a *Account) claim(ctx context.Context, id lbmodel.ID) (release func(), err error) {
	patience := time.NewTimer(a.config.CallTimeout)
	defer patience.Stop()
	for {
		mine, taken := a.tryClaim(id)
		if taken == nil {
			return mine, nil
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-patience.C:
			return nil, lbmodel.Errorf(lbmodel.CodePending, "wait", id, "an earlier call about it has not returned")
		}
	}
}

func (a *Account) tryClaim(id lbmodel.ID) (release func(), taken <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ch := a.claims[id]; ch != nil {
		return nil, ch
	}
	ch := make(chan struct{})
	a.claims[id] = ch
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.claims, id)
		close(ch)
	}, nil
}
