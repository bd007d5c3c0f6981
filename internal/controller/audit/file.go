package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// file is the one that is written.
type file struct {
	*os.File
	size int64
	torn bool // it does not end with a line's end
}

// mode: the record tells who did what in an account; its group may read it.
const mode = 0o640

// openFile opens the file, after moving a full one away.
func openFile(c Config) (*file, error) {
	f, err := openExisting(c.Path)
	if err != nil || f.size < c.MaxBytes {
		return f, err
	}
	if err := errors.Join(f.close(), rotate(c)); err != nil {
		// Better one file that is too long than no record.
		c.Log.Warn("audit: a full file stays", "path", c.Path, "err", err)
		f, err = openExisting(c.Path)
		if f != nil {
			f.size = 0 // the next try is a file's length away
		}
		return f, err
	}
	return openExisting(c.Path)
}

func openExisting(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, mode)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("looking at the audit log: %w", err), f.Close())
	}
	out := &file{File: f, size: info.Size()}
	last := make([]byte, 1)
	if out.size > 0 {
		if _, err := f.ReadAt(last, out.size-1); err != nil {
			return nil, errors.Join(fmt.Errorf("reading the audit log's end: %w", err), f.Close())
		}
		out.torn = last[0] != '\n'
	}
	return out, nil
}

// rotate renames the full file and those before it; the oldest goes.
func rotate(c Config) error {
	name := func(n int) string { return c.Path + "." + strconv.Itoa(n) }
	for n := c.Files - 1; n >= 1; n-- {
		if err := os.Rename(name(n), name(n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(c.Path, name(1))
}

// append writes a line with one call.
func (f *file) append(line []byte) error {
	text := make([]byte, 0, len(line)+2)
	if f.torn {
		text = append(text, '\n')
	}
	text = append(append(text, line...), '\n')
	n, err := f.Write(text)
	f.size += int64(n)
	f.torn = err != nil && (n > 0 || f.torn)
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

// sync lets the disk keep it. A file that was closed meanwhile was kept then.
func (f *file) sync() error {
	err := f.Sync()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func (f *file) close() error { return errors.Join(f.Sync(), f.Close()) }
