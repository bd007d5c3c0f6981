package gcpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// RoundTrip implements http.RoundTripper: clients in the same process need no socket,
// and no other address than Google's. A call that loses its reply ends with
// io.ErrUnexpectedEOF.
func (s *Server) RoundTrip(r *http.Request) (response *http.Response, err error) {
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	defer func() {
		if lost := recover(); lost != nil {
			if cut, ok := lost.(error); !ok || !errors.Is(cut, http.ErrAbortHandler) {
				panic(lost)
			}
			response, err = nil, io.ErrUnexpectedEOF
		}
	}()
	if r.Host == "" {
		r = r.Clone(r.Context())
		r.Host = r.URL.Host
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	s.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorder is a response in memory.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }
