package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFind lays out a folder and lists what would be read. Why this table: paths
// are where users meet the tool first, and a walk that loops, reads twice or
// skips in silence is found out much later.
func TestFind(t *testing.T) {
	tests := []struct {
		name     string
		lay      func(t *testing.T)
		paths    []string
		files    []string
		problems []string
		err      string
		partial  bool
	}{
		{
			name: "folders are read in order, by extension, without hidden names",
			lay: func(t *testing.T) {
				for _, name := range []string{"d/b.yml", "d/a.yaml", "d/c.json", "d/D.YAML", "d/readme.md", "d/.hidden.yaml", "d/.git/x.yaml", "d/e/f.yaml"} {
					write(t, name, "")
				}
			},
			paths: []string{"d"}, files: []string{"d/D.YAML", "d/a.yaml", "d/b.yml", "d/c.json", "d/e/f.yaml"},
		},
		{
			name:  "a named file may have any name",
			lay:   func(t *testing.T) { write(t, "d/.manifest", "") },
			paths: []string{"d/.manifest"}, files: []string{"d/.manifest"},
		},
		{
			name:  "a file is read once, however it is named",
			lay:   func(t *testing.T) { write(t, "d/a.yaml", ""); must(t, os.Symlink("d", "l")) },
			paths: []string{"d/a.yaml", "./d/../d/a.yaml", "d", "l/a.yaml", "-", "-"}, files: []string{"d/a.yaml", "-"},
		},
		{
			name: "a folder that leads back into itself",
			lay: func(t *testing.T) {
				write(t, "d/a.yaml", "")
				must(t, os.Mkdir("d/e", 0o755))
				must(t, os.Symlink("..", "d/e/loop"))
			},
			paths: []string{"d"}, files: []string{"d/a.yaml"},
			problems: []string{"d/e/loop: this link leads back to a folder it is in; it is not followed, and nothing is lost by that"},
		},
		{
			name: "a link to itself and one to nothing",
			lay: func(t *testing.T) {
				write(t, "d/a.yaml", "")
				must(t, os.Symlink("self.yaml", "d/self.yaml"))
				must(t, os.Symlink("gone", "d/z.yaml"))
			},
			paths: []string{"d"}, files: []string{"d/a.yaml"}, partial: true,
			problems: []string{"d/self.yaml: cannot be read: too many links", "d/z.yaml: cannot be read: no such file or directory"},
		},
		{
			name: "a mounted ConfigMap",
			lay: func(t *testing.T) {
				write(t, "d/..1/m.yaml", "")
				must(t, os.Symlink("..1", "d/..data"))
				must(t, os.Symlink("..data/m.yaml", "d/m.yaml"))
			},
			paths: []string{"d"}, files: []string{"d/m.yaml"},
		},
		{
			name:  "a pipe in a folder",
			lay:   func(t *testing.T) { write(t, "d/a.yaml", ""); must(t, syscall.Mkfifo("d/p.yaml", 0o600)) },
			paths: []string{"d"}, files: []string{"d/a.yaml"}, partial: true,
			problems: []string{"d/p.yaml: is a pipe, not a file"},
		},
		{
			name:  "a pipe that is named",
			lay:   func(t *testing.T) { must(t, syscall.Mkfifo("p", 0o600)) },
			paths: []string{"p"}, err: "p is a pipe: name a file or a folder, or pipe into -",
		},
		{
			name:  "a device",
			lay:   func(t *testing.T) {},
			paths: []string{"/dev/zero"}, err: "/dev/zero is a device: name a file or a folder, or pipe into -",
		},
		{
			name:  "a path that is not there",
			lay:   func(t *testing.T) {},
			paths: []string{"nowhere"}, err: "nowhere: no such file or folder",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			tt.lay(t)
			f, err := find(tt.paths, Limits{}.orDefault())
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("error is %v, want %q", err, tt.err)
				}
				return
			}
			must(t, err)
			var files []string
			for _, file := range f.files {
				files = append(files, file.path)
			}
			if d := cmp.Diff(tt.files, files); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.problems, texts(f.problems)); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			if f.partial != tt.partial {
				t.Errorf("partial is %v, want %v", f.partial, tt.partial)
			}
		})
	}
}

func TestNothingToRead(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("d", 0o755))
	if _, err := Load(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "name a file") {
		t.Errorf("without paths the error is %v", err)
	}
	if _, err := Load(t.Context(), Options{Paths: []string{"d"}}); err == nil || !strings.Contains(err.Error(), "no manifests in d") {
		t.Errorf("for an empty folder the error is %v: an empty result could delete everything", err)
	}
}

// TestLargeFile holds that a huge file is refused by its size alone: it is
// sparse, so reading it would be noticed only as memory.
func TestLargeFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "d/a.yaml", named("a", "one"))
	write(t, "d/big.yaml", "")
	must(t, os.Truncate("d/big.yaml", 50<<20))
	var loaded *Loaded
	mallocs := testing.AllocsPerRun(1, func() {
		var err error
		loaded, err = Load(t.Context(), Options{Paths: []string{"d"}})
		must(t, err)
	})
	want := []string{"d/big.yaml: is 50.0 MiB; a file may have 32.0 MiB: split it, or leave out what is no manifest"}
	if d := cmp.Diff(want, texts(loaded.Problems)); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
	if len(loaded.Snapshot.ConfigMaps) != 1 || !loaded.Incomplete {
		t.Errorf("read %d ConfigMaps, incomplete %v; the small file beside it must be read, and the result be incomplete",
			len(loaded.Snapshot.ConfigMaps), loaded.Incomplete)
	}
	if mallocs > 1e5 {
		t.Errorf("%v allocations: the large file was parsed", mallocs)
	}
}

func TestStdin(t *testing.T) {
	loaded, err := Load(t.Context(), Options{Paths: []string{"-"}, Stdin: strings.NewReader(named("a", "one") + "---\nx\n")})
	must(t, err)
	if len(loaded.Snapshot.ConfigMaps) != 1 {
		t.Errorf("read %d ConfigMaps from standard input, want 1", len(loaded.Snapshot.ConfigMaps))
	}
	want := []string{"-:6: is no object: a manifest is a mapping with apiVersion, kind and metadata"}
	if d := cmp.Diff(want, texts(loaded.Problems)); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
	loaded, err = Load(t.Context(), Options{Paths: []string{"-"}, Stdin: strings.NewReader("\n")})
	must(t, err)
	if d := cmp.Diff([]string{"-: " + emptyInput}, texts(loaded.Problems)); d != "" {
		t.Errorf("nothing on standard input (-want +got):\n%s", d)
	}
	_, err = read(found{path: stdin}, &endless{}, Limits{FileBytes: 1 << 10})
	if err == nil || !strings.Contains(err.Error(), "more than 1.0 KiB") {
		t.Errorf("endless input: error is %v, want the limit", err)
	}
}

// endless is an input without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestNamedPathsInOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "b.yaml", "")
	write(t, filepath.Join("a", "a.yaml"), "")
	loaded, err := Load(t.Context(), Options{Paths: []string{"b.yaml", "a"}})
	must(t, err)
	if d := cmp.Diff([]string{"b.yaml", "a/a.yaml"}, loaded.Files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}
