package kubelet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stamp is the form of each line's time. Its length is fixed, so that lines sort.
const stamp = "2006-01-02T15:04:05.000000000Z"

// logFile is a container's log: each line with its time.
type logFile struct {
	mu   sync.Mutex
	file *os.File
	rest []byte // of a line that has no end yet
}

// logName is the log of the n-th run, unique over all pods of all times.
func (c *container) logName(n int32) string {
	return fmt.Sprintf("%s_%s_%s_%s_%d.log", c.worker.namespace, c.worker.name, c.worker.uid, c.spec.Name, n)
}

func (k *Kubelet) logPath(name string) string { return filepath.Join(k.config.Dir, "logs", name) }

func (k *Kubelet) openLog(name string) (*logFile, error) {
	path := k.logPath(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &logFile{file: f}, err
}

// Write takes what the program says.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now().UTC().Format(stamp)
	l.rest = append(l.rest, p...)
	var out []byte
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			break
		}
		out = fmt.Appendf(out, "%s %s\n", now, line)
		l.rest = rest
	}
	_, err := l.file.Write(out)
	return len(p), err
}

// Close ends the log with what of a line was left.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		if _, err := fmt.Fprintf(l.file, "%s %s\n", time.Now().UTC().Format(stamp), l.rest); err != nil {
			return errors.Join(err, l.file.Close())
		}
	}
	return l.file.Close()
}

// query says which part of a log is wanted.
type query struct {
	since      time.Time // zero: from the begin
	tail       int       // last lines; negative: all
	limit      int64     // bytes; 0: no limit
	follow     bool
	timestamps bool
}

// read copies a log. When it follows, it ends with the context, or when done is
// closed and all has been read.
func (q query) read(ctx context.Context, path string, out io.Writer, done <-chan struct{}) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if q.limit > 0 {
		out = &limited{out, q.limit}
	}
	r := bufio.NewReader(f)
	all, err := q.existing(r)
	if err != nil {
		return err
	}
	for _, line := range all {
		if err := q.write(out, line); err != nil {
			return err
		}
	}
	if !q.follow {
		return nil
	}
	return q.wait(ctx, r, out, done)
}

// existing are the lines that are there already and are wanted.
func (q query) existing(r *bufio.Reader) ([]string, error) {
	var all []string
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			break
		} else if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if line[:min(len(line), len(stamp))] >= q.since.UTC().Format(stamp) || q.since.IsZero() {
			all = append(all, line)
		}
	}
	if q.tail >= 0 {
		all = all[max(0, len(all)-q.tail):]
	}
	return all, nil
}

// wait copies lines as they come.
func (q query) wait(ctx context.Context, r *bufio.Reader, out io.Writer, done <-chan struct{}) error {
	part := ""
	for over := false; ; {
		line, err := r.ReadString('\n')
		part += line
		switch {
		case err == nil:
			if err := q.write(out, part); err != nil {
				return err
			}
			part = ""
		case !errors.Is(err, io.EOF):
			return err
		case over:
			return nil
		default:
			select {
			case <-done: // one more look, for what was said at the end
				over = true
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

func (q query) write(out io.Writer, line string) error {
	if !q.timestamps {
		line = line[min(len(line), len(stamp)+1):]
	}
	_, err := io.WriteString(out, line)
	return err
}

// limited ends with an error after so many bytes.
type limited struct {
	io.Writer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.Writer.Write(p)
	l.left -= int64(n)
	if err == nil && l.left == 0 {
		err = io.EOF
	}
	return n, err
}
