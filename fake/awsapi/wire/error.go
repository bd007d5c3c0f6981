package wire

import "fmt"

// Error is an answer that refuses.
type Error struct {
	Status  int // of HTTP
	Code    string
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Refuse makes an Error with status 400, as nearly all are.
func Refuse(code, format string, args ...any) *Error {
	return &Error{Status: 400, Code: code, Message: fmt.Sprintf(format, args...)}
}
