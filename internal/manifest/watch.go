package manifest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch tells of changes of what Load would read from the paths, until the
// context ends. It returns the context's error. One value is sent for a burst of
// changes; while nobody takes it, further changes are covered by it. Start it
// before Load, so that no change falls between. Standard input cannot change.
//
// What decides is a fingerprint of the files (names, links, sizes, times), which
// holds for editors that replace a file, for a mounted ConfigMap whose link is
// swapped, and for files that come and go. The system's notifications only make
// it quick: without them, as on network file systems, it is taken by the clock.
func Watch(ctx context.Context, paths []string, changed chan<- struct{}) error {
	w := watcher{
		paths: paths, changed: changed,
		quiet: 50 * time.Millisecond, patience: 500 * time.Millisecond,
		poll: 5 * time.Second, blindPoll: time.Second,
	}
	return w.run(ctx)
}

type watcher struct {
	paths   []string
	changed chan<- struct{}

	quiet     time.Duration // without an event, before a burst counts as over
	patience  time.Duration // with a burst that does not end
	poll      time.Duration // between looks that nothing asked for
	blindPoll time.Duration // likewise, when the system notifies of nothing

	notify *fsnotify.Watcher // nil when there is none
}

func (w *watcher) run(ctx context.Context) error {
	// Without notifications (no inotify instances left, say) polling goes on.
	if notify, err := fsnotify.NewWatcher(); err == nil {
		w.notify = notify
		defer notify.Close() //nolint:errcheck // nothing is left to lose
	}
	return w.follows(ctx, w.look())
}

// follows tells of every fingerprint that is not the last.
func (w *watcher) follows(ctx context.Context, last fingerprint) error {
	for {
		w.wait(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		now := w.look()
		if now == last {
			continue
		}
		last = now
		select {
		case w.changed <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait returns when it is time to look again.
func (w *watcher) wait(ctx context.Context) {
	events, interval := w.events()
	timer := time.NewTimer(interval)
	defer timer.Stop()
	var deadline time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case err := <-w.errors():
			if err != nil {
				return // events were lost: look
			}
		case <-events:
			now := time.Now()
			if deadline.IsZero() {
				deadline = now.Add(w.patience)
			}
			timer.Reset(min(w.quiet, deadline.Sub(now)))
		}
	}
}

func (w *watcher) events() (<-chan fsnotify.Event, time.Duration) {
	if w.notify == nil {
		return nil, w.blindPoll
	}
	return w.notify.Events, w.poll
}

func (w *watcher) errors() <-chan error {
	if w.notify == nil {
		return nil
	}
	return w.notify.Errors
}

// fingerprint stands for the state of all files.
type fingerprint string

// rounds bound how often one look walks. Folders that keep coming, or one that
// the system will not keep watched under the name it was given, are left to the
// clock.
const rounds = 3

// look takes the fingerprint. When the walk met folders that were not watched yet
// it walks again, for they may have changed before they were.
func (w *watcher) look() fingerprint {
	for round := 1; ; round++ {
		f, err := find(w.paths, Limits{}.orDefault())
		if !w.follow(w.folders(f)) || round == rounds {
			return fingerprintOf(f, err)
		}
	}
}

func fingerprintOf(f *finder, err error) fingerprint {
	lines := []string{fmt.Sprint(err, f.problems)}
	for _, file := range f.files {
		line := fmt.Sprintf("%q %q", file.path, file.real)
		if file.info != nil {
			line += fmt.Sprintf(" %d %d", file.info.Size(), file.info.ModTime().UnixNano())
		}
		lines = append(lines, line)
	}
	return fingerprint(strings.Join(lines, "\n"))
}

// folders are those whose entries matter: of each named path the folder that
// holds its name, and all that was walked. Each is named once, by its real name:
// the system keeps one watch for a folder, whatever it is called.
func (w *watcher) folders(f *finder) []string {
	out := slices.Clone(f.folders)
	for _, path := range w.paths {
		if path != stdin {
			out = append(out, filepath.Dir(filepath.Clean(path)))
		}
	}
	for _, file := range f.files {
		if file.path != stdin {
			out = append(out, filepath.Dir(file.path), filepath.Dir(file.real))
		}
	}
	for i, folder := range out {
		out[i] = realName(folder)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// realName is a path without links and dots, as far as they can be resolved.
func realName(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// follow watches folders and says whether any of them is new to it. One that
// cannot be watched is left to the clock.
func (w *watcher) follow(folders []string) (added bool) {
	if w.notify == nil {
		return false
	}
	watched := w.notify.WatchList() // without those that are gone by now
	for _, folder := range folders {
		if !slices.Contains(watched, folder) && w.notify.Add(folder) == nil {
			added = true
		}
	}
	return added
}
