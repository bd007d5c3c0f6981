package gcpapi

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/store"
)

// Dump is what calls have made of the project, as canonical JSON by full resource names:
// the same resources made in the same order give the same text. What only tells when
// something was made, and in which order, is not in it, and no key. A project in which
// nothing is left gives [Empty].
func (s *Server) Dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]any{}
	v := s.store.Newest()
	for _, n := range v.Names() {
		if v.Given(n) {
			continue
		}
		o := store.Output(v, n, v.Get(n))
		for _, field := range []string{"id", "creationTimestamp", "createTime", "updateTime", "fingerprint", "labelFingerprint", "etag"} {
			delete(o, field)
		}
		out[string(n)] = o
	}
	text, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	value := jsontext.Value(text)
	_ = value.Canonicalize() // what was marshalled is valid
	return string(value)
}

// Empty is the dump of a project that holds nothing.
func Empty() string { return "{}" }

// Running is how many operations have not ended.
func (s *Server) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, now := 0, s.Clock.Now()
	for _, service := range s.services {
		for _, o := range s.store.Operations(service.API.Host, "") {
			if !o.Done(now) {
				n++
			}
		}
	}
	return n
}

// AdminPath is where the emulator's own state is, for other processes. No API of
// Google's has it.
const AdminPath = "/_gatehouse/"

// readFaults reads a list of faults. Times are written as 1.5s.
func readFaults(from io.Reader) ([]Fault, error) {
	var list []struct {
		Fault
		Delay  string `json:"delay"`
		Window string `json:"window"`
	}
	if err := json.UnmarshalRead(from, &list, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	var out []Fault
	for i, f := range list {
		if !f.Kind.known() {
			return nil, fmt.Errorf("fault %d: kind %q: want one of %v", i, f.Kind, kinds)
		}
		for text, to := range map[*string]*time.Duration{&f.Delay: &f.Fault.Delay, &f.Window: &f.Fault.Window} {
			if *text == "" {
				continue
			}
			d, err := time.ParseDuration(*text)
			if err != nil {
				return nil, fmt.Errorf("fault %d: %w", i, err)
			}
			*to = d
		}
		out = append(out, f.Fault)
	}
	return out, nil
}

// admin answers what is not Google's: GET state, GET calls, GET rates, DELETE calls, PUT
// faults.
func (s *Server) admin(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.Method + " " + strings.TrimPrefix(r.URL.Path, AdminPath) {
	case "GET state":
		_, _ = w.Write([]byte(s.Dump()))
	case "GET calls":
		_ = json.MarshalWrite(w, s.Calls())
	case "GET rates":
		_ = json.MarshalWrite(w, s.Used(), json.Deterministic(true))
	case "DELETE calls":
		s.Forget()
	case "PUT faults":
		list, err := readFaults(http.MaxBytesReader(w, r.Body, mostBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.SetFaults(list...)
	default:
		http.NotFound(w, r)
	}
}
