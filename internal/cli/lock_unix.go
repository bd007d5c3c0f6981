//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock or says at once that it is taken.
func lockFile(file *os.File) error {
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
