package roots

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
)

// TestFile: a file is followed through every way in which it changes, as a mounted
// ConfigMap too, whose link is swapped.
func TestFile(t *testing.T) {
	m, c := newCA(t), newClock()
	dir := t.TempDir()
	path := filepath.Join(dir, "roots.pem")
	write := func(text string) {
		t.Helper()
		do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	h := watch(t, File{Name: "example.org", Path: path}, c)
	wants(t, h.one(), path+": no such file or directory")
	write(string(m.Bundle()))
	next := func() Bundle {
		t.Helper()
		if d := c.next(t, time.Minute); d > everyFile {
			t.Errorf("read after %s", d)
		}
		return h.one()
	}
	good := next()
	wants(t, good, "", m.Roots()...)
	for _, tt := range []struct{ name, text, want string }{
		{"cut off", string(m.Bundle()[:len(m.Bundle())-30]), "offset 0 (line 1): the block is not valid PEM"},
		{"empty", "", "no PEM block"},
		{"too long", strings.Repeat("#", lbmodel.MaxRootsText+10), "1048577 bytes are more than"},
	} {
		write(tt.text)
		keeps(t, good, next(), tt.want)
	}
	do(t, os.Remove(path), syscall.Mkfifo(path, 0o600))
	keeps(t, good, next(), "it is not a file")
	do(t, m.Add(ca.Root{Name: "b"}), os.WriteFile(filepath.Join(dir, "new"), m.Bundle(), 0o600))
	do(t, os.Remove(path), os.Symlink(filepath.Join(dir, "new"), path))
	wants(t, next(), "", m.Roots()...)
}
