//go:build unix

package cloud

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lockFile takes a lock that ends with the process, however it ends, and notes who
// has it.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(lockError(f, err), f.Close())
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func lockError(f *os.File, err error) error {
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("it cannot be locked: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return err
	}
	holder := strings.TrimSpace(string(text))
	if holder == "" {
		holder = "unknown"
	}
	return fmt.Errorf("process %s has it in use: stop that process first, or take another directory: %w", holder, syscall.EWOULDBLOCK)
}
