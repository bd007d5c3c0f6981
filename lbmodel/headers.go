package lbmodel

import (
	"net/textproto"
	"slices"
)

// Apply edits headers in place: remove, set, add. The keys of headers are in the
// canonical form of net/http's Header; names of the edit may be in any case. A
// nil edit changes nothing. The Host of a request is not among its headers and
// so is never touched.
func (e *HeaderEdit) Apply(headers map[string][]string) {
	if e == nil {
		return
	}
	for _, name := range e.Remove {
		delete(headers, textproto.CanonicalMIMEHeaderKey(name))
	}
	for _, h := range e.Set {
		headers[textproto.CanonicalMIMEHeaderKey(h.Name)] = []string{h.Value}
	}
	for _, h := range e.Add {
		key := textproto.CanonicalMIMEHeaderKey(h.Name)
		headers[key] = append(slices.Clip(headers[key]), h.Value)
	}
}

// RetriesStatus says whether an answer with this status is to be tried again.
// Whether attempts are left is the caller's business.
func (r *Retry) RetriesStatus(status int) bool {
	return r != nil && r.Attempts > 0 && slices.Contains(r.Codes, status)
}

// RetriesConnect says whether an attempt that never reached the backend is to be
// tried again.
func (r *Retry) RetriesConnect() bool { return r != nil && r.Attempts > 0 }
