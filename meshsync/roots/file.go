package roots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"gatehouse.dev/lbmodel"
)

// File is a PEM file with roots. It is read every ten seconds, so that it may be
// replaced, be a link that is swapped (a mounted ConfigMap), or be absent for now.
type File struct {
	Name string // of the bundle: the trust domain, or what it is for
	Path string
}

// everyFile is short, since a look is cheap.
const everyFile = 10 * time.Second

// Where implements Source.
func (f File) Where() string { return "file " + f.Path }

// Watch implements Source.
func (f File) Watch(ctx context.Context, s Start, tell func([]Bundle)) {
	l := newLedger(f.Name, s.Last)
	p := pace{usual: everyFile, retry: everyFile, most: everyFile}
	poll(ctx, s, l, p, func(context.Context) (reading, error) { return f.read() }, tell)
}

func (f File) read() (reading, error) {
	text, err := f.text()
	if err != nil {
		return reading{}, fmt.Errorf("%s: %w", f.Path, withoutPath(err))
	}
	found, err := lbmodel.ParseRoots(text)
	if err != nil {
		return reading{}, fmt.Errorf("%s: %w", f.Path, err)
	}
	return reading{found: []Bundle{{Name: f.Name, Roots: found}}}, nil
}

var (
	errNoFile  = errors.New("it is not a file")
	errWritten = errors.New("it was written while it was read")
)

// text reads the file. One that is being written is left for the next look: a part
// of it could pass for all.
func (f File) text() ([]byte, error) {
	before, err := os.Stat(f.Path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() { // opening a pipe would wait
		return nil, errNoFile
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, lbmodel.MaxRootsText+1))
	if err != nil {
		return nil, err
	}
	after, err := os.Stat(f.Path)
	if err == nil && (!os.SameFile(before, after) || before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime())) {
		err = errWritten
	}
	return text, err
}

// withoutPath is the reason in a PathError.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
