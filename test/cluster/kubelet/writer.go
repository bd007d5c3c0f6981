package kubelet

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// current is the link to the folder that holds the files of now. Each file that
// the program sees is a link through it, so that all change at once, in the
// moment when it is renamed; programs that watch a volume watch this name.
const current = "..data"

// write makes a volume's folder hold exactly the payload, atomically. Nothing is
// touched when it does already.
func (p payload) write(dir string) error {
	now := filepath.Join(dir, current)
	old, err := os.Readlink(now)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if old != "" && p.equal(filepath.Join(dir, old)) {
		return nil
	}
	fresh, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return err
	}
	if err := p.fill(fresh); err != nil {
		return err
	}
	next := now + "_tmp"
	if err := os.Symlink(filepath.Base(fresh), next); err != nil {
		return err
	}
	if err := os.Rename(next, now); err != nil {
		return err
	}
	if err := p.links(dir); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, old))
}

// fill writes the files into a new folder.
func (p payload) fill(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for name, f := range p {
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, f.data, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(target, f.mode); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

// equal tells whether a folder has just these files.
func (p payload) equal(dir string) bool {
	count := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		count++
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err == nil && !bytes.Equal(data, p[relative].data) {
			err = fs.ErrInvalid
		}
		return err
	})
	return err == nil && count == len(p)
}

// links makes the visible names: those of the first level, through current.
func (p payload) links(dir string) error {
	want := map[string]bool{}
	for name := range p {
		top, _, _ := strings.Cut(name, "/")
		want[top] = true
	}
	have, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range have {
		if strings.HasPrefix(d.Name(), "..") {
			continue
		}
		if !want[d.Name()] {
			if err := os.Remove(filepath.Join(dir, d.Name())); err != nil {
				return err
			}
		}
		delete(want, d.Name())
	}
	for name := range want {
		if err := os.Symlink(filepath.Join(current, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
