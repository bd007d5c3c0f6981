package audit

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gatehouse.dev/providers"
)

// Config says where the record is kept. Path is required; every other zero value
// means the default that its comment names.
type Config struct {
	Path     string
	Cluster  string
	Identity string // of this controller, as in its lease
	MaxBytes int64  // of one file; 64 MiB
	Files    int    // kept beside the one that is written; 8
	Log      *slog.Logger
}

// Log is the record. It is safe for use by several goroutines. A nil Log keeps
// nothing.
type Log struct {
	config Config
	now    func() time.Time

	mu     sync.Mutex  // held during writes, never during a sync
	file   *file       // nil while it cannot be opened
	timer  *time.Timer // of the next sync
	closed bool
	lost   uint64 // since the start
	gap    uint64 // not told in the record yet
	err    error  // of the last write
}

// Reason is whom calls are made for. What is not known is left out.
type Reason struct {
	Provider string
	For      Object
	Plan     string // approval.Hash of the plan that runs
}

// syncEvery is how long what was written may be lost by a power failure.
const syncEvery = time.Second

// Open begins or continues a record. A file that cannot be written is no error: it
// is tried again with every entry.
func Open(config Config) (*Log, error) {
	if config.Path == "" {
		return nil, fmt.Errorf("audit: a path is required")
	}
	config.MaxBytes = cmp.Or(config.MaxBytes, 64<<20)
	config.Files = cmp.Or(config.Files, 8)
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	l := &Log{config: config, now: time.Now}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(l.open())
	return l, nil
}

// Watch makes everything that runs under the returned context be recorded, with
// its reason: the steps of an Apply as well as endpoints and notes.
func (l *Log) Watch(ctx context.Context, why Reason) context.Context {
	if l == nil {
		return ctx
	}
	return providers.Tell(ctx, l.On(why))
}

// On records the calls among events: for whoever has them from somewhere else
// than [Log.Watch].
func (l *Log) On(why Reason) func(providers.Event) {
	return func(e providers.Event) {
		if !e.Called {
			return
		}
		entry := entryOf(e)
		entry.Provider, entry.For, entry.Plan = why.Provider, why.For, why.Plan
		l.add(entry)
	}
}

// Lost counts the entries that could not be written since the start.
func (l *Log) Lost() uint64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Err is why the last entry was lost; nil when it was written.
func (l *Log) Err() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close lets the disk keep what was written. Entries after it are lost.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.file == nil {
		return nil
	}
	err := l.file.close()
	l.file = nil
	return err
}

// add writes an entry, and before it one for those that are missing.
func (l *Log) add(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gap > 0 && l.write(Entry{Time: l.now().UTC(), Op: "Lost", Lost: l.gap}) == nil {
		l.gap = 0
	}
	if err := l.write(e); err != nil {
		l.lost++
		l.gap++
		l.note(err)
		return
	}
	l.note(nil)
}

// write appends one line.
func (l *Log) write(e Entry) error {
	e.Cluster, e.Identity = l.config.Cluster, l.config.Identity
	line, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding an entry: %w", err)
	}
	if err := l.open(); err != nil {
		return err
	}
	if err := l.file.append(line); err != nil {
		// Opened anew, it may be another disk, or a file that is there again.
		_ = l.file.close()
		l.file = nil
		return err
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(syncEvery, l.keep)
	}
	return nil
}

// open makes sure that there is a file with room for an entry.
func (l *Log) open() error {
	if l.closed {
		return fmt.Errorf("the record is closed")
	}
	if l.file != nil && l.file.size < l.config.MaxBytes {
		return nil
	}
	if l.file != nil {
		err := l.file.close()
		l.file = nil
		if err != nil {
			l.config.Log.Warn("audit: the end of a full file may be lost by a power failure", "err", err)
		}
	}
	f, err := openFile(l.config)
	if err != nil {
		return err
	}
	l.file = f
	return nil
}

// keep lets the disk keep what was written.
func (l *Log) keep() {
	l.mu.Lock()
	f := l.file
	l.timer = nil
	l.mu.Unlock()
	if f == nil {
		return
	}
	if err := f.sync(); err != nil {
		l.config.Log.Warn("audit: the disk does not keep what was written", "path", l.config.Path, "err", err)
	}
}

// note remembers how the last write went, and says so when that changes.
func (l *Log) note(err error) {
	was := l.err
	l.err = err
	switch {
	case err != nil && was == nil:
		l.config.Log.Error("audit: entries are lost until the file can be written", "path", l.config.Path, "err", err)
	case err == nil && was != nil:
		l.config.Log.Info("audit: the file is written again", "path", l.config.Path, "lost", l.lost)
	}
}
