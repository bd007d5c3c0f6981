package programs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse.dev/test/cluster"
)

// build builds one of the commands, and returns its path. It costs little when
// the program is up to date.
func build(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(os.TempDir(), "gatehouse-e2e", name)
	if err := cluster.Build(tb.Context(), "gatehouse.dev/cmd/"+name, path); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Running is a program that the test has started.
type Running struct {
	*exec.Cmd
	Log string // the file with its output

	ended chan struct{}
	err   error // after ended
}

// Run starts a program until the test ends. Its output goes to a file, whose end is
// shown when the test has failed.
func Run(tb testing.TB, name, path string, args ...string) *Running {
	tb.Helper()
	p := &Running{Cmd: exec.Command(path, args...), Log: filepath.Join(tb.TempDir(), name+".log"), ended: make(chan struct{})}
	out, err := os.Create(p.Log)
	if err != nil {
		tb.Fatal(err)
	}
	p.Stdout, p.Stderr = out, out
	if err := p.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.Wait()
	}()
	tb.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		_ = out.Close()
		if text, err := os.ReadFile(p.Log); err == nil && tb.Failed() {
			tb.Logf("%s:\n%s", name, text[max(0, len(text)-8000):])
		}
	})
	return p
}

// Signal sends one and waits for the end.
func (p *Running) Signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if err := p.Process.Signal(s); err != nil {
		tb.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		tb.Fatalf("%s did not end after %s", filepath.Base(p.Path), s)
	}
}

// Ended is closed when the process has.
func (p *Running) Ended() <-chan struct{} { return p.ended }

// Err is how it ended, after [Running.Ended].
func (p *Running) Err() error { return p.err }

// Lines are those of its log so far, each of JSON.
func (p *Running) Lines() ([]map[string]any, error) {
	f, err := os.Open(p.Log)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	var out []map[string]any
	var errs []error
	s := bufio.NewScanner(f)
	for s.Buffer(nil, 1<<20); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", s.Text(), err))
		}
		out = append(out, line)
	}
	return out, errors.Join(append(errs, s.Err())...)
}

// Usage is what a process takes of the machine.
type Usage struct {
	RSS, Peak int64         // bytes of resident memory, now and at most
	CPU       time.Duration // since it started, in steps of 10 ms
	Files     int           // open
}

// Usage reads it from /proc.
func (p *Running) Usage() (u Usage, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(p.Process.Pid))
	if u.RSS, err = p.kilobytes(dir, "VmRSS"); err != nil {
		return u, err
	}
	if u.Peak, err = p.kilobytes(dir, "VmHWM"); err != nil {
		return u, err
	}
	files, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return u, err
	}
	u.Files = len(files)
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return u, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // from the 3rd, see proc(5)
	var ticks int64
	for _, text := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return u, fmt.Errorf("%s/stat: %w", dir, err)
		}
		ticks += n
	}
	u.CPU = time.Duration(ticks) * (time.Second / 100)
	return u, nil
}

// kilobytes reads a line of /proc/PID/status, as bytes. Where /proc is not of our
// own process namespace, the number would be another process's: that is an error.
func (p *Running) kilobytes(dir, field string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return 0, err
	}
	name := filepath.Base(p.Path)
	if !strings.HasPrefix(string(text), "Name:\t"+name[:min(len(name), 15)]+"\n") {
		return 0, fmt.Errorf("%s is not %s: /proc is another namespace's", dir, name)
	}
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, field+":"); is {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("%s/status has no %s", dir, field)
}

// eventually is for what takes a process a moment.
func eventually(tb testing.TB, ask func(context.Context) error) {
	tb.Helper()
	cluster.Eventually(tb, time.Minute, ask)
}
