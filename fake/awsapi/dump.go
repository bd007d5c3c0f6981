package awsapi

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Dump is what calls have made of the account, as canonical JSON: the same resources
// made in the same order give the same text. An account in which nothing is left
// gives [Empty]. No key, certificate or object is in it.
func (s *Server) Dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(map[string]any{ELB: s.elb, ACM: s.acm, EC2: s.ec2, S3: s.s3}, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	value := jsontext.Value(text)
	_ = value.Canonicalize() // what was marshalled is valid
	return string(value)
}

// Empty is the dump of an account that holds nothing.
func Empty() string { return New(Config{}).Dump() }

// AdminPath is where the emulator's own state is, for other processes. AWS has no
// bucket of that name.
const AdminPath = "/_gatehouse/"

// readFaults reads a list of faults. A delay is written as 1.5s.
func readFaults(from io.Reader) ([]Fault, error) {
	var list []struct {
		Fault
		Delay string `json:"delay"`
	}
	if err := json.UnmarshalRead(from, &list, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	var out []Fault
	for i, f := range list {
		if !f.Kind.known() {
			return nil, fmt.Errorf("fault %d: kind %q: want Throttle, Refuse, CutBefore, CutAfter, Slow or Stale", i, f.Kind)
		}
		if f.Delay != "" {
			delay, err := time.ParseDuration(f.Delay)
			if err != nil {
				return nil, fmt.Errorf("fault %d: delay: %w", i, err)
			}
			f.Fault.Delay = delay
		}
		out = append(out, f.Fault)
	}
	return out, nil
}

// admin answers what is not AWS's: GET state, GET calls, DELETE calls, PUT faults.
func (s *Server) admin(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.Method + " " + strings.TrimPrefix(r.URL.Path, AdminPath) {
	case "GET state":
		_, _ = w.Write([]byte(s.Dump()))
	case "GET calls":
		_ = json.MarshalWrite(w, s.Calls())
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
