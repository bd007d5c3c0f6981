package cli

import (
	"errors"
	"fmt"
)

// The exit codes, as `gatehouse help` documents them.
const (
	exitOK      = 0
	exitError   = 1
	exitChanges = 2 // plan found something to do, as terraform's -detailed-exitcode; the mesh commands found something that is not well
	exitPartial = 3 // apply did a part: some steps failed, wait or were kept back
)

// exit ends the command with a code and no further words: what had to be said
// was said.
type exit int

// Error implements error.
func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a mistake in the command line itself; help is the way out.
type usageError struct{ error }

// Unwrap implements errors.Unwrap.
func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func codeOf(err error) int {
	var code exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	default:
		return exitError
	}
}
