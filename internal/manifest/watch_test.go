package manifest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

func TestWatch(t *testing.T) {
	// Why this table: each is a way in which files are changed in earnest, and
	// each has defeated a watcher that looked at one inode or one event.
	tests := []struct {
		name, why string
		change    func(t *testing.T, dir string)
	}{
		{"written in place", "a shell redirection", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "a.yaml"), "kind: Changed")
		}},
		{"replaced by rename", "what editors do: the old inode never changes", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".a.yaml.swp"), "kind: Replaced")
			must(t, os.Rename(filepath.Join(dir, ".a.yaml.swp"), filepath.Join(dir, "a.yaml")))
		}},
		{"a file appears", "a folder is more than its files", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "b.yaml"), "kind: New")
		}},
		{"a file goes", "its objects go with it", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "a.yaml")))
		}},
		{"a folder appears", "a new folder must be watched too", func(t *testing.T, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
			write(t, filepath.Join(dir, "sub", "c.yaml"), "kind: New")
		}},
		{"a mounted ConfigMap is updated", "kubelet swaps one link, the files' own links stay", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "..2", "m.yaml"), "kind: Two, and longer")
			must(t, os.Symlink("..2", filepath.Join(dir, "..data_tmp")))
			must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := mounted(t)
			changed := watch(t, watcher{paths: []string{dir}, quiet: 10 * time.Millisecond, patience: time.Second, poll: time.Hour})
			tt.change(t, dir)
			expect(t, changed, tt.why)
			quiet(t, changed)
		})
	}
}

func TestWatchOneFile(t *testing.T) {
	dir := mounted(t)
	changed := watch(t, watcher{
		paths: []string{filepath.Join(dir, "m.yaml")}, quiet: 10 * time.Millisecond, patience: time.Second, poll: time.Hour,
	})
	write(t, filepath.Join(dir, "a.yaml"), "kind: Changed")
	quiet(t, changed) // not a file that was named
	write(t, filepath.Join(dir, "..1", "m.yaml"), "kind: Changed behind the link")
	expect(t, changed, "a named link's file lies in another folder")
}

func TestWatchWithoutNotifications(t *testing.T) {
	dir := mounted(t)
	w := watcher{paths: []string{dir}, blindPoll: 10 * time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed := make(chan struct{})
	w.changed = changed
	last := w.look()
	write(t, filepath.Join(dir, "a.yaml"), "kind: Changed")
	w.wait(ctx)
	if w.look() == last {
		t.Error("a look by the clock did not see the change")
	}
}

func TestWatchFoldersThatCome(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	changed := watch(t, watcher{paths: []string{dir}, quiet: 10 * time.Millisecond, patience: time.Second, poll: time.Hour})
	must(t, os.Mkdir(dir, 0o755))
	expect(t, changed, "a path that was not there at the start is there now")
	write(t, filepath.Join(dir, "a.yaml"), "kind: A")
	expect(t, changed, "and is followed like any other")
}

func TestWatchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Watch(ctx, []string{t.TempDir()}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Watch returned %v, want the context's error", err)
	}
}

// mounted is a folder with a plain file and one that is mounted as kubelet
// mounts a ConfigMap.
func mounted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "kind: A")
	write(t, filepath.Join(dir, "..1", "m.yaml"), "kind: One")
	must(t, os.Symlink("..1", filepath.Join(dir, "..data")))
	must(t, os.Symlink(filepath.Join("..data", "m.yaml"), filepath.Join(dir, "m.yaml")))
	return dir
}

// watch runs the watcher for the test, from a first look that is already taken.
func watch(t *testing.T, w watcher) <-chan struct{} {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	notify, err := fsnotify.NewWatcher()
	must(t, err)
	changed := make(chan struct{})
	w.changed, w.notify = changed, notify
	last := w.look()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer notify.Close()
		w.follows(ctx, last)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return changed
}

func expect(t *testing.T, changed <-chan struct{}, why string) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		t.Fatal("no change was told: " + why)
	}
}

func quiet(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
		t.Fatal("a change was told that is none")
	case <-time.After(100 * time.Millisecond):
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWatchOneFolderWithTwoNames: a relative path and a linked folder are two
// names of one folder, for which the system keeps one watch. Looking used to go
// on for ever, at full speed, and not to end with its context.
func TestWatchOneFolderWithTwoNames(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "real", "a.yaml"), "kind: First")
	must(t, os.Symlink("real", filepath.Join(dir, "linked")))
	t.Chdir(dir)
	changed := watch(t, watcher{
		paths: []string{".", "linked", filepath.Join(dir, "real")},
		quiet: 10 * time.Millisecond, patience: time.Second, poll: time.Hour,
	})
	write(t, filepath.Join("real", "a.yaml"), "kind: Second, and longer")
	expect(t, changed, "a change of a file of such a folder is seen")
	quiet(t, changed)
}
