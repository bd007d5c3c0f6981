package lbmodel

import (
	"fmt"
	"time"
)

// Duration is a time.Duration that is written as text ("1m30s") in JSON and
// YAML. Zero means not set.
type Duration time.Duration

// String is time.Duration's own form.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q: want a Go duration such as 1m30s: %w", text, err)
	}
	*d = Duration(v)
	return nil
}
