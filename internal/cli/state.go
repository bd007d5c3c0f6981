package cli

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// state is the directory of one cluster: a lock, the statuses as last written,
// and one folder for each provider that has no cloud of its own.
type state struct{ dir string }

// state finds the directory. It makes nothing.
func (a *app) state() (state, error) {
	if !clusterName().MatchString(a.flags.cluster) {
		return state{}, usagef("--cluster %q: want lower case letters, digits, dots and hyphens, at most 63", a.flags.cluster)
	}
	base := a.flags.state
	if base == "" {
		base = a.env.Getenv("GATEHOUSE_STATE")
	}
	if base == "" {
		base = ".gatehouse"
	}
	return state{filepath.Join(base, a.flags.cluster)}, nil
}

// clusterName is what may be a directory's name and a part of a resource's tag.
func clusterName() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`) }

func (s state) provider(name string) string { return filepath.Join(s.dir, name) }

// exists says whether anything was ever applied.
func (s state) exists() bool {
	_, err := os.Stat(s.dir)
	return err == nil
}

// lock makes the directory and takes its lock: one writer at a time. The lock
// goes with the process, however that ends.
func (s state) lock(command string) (unlock func() error, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("the state directory cannot be made: %w; --state names another place", err)
	}
	path := filepath.Join(s.dir, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the state directory cannot be written: %w; --state names another place", err)
	}
	if err := lockFile(file); err != nil {
		holder, _ := os.ReadFile(path) // best effort: only to name the holder
		return nil, errors.Join(fmt.Errorf("another command is changing cluster state %s (%s): wait for it, or stop it", s.dir, holder), file.Close())
	}
	if err := errors.Join(file.Truncate(0), write(file, fmt.Sprintf("gatehouse %s, process %d", command, os.Getpid()))); err != nil {
		return nil, errors.Join(fmt.Errorf("the state directory cannot be written: %w; --state names another place", err), file.Close())
	}
	return file.Close, nil
}

func write(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// save writes a value whole or not at all.
func (s state) save(name string, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	file, err := os.CreateTemp(s.dir, "."+name+"-*")
	if err != nil {
		return fmt.Errorf("saving %s: %w", name, err)
	}
	_, err = file.Write(append(text, '\n'))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(s.dir, name))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("saving %s: %w", name, err), os.Remove(file.Name()))
	}
	return nil
}

// load reads a saved value; nothing saved leaves v as it is.
func (s state) load(name string, v any) error {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		path := filepath.Join(s.dir, name)
		return fmt.Errorf("reading %s: %w; without the file nothing is lost but what get shows and which gateways are protected from pruning", path, err)
	}
	return nil
}
