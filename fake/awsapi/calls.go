package awsapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/wire"
	"gatehouse.dev/fake/calls"
)

// Call is an entry of the call log. Of what a request carried it holds a digest, and
// the names of what it is about.
type Call struct {
	Number    int       `json:"number"` // from 1
	At        time.Time `json:"at"`
	Service   string    `json:"service"`
	Action    string    `json:"action"` // "unknown" for one that is not emulated
	Writes    bool      `json:"writes,omitzero"`
	Bucket    string    `json:"bucket,omitzero"`
	Caller    string    `json:"caller,omitzero"` // the user agent
	Key       string    `json:"key,omitzero"`    // the access key id
	RequestID string    `json:"requestId"`
	About     string    `json:"about,omitzero"` // ARNs, ids and names, with a blank between; a path of S3
	// Digest is of the parameters, in an order that does not depend on the caller's:
	// calls with equal digests ask for the same.
	Digest string    `json:"digest"`
	Code   string    `json:"code,omitzero"` // of the error; "" for success
	Fault  FaultKind `json:"fault,omitzero"`
	Done   bool      `json:"done"` // it has been answered, or cut
}

func (s *Server) begin(entry *Call) (int, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := s.faults.Take(entry)
	entry.Number, entry.At, entry.Fault = s.log.Next(), s.Clock.Now(), fault.Kind
	entry.RequestID = requestID(entry.Number)
	s.log.Add(*entry)
	return entry.Number, fault
}

func (s *Server) end(number int, out answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.log.At(number)
	if entry == nil {
		return // dropped, or forgotten
	}
	entry.Done = true
	if out.err != nil {
		entry.Code = out.err.Code
	}
}

// requestID depends on a call's number alone, and takes no name from the resources.
func requestID(number int) string {
	sum := sha256.Sum256([]byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)})
	x := hex.EncodeToString(sum[:])
	return x[:8] + "-" + x[8:12] + "-4" + x[13:16] + "-a" + x[17:20] + "-" + x[20:32]
}

// digest is of a request's parameters.
func digest(r *wire.Request) string {
	text := []byte(r.Method + " " + r.URL.Path + "?" + r.Form.Encode() + "\n")
	if r.Form.Get("Action") == "" {
		var value any
		if json.Unmarshal(r.Body, &value) == nil {
			if canonical, err := json.Marshal(value, json.Deterministic(true)); err == nil {
				r := append(text, canonical...)
				return hash(r)
			}
		}
		text = append(text, r.Body...)
	}
	return hash(text)
}

// names are the parameters that say what a request is about.
var names = regexp.MustCompile(`^((LoadBalancer|Listener|Rule|TargetGroup|TrustStore|Resource)Arn|Name|GroupName|GroupId|RoleArn|` +
	`\w+Arns\.member\.\d+|Names\.member\.\d+|RulePriorities\.member\.\d+\.RuleArn|(Group|Subnet|Vpc|Instance|Resource)Id\.\d+)$`)

// about is what a request is about, for people.
func about(service string, r *wire.Request) string {
	var out []string
	switch service {
	case S3:
		return r.URL.Path
	case ACM:
		var of struct{ CertificateArn, ResourceArn string }
		if json.Unmarshal(r.Body, &of) == nil {
			return of.CertificateArn + of.ResourceArn
		}
	default:
		for _, name := range slices.Sorted(maps.Keys(r.Form)) {
			if names.MatchString(name) {
				out = append(out, r.Form.Get(name))
			}
		}
	}
	return strings.Join(out, " ")
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Calls are the calls so far, oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.All()
}

// Forget empties the call log.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Forget()
}

// Count counts calls by what a key says of them; a key of "" leaves a call out.
func (s *Server) Count(key func(Call) string) map[string]int {
	return calls.Count(s.Calls(), key)
}

// ByAction is a key for Count: the action.
func ByAction(c Call) string { return c.Action }

// ByBucket is a key for Count: the token bucket.
func ByBucket(c Call) string { return c.Bucket }

// ByCaller is a key for Count: the user agent.
func ByCaller(c Call) string { return c.Caller }

// Callers are the user agents that called, in order.
func (s *Server) Callers() []string { return slices.Sorted(maps.Keys(s.Count(ByCaller))) }
