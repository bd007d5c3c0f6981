package gcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
)

// In which order a header action removes and adds is not documented, and an outer one
// comes after an inner one, whereas a route's edits come before those of its backends.
// So edits are reckoned up for each header, and written where each counts once.

// headerFate is what becomes of one header.
type headerFate struct {
	name   string
	fresh  bool // what was there is gone
	values []string
}

// fates are headers by their lower case names, in the order in which they came up.
type fates []*headerFate

func (f *fates) of(name string) *headerFate {
	key := strings.ToLower(name)
	for _, h := range *f {
		if h.name == key {
			return h
		}
	}
	h := &headerFate{name: key}
	*f = append(*f, h)
	return h
}

// edit does what an edit says: remove, set, add.
func (f *fates) edit(e *lbmodel.HeaderEdit) {
	if e == nil {
		return
	}
	for _, name := range e.Remove {
		h := f.of(name)
		h.fresh, h.values = true, nil
	}
	for _, s := range e.Set {
		h := f.of(s.Name)
		h.fresh, h.values = true, []string{s.Value}
	}
	for _, a := range e.Add {
		h := f.of(a.Name)
		h.values = append(slices.Clip(h.values), a.Value)
	}
}

// options are what is added and removed. An error names what has no encoding.
func (f *fates) options() (add []HeaderOption, remove []string, _ error) {
	for _, h := range *f {
		if h.name == "host" {
			continue // it is not among the headers that edits are of
		}
		if err := h.check(); err != nil {
			return nil, nil, err
		}
		if h.fresh && len(h.values) == 0 {
			remove = append(remove, h.name)
		}
		for _, value := range h.values {
			add = append(add, HeaderOption{HeaderName: h.name, HeaderValue: value, Replace: h.fresh})
		}
	}
	return add, remove, nil
}

// reserved are names that the load balancer keeps to itself (custom headers).
func reserved(name string) bool {
	return slices.Contains([]string{"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "trailers",
		"transfer-encoding", "upgrade", "x-user-ip", "cdn-loop"}, name) ||
		slices.ContainsFunc([]string{"x-google", "x-goog-", "x-gfe", "x-amz-"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

func (h *headerFate) check() error {
	switch {
	case reserved(h.name):
		return fmt.Errorf("the header %s is the load balancer's own", h.name)
	case h.fresh && len(h.values) > 1:
		return fmt.Errorf("the header %s is set and added to; set it to all values at once", h.name)
	case slices.Contains(h.values, ""):
		return fmt.Errorf("the header %s is given no value; remove it instead", h.name)
	case slices.ContainsFunc(h.values, func(v string) bool { return strings.Contains(v, "{") }):
		return fmt.Errorf("the value of the header %s has a brace, with which Google Cloud's variables begin", h.name)
	default:
		return nil
	}
}

// headerAction is what becomes of headers by several edits, the first first; nil where
// nothing does.
func headerAction(edits ...*lbmodel.Edits) (*HeaderAction, error) {
	var request, response fates
	for _, e := range edits {
		request.edit(e.Request)
		response.edit(e.Response)
	}
	out := &HeaderAction{}
	var errRequest, errResponse error
	out.RequestHeadersToAdd, out.RequestHeadersToRemove, errRequest = request.options()
	out.ResponseHeadersToAdd, out.ResponseHeadersToRemove, errResponse = response.options()
	if err := errors.Join(errRequest, errResponse); err != nil {
		return nil, err
	}
	if len(out.RequestHeadersToAdd)+len(out.RequestHeadersToRemove)+len(out.ResponseHeadersToAdd)+len(out.ResponseHeadersToRemove) == 0 {
		return nil, nil
	}
	return out, nil
}
