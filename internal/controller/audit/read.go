package audit

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"iter"
)

// lineLimit bounds a line that is read, in bytes: more is no entry.
const lineLimit = 1 << 20

// ErrTorn is a line that is no entry: a crash or a full disk has cut it.
var ErrTorn = errors.New("not an audit entry")

// Read gives every entry of a file in order. A line that is none is an error that
// wraps [ErrTorn] and names the line; reading goes on after it, and ends with any
// other error.
func Read(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		lines := bufio.NewReader(r)
		for n := 1; ; n++ {
			line, err := readLine(lines)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Entry{}, err)
				return
			}
			if len(bytes.TrimSpace(line)) > 0 {
				if e, bad := parse(line); !yield(e, numbered(n, bad)) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

// readLine is the next line, as much of it as is kept.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= lineLimit {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// parse reads an entry. Members that a later version writes are passed over.
func parse(line []byte) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return Entry{}, ErrTorn
	}
	if e.Op == "" || e.Time.IsZero() {
		return Entry{}, ErrTorn
	}
	return e, nil
}

func numbered(line int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("line %d: %w", line, err)
}
