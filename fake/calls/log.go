package calls

import "slices"

// most is how long a log gets before its older half is dropped.
const most = 200_000

// Log keeps calls in the order in which they began. They are numbered from 1, and keep
// their numbers whatever is dropped. Its zero value is ready.
type Log[C any] struct {
	calls []C
	first int // the number of calls[0], less 1
}

// Next is the number that the next call gets.
func (l *Log[C]) Next() int { return l.first + len(l.calls) + 1 }

// Add logs a call.
func (l *Log[C]) Add(c C) {
	if len(l.calls) >= most {
		l.first += most / 2
		l.calls = slices.Clone(l.calls[most/2:])
	}
	l.calls = append(l.calls, c)
}

// At is a call that was logged, to be changed; nil if it was dropped or forgotten.
func (l *Log[C]) At(number int) *C {
	at := number - l.first - 1
	if at < 0 || at >= len(l.calls) {
		return nil
	}
	return &l.calls[at]
}

// All are the calls, oldest first. They are the caller's own.
func (l *Log[C]) All() []C { return slices.Clone(l.calls) }

// Forget empties the log. Calls that have begun keep their numbers.
func (l *Log[C]) Forget() {
	l.first += len(l.calls)
	l.calls = nil
}

// Count counts calls by what a key says of them; a key of "" leaves a call out.
func Count[C any](all []C, key func(C) string) map[string]int {
	out := map[string]int{}
	for _, c := range all {
		if name := key(c); name != "" {
			out[name]++
		}
	}
	return out
}
