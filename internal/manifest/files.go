package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errNoFile is fs.ErrNotExist in our words.
var errNoFile error = noFile{}

type noFile struct{}

func (noFile) Error() string        { return "no such file or folder" }
func (noFile) Is(target error) bool { return target == fs.ErrNotExist }

// stdin is the path that means standard input.
const stdin = "-"

// found is one file to read.
type found struct {
	path string // as shown
	real string // without links: one file is read once
	info fs.FileInfo
}

// finder walks what the user named. Links are followed, for a mounted ConfigMap
// is made of them; hidden names inside folders are not, for the same mount keeps
// its generations there.
type finder struct {
	limits   Limits
	seen     map[string]bool
	files    []found
	problems []Problem
	partial  bool     // something that may hold objects was not read
	folders  []string // visited, for Watch
}

// find lists the files in a stable order: as named, then by name within folders.
// A named path that is not there is an error; trouble inside a folder is a
// problem.
func find(paths []string, limits Limits) (*finder, error) {
	f := &finder{limits: limits, seen: map[string]bool{}}
	for _, path := range paths {
		if err := f.named(path); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *finder) named(path string) error {
	if path == stdin {
		if !f.seen[stdin] {
			f.seen[stdin] = true
			f.files = append(f.files, found{path: stdin, real: stdin})
		}
		return nil
	}
	real, info, err := resolve(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", path, errNoFile)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case info.IsDir():
		return f.folder(path, real, nil)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %s: name a file or a folder, or pipe into -", path, modeText(info.Mode()))
	default:
		return f.file(found{path: path, real: real, info: info})
	}
}

// folder reads a folder; above are the real paths of the folders it is inside.
func (f *finder) folder(path, real string, above []string) error {
	for _, a := range above {
		if a == real {
			f.note(path, "this link leads back to a folder it is in; it is not followed, and nothing is lost by that")
			return nil
		}
	}
	if f.seen[real] {
		return nil
	}
	f.seen[real] = true
	f.folders = append(f.folders, real)
	entries, err := os.ReadDir(path)
	if err != nil {
		f.miss(path, "cannot be listed: "+reason(err))
	}
	above = append(above[:len(above):len(above)], real)
	for _, e := range entries {
		if err := f.entry(path, e, above); err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) entry(folder string, e fs.DirEntry, above []string) error {
	if strings.HasPrefix(e.Name(), ".") {
		return nil
	}
	path := filepath.Join(folder, e.Name())
	link := e.Type()&fs.ModeSymlink != 0
	if !e.IsDir() && !link && !isManifest(path) {
		return nil
	}
	real, info, err := resolve(path)
	switch {
	case err != nil:
		if isManifest(path) || link {
			f.miss(path, "cannot be read: "+reason(err))
		}
		return nil
	case info.IsDir():
		return f.folder(path, real, above)
	case !isManifest(path):
		return nil
	case !info.Mode().IsRegular():
		f.miss(path, "is "+modeText(info.Mode())+", not a file")
		return nil
	}
	return f.file(found{path: path, real: real, info: info})
}

func (f *finder) file(file found) error {
	if f.seen[file.real] {
		return nil
	}
	f.seen[file.real] = true
	if len(f.files) >= f.limits.Files {
		return fmt.Errorf("more than %d files: name the folder that holds the manifests, not one above it", f.limits.Files)
	}
	f.files = append(f.files, file)
	return nil
}

func (f *finder) note(path, message string) {
	f.problems = append(f.problems, Problem{Place: Place{File: path}, Message: message})
}

func (f *finder) miss(path, message string) {
	f.partial = true
	f.note(path, message)
}

func resolve(path string) (string, fs.FileInfo, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", nil, err
	}
	info, err := os.Stat(real)
	return real, info, err
}

func isManifest(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
		return true
	default:
		return false
	}
}

// read reads a whole file within the limits, or says why not.
func read(file found, in io.Reader, limits Limits) ([]byte, error) {
	if file.info != nil && file.info.Size() > limits.FileBytes {
		return nil, tooLarge(bytesText(file.info.Size()), limits)
	}
	if file.path != stdin {
		opened, err := os.Open(file.real)
		if err != nil {
			return nil, errors.New("cannot be read: " + reason(err))
		}
		defer opened.Close() //nolint:errcheck // it was only read
		in = opened
	}
	if in == nil {
		return nil, errors.New("cannot be read: there is no standard input")
	}
	text, err := io.ReadAll(io.LimitReader(in, limits.FileBytes+1))
	switch {
	case err != nil:
		return nil, errors.New("cannot be read: " + reason(err))
	case int64(len(text)) > limits.FileBytes:
		return nil, tooLarge("more than "+bytesText(limits.FileBytes), limits)
	default:
		return text, nil
	}
}

func tooLarge(size string, limits Limits) error {
	return fmt.Errorf("is %s; a file may have %s: split it, or leave out what is no manifest", size, bytesText(limits.FileBytes))
}

// reason is an operating system's error without the path, which the problem
// states already.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "EvalSymlinks: ")
}

func modeText(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	default:
		return "no regular file"
	}
}
