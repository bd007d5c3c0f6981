package awsapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/fake/awsapi/wire"
	"gatehouse.dev/fake/calls"
)

// mostBody is the largest body that is read, in bytes: a revocation list.
const mostBody = 64 << 20

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, elb.Downloads):
		s.download(w, r)
		return
	case strings.HasPrefix(r.URL.Path, AdminPath):
		s.admin().ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		http.Error(w, "the request can't be read", http.StatusRequestEntityTooLarge)
		return
	}
	req := &wire.Request{Request: r, Body: body, Form: r.URL.Query()}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		if form, err := url.ParseQuery(string(body)); err == nil {
			req.Form = form
		}
	}
	signer := signerOf(r)
	to, ok := s.endpoints[serviceOf(req, signer)]
	if !ok {
		to = s.absent(serviceOf(req, signer))
	}
	s.serve(w, req, signer, to)
}

// absent stands for a service that is not emulated: it refuses every action in JSON,
// which most of AWS's services speak.
func (s *Server) absent(service string) endpoint {
	return endpoint{name: service, protocol: wire.JSON{Service: service}}
}

// answer is how a call ended.
type answer struct {
	result any
	err    *wire.Error
}

func (s *Server) serve(w http.ResponseWriter, r *wire.Request, from signer, to endpoint) {
	name := to.protocol.Action(r)
	action, known := to.actions[name]
	entry := Call{Service: to.name, Action: name, Bucket: action.Bucket, Writes: action.Writes, Caller: r.UserAgent(), Key: from.key, Digest: digest(r), About: about(to.name, r)}
	if !known {
		entry.Action = "unknown"
	}
	number, fault := s.begin(&entry)
	calls.Pause(r.Context(), fault.Delay)
	if fault.Kind == CutBefore {
		s.end(number, answer{})
		panic(http.ErrAbortHandler) // net/http's way to end a connection without an answer
	}
	out := s.answer(r, from, to, action, fault)
	s.end(number, out)
	if out.err == nil && action.Writes {
		s.Refresh()
	}
	if fault.Kind == CutAfter {
		panic(http.ErrAbortHandler)
	}
	if out.err != nil {
		to.protocol.Refuse(w, r, entry.RequestID, out.err)
		return
	}
	to.protocol.Reply(w, r, entry.RequestID, out.result)
}

// answer does what is asked for, or refuses.
func (s *Server) answer(r *wire.Request, from signer, to endpoint, action account.Action, fault Fault) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	if action.Run == nil {
		return answer{err: wire.Refuse("InvalidAction", "Could not find operation %s for %s", to.protocol.Action(r), to.name)}
	}
	if err := s.admit(now, from, to.name, action.Name); err != nil {
		return answer{err: err}
	}
	if s.Permit != nil && !s.Permit(from.key, to.name, action.Name) {
		return answer{err: forbidden(to.name, action.Name)}
	}
	if refused := fault.refusal(to); refused != nil {
		return answer{err: refused}
	}
	if !s.meter.Take(now, buckets(to.name, action.Bucket)...) {
		return answer{err: &to.throttle}
	}
	input := action.Input()
	var malformed *wire.Malformed
	if err := to.protocol.Decode(r, input); errors.As(err, &malformed) {
		return answer{err: wire.Refuse("MalformedInput", "%s", malformed.Error())}
	}
	call := &account.Call{Home: s.home, Now: now, Host: "http://" + r.Host, Key: from.key, Stale: fault.Kind == Stale}
	if !action.Writes {
		call.Lag = s.Times.Read
	}
	result, err := action.Run(call, input)
	return answer{result, asError(err)}
}

// buckets are the buckets that a call takes a token from.
func buckets(service, class string) []string {
	if service == ELB {
		return []string{elb.BucketAccount, class}
	}
	return []string{class}
}

func asError(err error) *wire.Error {
	var refused *wire.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	}
	return &wire.Error{Status: http.StatusInternalServerError, Code: "InternalFailure", Message: err.Error()}
}

// download serves what links to trust stores lead to, for as long as links live.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	const life = 10 * time.Minute
	signed, err := time.Parse("20060102T150405Z", r.URL.Query().Get("X-Amz-Date"))
	s.mu.Lock()
	content, ok := s.elb.Download(r.URL.Path)
	now := s.Clock.Now()
	s.mu.Unlock()
	switch {
	case err != nil || now.After(signed.Add(life)):
		http.Error(w, "Request has expired", http.StatusForbidden)
	case !ok:
		http.NotFound(w, r)
	default:
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
}
