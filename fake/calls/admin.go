package calls

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"net/http"
	"strings"
)

// AdminPath is where an emulator's own state is, for other processes. No cloud has such
// a path.
const AdminPath = "/_gatehouse/"

// Canonical is a value as JSON of which there is one form only (RFC 8785).
func Canonical(v any) string {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	value := jsontext.Value(text)
	_ = value.Canonicalize() // what was marshalled is valid
	return string(value)
}

// mostFaults is the longest list of faults that is read, in bytes.
const mostFaults = 1 << 20

// Admin answers below AdminPath: GET for each of Show, DELETE calls and PUT faults.
type Admin struct {
	Show   map[string]func() string // JSON
	Forget func()
	Spoil  func(list io.Reader) error // sets the faults, or refuses them
}

// ServeHTTP implements http.Handler.
func (a Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, AdminPath)
	show := a.Show[name]
	switch {
	case r.Method == http.MethodGet && show != nil:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, show()) // a caller that has gone needs no answer
	case r.Method == http.MethodDelete && name == "calls":
		a.Forget()
	case r.Method == http.MethodPut && name == "faults":
		if err := a.Spoil(http.MaxBytesReader(w, r.Body, mostFaults)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	default:
		http.NotFound(w, r)
	}
}
