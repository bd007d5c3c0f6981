package providers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// Scan is the result of a drift scan.
type Scan struct {
	Changed []lbmodel.Owner // whose resources, or used shared ones, are not as remembered; sorted
	Next    time.Time       // when Drift wants to be called again
	Slow    string          // why scans are further apart than configured; "" when they are not
}

// scans is when the next drift scan is due. Guarded by Account.mu.
type scans struct {
	next time.Time
	slow string
}

// Drift observes everything in bulk, if a scan is due, and says who must be
// planned again. Scans are jittered by a fifth, and stretched so that they take
// at most a tenth of the time: behind a Pacer, a tenth of its read quota.
func (a *Account) Drift(ctx context.Context) (Scan, error) {
	began := a.config.Clock.Now()
	if due, scan := a.scanDue(began); !due {
		return scan, nil
	}
	changed, err := a.observe(InBackground(ctx), lbmodel.Owner{Cluster: a.config.Cluster})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scheduleScan(began)
	a.lookAgain()
	scan := Scan{Changed: a.concerned(changed), Next: a.scans.next, Slow: a.scans.slow}
	if len(scan.Changed) > 0 {
		a.config.Log.Info("the cloud is not as remembered", "resources", len(changed), "owners", len(scan.Changed))
	}
	return scan, err
}

// scanDue says whether it is time; the first scan is what any plan observes.
func (a *Account) scanDue(now time.Time) (bool, Scan) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shadow.seen && a.scans.next.IsZero() {
		a.scheduleScan(now)
	}
	due := !a.shadow.seen || !now.Before(a.scans.next)
	return due, Scan{Next: a.scans.next, Slow: a.scans.slow}
}

func (a *Account) scheduleScan(began time.Time) {
	now := a.config.Clock.Now()
	every, took := a.config.ObserveEvery, now.Sub(began)
	a.scans.slow = ""
	if 10*took > every {
		every = 10 * took
		a.scans.slow = fmt.Sprintf("a scan took %s, and scans may take a tenth of the time: every %s instead of %s",
			took.Round(time.Second), every.Round(time.Second), a.config.ObserveEvery)
	}
	jitter := 0.8 + 0.4*a.config.Rand()
	a.scans.next = now.Add(time.Duration(jitter * float64(every)))
}

// lookAgain makes the next scan come as soon as our recent writes must show, when
// the last observation contradicted one: either the read was late, or somebody has
// undone what we wrote.
func (a *Account) lookAgain() {
	at := a.config.Clock.Now().Add(a.config.Settle)
	if a.shadow.contradicted && (a.scans.next.IsZero() || at.Before(a.scans.next)) {
		a.scans.next = at
	}
}

// concerned are the owners that own or use some of the resources.
func (a *Account) concerned(ids []lbmodel.ID) []lbmodel.Owner {
	owners := map[lbmodel.Owner]struct{}{}
	for _, id := range ids {
		if owner, ok := a.wishes.owned[id]; ok {
			owners[owner] = struct{}{}
		}
		if r, ok := a.shadow.entries[id]; ok && r.Hold == lbmodel.Own {
			owners[r.Owner] = struct{}{}
		}
		if j := a.wishes.joint[id]; j != nil {
			for owner := range j.by {
				owners[owner] = struct{}{}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(owners), compareOwners)
}
