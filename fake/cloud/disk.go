package cloud

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// disk keeps the state in a directory: a snapshot of all objects, and a journal of
// the writes since. A write is one appended line; when the journal has grown well
// beyond the state, a new snapshot takes its place. Files are replaced by rename,
// so a process that dies at any point leaves a state that can be read: the last
// line of the journal may be cut short, and was then never confirmed to anybody.
//
// Objects hold fingerprints of certificates and no key, and so do the files.
type disk struct {
	dir     string
	lock    *os.File // nil when read-only
	journal file
	size    int64                  // of the journal
	records int                    // in the journal
	least   int                    // no compaction before the journal has so many records
	patient int                    // likewise, and more after a compaction that failed
	seq     int64                  // of the last record
	settle  func(dir string) error // makes renames in a directory last

	syncing sync.Mutex   // guards synced, and journal against being swapped while it is synced
	synced  int64        // the last record that is surely on the disk
	written atomic.Int64 // the last record in the journal
	broken  atomic.Pointer[CallError]
}

// file is what the journal needs of an *os.File.
type file interface {
	Write([]byte) (int, error)
	Sync() error
	Truncate(int64) error
	Close() error
}

// The files of a state directory.
const (
	snapshotName = "snapshot"
	journalName  = "journal"
	lockName     = "lock"
)

// openDisk reads a state directory into an empty state and, unless it is only to
// be read, takes it for this process.
func openDisk(o Options, into *state) (*disk, error) {
	dir := o.StateDir
	d := &disk{dir: dir, least: o.CompactAfter, patient: o.CompactAfter, settle: syncDir}
	if o.ReadOnly {
		return d, d.loadBeside(into)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	var err error
	if d.lock, err = lockFile(filepath.Join(dir, lockName)); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", dir, err)
	}
	if err := d.open(into); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	return d, nil
}

func (d *disk) open(into *state) error {
	found, err := d.load(into)
	if err != nil {
		return err
	}
	if !found.journal {
		return d.startJournal()
	}
	f, err := os.OpenFile(d.path(journalName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if err := f.Truncate(found.size); err != nil { // drops a line that was cut short
		return errors.Join(fmt.Errorf("state directory: %w", err), f.Close())
	}
	d.journal, d.size, d.records, d.synced = f, found.size, found.records, d.seq
	return nil
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

// append writes a change to the journal. It returns the record's number for sync.
// A failed append has changed nothing.
func (d *disk) append(old, next *object) (int64, error) {
	if d.lock == nil {
		return 0, refuse(AccessDenied, "state directory %s was opened to be read only", d.dir)
	}
	if broken := d.broken.Load(); broken != nil {
		return 0, broken
	}
	line := encodeLine(recordOf(d.seq+1, old, next))
	if _, err := d.journal.Write(line); err != nil {
		return 0, d.takeBack(err)
	}
	d.seq++
	d.written.Store(d.seq)
	d.records++
	d.size += int64(len(line))
	return d.seq, nil
}

// takeBack cuts a half-written line off, so that the journal stays readable.
func (d *disk) takeBack(cause error) *CallError {
	failed := refuse(ServiceDown, "state directory %s: %w; nothing was changed, make room and try again", d.dir, cause)
	if err := d.journal.Truncate(d.size); err != nil {
		d.broken.Store(refuse(ServiceDown, "state directory %s: %w; start again when the disk works", d.dir, errors.Join(cause, err)))
	}
	return failed
}

// sync returns once the record is on the disk. Calls that wait at the same time
// share one flush. After a failed flush nobody knows what is on the disk (the
// kernel may have dropped the pages), so every later write is refused.
func (d *disk) sync(seq int64) error {
	d.syncing.Lock()
	defer d.syncing.Unlock()
	if d.synced >= seq || d.lock == nil {
		return nil
	}
	if broken := d.broken.Load(); broken != nil {
		return broken
	}
	written := d.written.Load()
	if err := d.journal.Sync(); err != nil {
		failed := refuse(ServiceDown, "state directory %s: %w; start again when the disk works", d.dir, err)
		d.broken.Store(failed)
		return failed
	}
	d.synced = written
	return nil
}

// compact replaces the journal by a snapshot when it has more than twice as many
// records as there are objects. A failure is no error of the write that came just
// before: the journal stays in use, and the next try comes when it has grown again.
func (d *disk) compact(s *state) {
	if d.records < max(d.patient, 2*len(s.order)) {
		return
	}
	d.patient = 2 * d.records
	if err := d.writeSnapshot(s); err != nil {
		return
	}
	if err := d.startJournal(); err == nil {
		d.patient = d.least
	}
}

func (d *disk) writeSnapshot(s *state) error {
	lines := make([][]byte, 0, len(s.order)+1)
	lines = append(lines, encodeLine(header{Format: format, Version: formatVersion, Seq: d.seq, Next: s.next, Objects: len(s.order)}))
	for _, o := range s.order {
		lines = append(lines, encodeLine(o))
	}
	f, err := d.replaceFile(snapshotName, lines)
	if f == nil {
		return err
	}
	return errors.Join(err, f.Close())
}

// startJournal puts an empty journal in the place of the present one, if any. When
// that went only half way, nobody knows which of the two a restart will find, and
// every later write is refused.
func (d *disk) startJournal() error {
	line := encodeLine(header{Format: format, Version: formatVersion, Seq: d.seq})
	f, err := d.replaceFile(journalName, [][]byte{line})
	if f != nil && err != nil {
		d.broken.Store(refuse(ServiceDown, "state directory %s: %w; start again when the disk works", d.dir, err))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	d.syncing.Lock()
	defer d.syncing.Unlock()
	old := d.journal
	d.journal, d.size, d.records, d.synced = f, int64(len(line)), 0, d.seq
	if old == nil {
		return nil
	}
	return old.Close()
}

// replaceFile writes a file beside the one of that name, flushes it, renames it
// into place and flushes the directory. The file that it returns is open for
// appending, and is in place even when there is an error beside it.
func (d *disk) replaceFile(name string, lines [][]byte) (*os.File, error) {
	path := d.path(name)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	err = writeAll(f, lines)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, d.settle(d.dir)
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (d *disk) close() error {
	d.syncing.Lock()
	defer d.syncing.Unlock()
	if d.lock == nil {
		return nil
	}
	return errors.Join(d.journal.Sync(), d.journal.Close(), d.lock.Close())
}
