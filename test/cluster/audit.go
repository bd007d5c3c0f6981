package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// Request is one that the API server has answered, as its audit log tells.
type Request struct {
	User, Verb, URI string
	Group, Resource string // Resource has the subresource too: httproutes/status
	Namespace, Name string
	Code            int
	Message         string // why it was refused
	At              time.Time
}

// Write says whether the request changed something.
func (r Request) Write() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return r.Code < 300
	default:
		return false
	}
}

// Object names what the request was about, without the subresource's part.
func (r Request) Object() string {
	return fmt.Sprintf("%s %s/%s", r.Resource, r.Namespace, r.Name)
}

// Audit reads the audit log as it grows.
type Audit struct {
	path   string
	offset int64
}

// Audit reads the log from where it ends now. The log is written before an answer
// is sent, so whatever somebody has got an answer to is in it.
func (c *Cluster) Audit() (*Audit, error) {
	info, err := os.Stat(c.AuditLog())
	if err != nil {
		return nil, err
	}
	return &Audit{path: c.AuditLog(), offset: info.Size()}, nil
}

// Next is what has been answered since the last call.
func (a *Audit) Next() ([]Request, error) {
	f, err := os.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	if _, err := f.Seek(a.offset, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may be half written
	a.offset += int64(len(text))
	return parseAudit(text)
}

func parseAudit(text []byte) ([]Request, error) {
	var out []Request
	for line := range bytes.Lines(text) {
		var e struct {
			Stage          string
			User           struct{ Username string }
			Verb           string
			RequestURI     string
			ObjectRef      struct{ Resource, APIGroup, Subresource, Namespace, Name string }
			ResponseStatus struct {
				Code    int
				Message string
			}
			RequestReceivedTimestamp time.Time
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		counts := "ResponseComplete"
		if e.Verb == "watch" && e.ResponseStatus.Code < 300 {
			counts = "ResponseStarted" // it may not end
		}
		if e.Stage != counts {
			continue
		}
		r := Request{
			User: e.User.Username, Verb: e.Verb, URI: e.RequestURI, Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource,
			Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name, Code: e.ResponseStatus.Code, Message: e.ResponseStatus.Message,
			At: e.RequestReceivedTimestamp,
		}
		if e.ObjectRef.Subresource != "" {
			r.Resource += "/" + e.ObjectRef.Subresource
		}
		out = append(out, r)
	}
	return out, nil
}
