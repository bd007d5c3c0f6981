package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the lock or says at once that it is taken.
func lockFile(file *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	// Far behind the text, which the holder may still have to be read from.
	return windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
}
