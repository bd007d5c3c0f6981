package manifest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// How long files may go on changing while LoadSteady waits, and for how long they
// must have rested: writers that write in place take several calls.
const (
	steadyFor   = 30 * time.Millisecond
	steadyPause = 10 * time.Millisecond
	steadyWait  = 500 * time.Millisecond
)

// LoadSteady is Load of files that somebody may be writing: it reads them when
// they have rested for a moment, and again when they changed while they were
// read, or when a named path is gone for the moment between two calls of an
// editor. Files that do not come to rest within half a second are taken as they
// were last read, as Incomplete: what is in them counts, and what is not proves
// nothing.
func LoadSteady(ctx context.Context, o Options) (*Loaded, error) {
	if slices.Contains(o.Paths, stdin) {
		return Load(ctx, o) // it can be read once, and nobody rewrites it
	}
	for began := time.Now(); ; {
		before, rested := look(o)
		last := time.Since(began) > steadyWait
		if rested || last {
			loaded, err := Load(ctx, o)
			after, _ := look(o)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case last && loaded != nil:
				loaded.Incomplete = loaded.Incomplete || !rested || after != before
				return loaded, err
			case after == before && !errors.Is(err, fs.ErrNotExist):
				return loaded, err
			case last:
				return nil, err
			}
		}
		if err := rest(ctx); err != nil {
			return nil, err
		}
	}
}

func rest(ctx context.Context) error {
	timer := time.NewTimer(steadyPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// look takes the fingerprint of the files, and says whether the youngest has
// rested, and the folders, in which a file may be missing for a moment. A time to
// come is another machine's clock and says nothing.
func look(o Options) (fingerprint, bool) {
	f, err := find(o.Paths, o.Limits.orDefault())
	for _, file := range f.files {
		if file.info != nil && young(file.info) {
			return "", false
		}
	}
	for _, folder := range f.folders {
		if info, err := os.Stat(folder); err == nil && young(info) {
			return "", false
		}
	}
	return fingerprintOf(f, err), true
}

func young(info fs.FileInfo) bool {
	age := time.Since(info.ModTime())
	return age >= 0 && age < steadyFor
}
