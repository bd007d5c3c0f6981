package cloud

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"gatehouse.dev/lbmodel"
)

// The files' format: lines of a CRC-32 (IEEE, eight hex digits), a blank and JSON.
// The first line is a header.
const (
	format        = "gatehouse fake cloud"
	formatVersion = 1
)

// header is the first line of both files.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Seq     int64  `json:"seq"`              // the last record before this file's
	Next    int    `json:"next,omitzero"`    // snapshot: the next object's number
	Objects int    `json:"objects,omitzero"` // snapshot: lines that follow
}

// record is a line of the journal: an object in its new form, or one that is gone.
type record struct {
	Seq    int64          `json:"seq"`
	Put    *object        `json:"put,omitempty"`
	Delete lbmodel.Handle `json:"delete,omitzero"`
}

func recordOf(seq int64, old, next *object) record {
	if next != nil {
		return record{Seq: seq, Put: next}
	}
	return record{Seq: seq, Delete: old.handle()}
}

func encodeLine(v any) []byte {
	text := encode(v)
	out := fmt.Appendf(make([]byte, 0, len(text)+10), "%08x ", crc32.ChecksumIEEE(text))
	return append(append(out, text...), '\n')
}

func writeAll(w io.Writer, lines [][]byte) error {
	buffered := bufio.NewWriter(w)
	for _, line := range lines {
		if _, err := buffered.Write(line); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// errGap says that records are missing between snapshot and journal.
var errGap = errors.New("records are missing between the snapshot and the journal")

// found is what load has read of the journal.
type found struct {
	journal bool
	size    int64 // of its complete lines
	records int
}

// load reads snapshot and journal into an empty state.
func (d *disk) load(into *state) (found, error) {
	if err := d.loadSnapshot(into); err != nil {
		return found{}, err
	}
	out, err := d.loadJournal(into)
	if err == nil {
		err = d.sound(into)
	}
	return out, err
}

// sound refuses a state that the service would never have written: everything
// else relies on references that lead somewhere.
func (d *disk) sound(s *state) error {
	for _, o := range s.order {
		err := o.body.check()
		for ref := range referencesOf(o.body) {
			if s.objects[ref] == nil {
				err = fmt.Errorf("it refers to %s, which is not there", ref)
			}
		}
		if o.Kind == KindCertificate && o.Leaf == nil {
			err = errors.New("it has no leaf")
		}
		if err != nil {
			return fmt.Errorf("state directory %s: %s: %w; %s", d.dir, o.handle(), err, d.wayOut())
		}
	}
	return nil
}

// loadBeside loads without the lock: when the owner compacts between our reading
// of the two files, they do not fit, and are read again.
func (d *disk) loadBeside(into *state) error {
	const tries = 5
	var err error
	for range tries {
		*into, d.seq = newState(), 0
		if _, err = d.load(into); !errors.Is(err, errGap) {
			return err
		}
	}
	return err
}

func (d *disk) loadSnapshot(into *state) error {
	r, err := openLines(d.path(snapshotName))
	if r == nil || err != nil {
		return err
	}
	defer r.close()
	head, err := r.header()
	if err != nil {
		return d.damaged(r, err)
	}
	for range head.Objects {
		var o object
		if err := r.next(&o); err != nil {
			return d.damaged(r, cutShort(err))
		}
		if err := o.open(); err != nil {
			return d.damaged(r, err)
		}
		into.replace(nil, &o)
	}
	into.next, d.seq = max(into.next, head.Next), head.Seq
	return nil
}

// cutShort is the error of a snapshot that ends early: it was renamed into place
// complete, so something else has cut it.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is cut short")
	}
	return err
}

func (d *disk) loadJournal(into *state) (found, error) {
	r, err := openLines(d.path(journalName))
	if r == nil || err != nil {
		return found{}, err
	}
	defer r.close()
	head, err := r.header()
	if err != nil {
		return found{}, d.damaged(r, err)
	}
	if head.Seq > d.seq {
		return found{}, d.damaged(r, errGap)
	}
	out := found{journal: true}
	for at := head.Seq + 1; ; at++ {
		out.size = r.size
		var rec record
		switch err := r.next(&rec); {
		case errors.Is(err, io.EOF):
			return out, nil // the end, or a line that was never confirmed
		case err != nil:
			return out, d.damaged(r, err)
		case rec.Seq != at:
			return out, d.damaged(r, fmt.Errorf("record %d is out of order", rec.Seq))
		}
		out.records++
		if rec.Seq <= d.seq {
			continue // the snapshot has it
		}
		if err := into.play(rec); err != nil {
			return out, d.damaged(r, err)
		}
		d.seq = rec.Seq
	}
}

// play repeats a record.
func (s *state) play(rec record) error {
	if rec.Put == nil {
		old := s.objects[rec.Delete]
		if old == nil {
			return fmt.Errorf("record %d deletes %q, which is not there", rec.Seq, rec.Delete)
		}
		s.replace(old, nil)
		return nil
	}
	if err := rec.Put.open(); err != nil {
		return err
	}
	s.replace(s.objects[rec.Put.handle()], rec.Put)
	return nil
}

// open reads the body of a stored object.
func (o *object) open() error {
	body, err := decode(o.Kind, o.Raw)
	o.body = body
	return err
}

func (d *disk) damaged(r *lines, err error) error {
	return fmt.Errorf("state file %s, line %d: %w; %s", r.path, r.line, err, d.wayOut())
}

func (d *disk) wayOut() string {
	return "put back a copy, or remove the directory " + d.dir +
		" to start from an empty cloud (the next apply creates everything anew, with new addresses)"
}

// lines reads a file of this format.
type lines struct {
	path string
	file *os.File
	in   *bufio.Reader
	line int
	size int64 // of the lines read
}

// openLines opens a file; nil when there is none.
func openLines(path string) (*lines, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return &lines{path: path, file: f, in: bufio.NewReaderSize(f, 1<<16)}, nil
}

// close closes a file that was only read: nothing can be lost.
func (l *lines) close() { _ = l.file.Close() }

// next reads a line into v. It is io.EOF at the end, also when the last line has
// no end of its own.
func (l *lines) next(v any) error {
	l.line++
	text, err := l.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	l.size += int64(len(text))
	sum, payload, ok := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(payload)) {
		return errors.New("the line is damaged: its checksum does not fit")
	}
	return json.Unmarshal(payload, v, json.RejectUnknownMembers(true))
}

func (l *lines) header() (header, error) {
	var h header
	if err := l.next(&h); err != nil {
		return h, cutShort(err)
	}
	if h.Format != format {
		return h, fmt.Errorf("this is not a file of the fake cloud")
	}
	if h.Version != formatVersion {
		return h, fmt.Errorf("the format is version %d, and this program knows version %d: use the program that wrote it", h.Version, formatVersion)
	}
	return h, nil
}
