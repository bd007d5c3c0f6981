//go:build e2e

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// edit is one that an editor has thought of: what it makes of a target's answers,
// and how it is made.
type edit struct {
	next state
	make func(context.Context) error
}

// editor thinks of the n-th edit of its target, whose answers are as they are.
type editor func(rng *rand.Rand, n int, is state) edit

// followed is how long traffic may take to follow an edit while API servers and
// managers come and go. Edits of Services need the cluster's own controllers too,
// which wait longer after each API server that was away: half a minute and more.
const followed = 3 * time.Minute

// work edits a target until ctx ends, and ends only when traffic has followed the
// last edit.
func (w *world) work(ctx context.Context, t *target, think editor, rng *rand.Rand) {
	for n := 1; ctx.Err() == nil; n++ {
		t.mu.Lock()
		is := t.is
		t.mu.Unlock()
		e := think(rng, n, is)
		arrived, began := t.expect(e.next), time.Now()
		w.journal.note("edit", "of %s: %s", t.name, e.next.edit)
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), followed)
		err := e.make(deadline)
		if err == nil {
			err = w.follows(deadline, arrived)
		}
		cancel()
		if err != nil {
			w.t.Errorf("%s: traffic does not follow the edit %q within %s: %v; the cluster's endpoints:\n%s", t.name, e.next.edit, followed, err, w.endpoints())
			return
		}
		w.journal.followed(t.name, time.Since(began))
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rng.Int64N(int64(2 * time.Second)))):
		}
	}
}

// variants are what a route may become; each edit has another mark.
func (w *world) variants(name string) []func(mark string) edit {
	of := func(what string, status int, apps []string, change func(*routing)) func(string) edit {
		return func(mark string) edit {
			r := plain(name, "main", "a")
			r.mark = mark
			change(&r)
			return edit{
				state{edit: what, status: status, mark: mark, apps: apps},
				func(ctx context.Context) error { return w.put(ctx, r.String()) },
			}
		}
	}
	backends := func(what string, status int, apps []string, list string) func(string) edit {
		return of(what, status, apps, func(r *routing) { r.backends = list })
	}
	removed := func(string) edit {
		return edit{
			state{edit: "route removed", status: http.StatusNotFound},
			func(ctx context.Context) error { return w.remove(ctx, httpRoutes, namespace, name) },
		}
	}
	const ok, broken, none = http.StatusOK, http.StatusInternalServerError, http.StatusNotFound
	return []func(string) edit{
		backends("to a", ok, []string{"a"}, backend("a", "")),
		backends("to b", ok, []string{"b"}, backend("b", "")),
		backends("to a and b", ok, []string{"a", "b"}, backend("a", ", weight: 1")+", "+backend("b", ", weight: 1")),
		backends("to a, and b of weight 0", ok, []string{"a"}, backend("a", ", weight: 3")+", "+backend("b", ", weight: 0")),
		backends("to another namespace", ok, []string{"c"}, backend("c", ", namespace: elsewhere")),
		backends("to no Service", broken, nil, backend("missing", "")),
		backends("to no port", broken, nil, "{name: a, port: 81}"),
		backends("to what is not granted", broken, nil, backend("private", ", namespace: elsewhere")),
		of("to another path", none, nil, func(r *routing) { r.path = "/moved" }),
		of("to no listener", none, nil, func(r *routing) { r.parentSection = "nowhere" }),
		removed,
	}
}

// rerouted edits a route in every way.
func (w *world) rerouted(name string) editor {
	all := w.variants(name)
	return func(rng *rand.Rand, n int, is state) edit {
		for {
			e := all[rng.IntN(len(all))](fmt.Sprint(n))
			if e.next.status == http.StatusOK || e.next.status != is.status { // nothing else tells one from the other
				return e
			}
		}
	}
}

// toggled does one thing, and the opposite of it, in turn.
func toggled(away, back edit) editor {
	return func(_ *rand.Rand, n int, _ state) edit {
		if n%2 == 1 {
			return away
		}
		return back
	}
}

// switched is toggled by applying one text and another.
func (w *world) switched(away, back state, texts ...string) editor {
	return toggled(
		edit{away, func(ctx context.Context) error { return w.put(ctx, texts[0]) }},
		edit{back, func(ctx context.Context) error { return w.put(ctx, texts[1]) }},
	)
}

// rotated gives a listener new certificates.
func (w *world) rotated(secret string) editor {
	return func(_ *rand.Rand, n int, is state) edit {
		next := is
		next.edit, next.leaf = "certificate rotated", fmt.Sprintf("v%d.example", n)
		return edit{next, func(ctx context.Context) error { return w.rotate(ctx, secret, next.leaf) }}
	}
}
