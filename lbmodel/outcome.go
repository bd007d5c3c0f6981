package lbmodel

import (
	"errors"
	"maps"
	"slices"
)

// Err is all failures of an outcome as one error, ordered by ID; nil when nothing
// failed. CodeOf of it is the code of the first.
func (o Outcome) Err() error {
	failures := make([]error, 0, len(o.Failed))
	for _, id := range slices.SortedFunc(maps.Keys(o.Failed), ID.Compare) {
		failures = append(failures, o.Failed[id])
	}
	return errors.Join(failures...)
}

// Settled says whether everything is there that is wanted: nothing failed, nothing
// was left untried, and nothing waits for anybody (Wait.Unmet).
func (o Outcome) Settled() bool {
	return len(o.Failed) == 0 && len(o.Blocked) == 0 && !slices.ContainsFunc(o.Held.Later, Wait.Unmet)
}
