package remote

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gatehouse.dev/fake/cloud"
)

// handler answers the cloud's API over HTTP.
type handler struct {
	api   cloud.API
	token [sha256.Size]byte // of the token, so that comparing takes the same time for any length
	slots chan struct{}     // one token a call under way
	log   *slog.Logger
	mux   *http.ServeMux
}

// Bounds of one server. A caller beyond maxCalls is told to slow down.
const (
	maxCalls    = 256
	maxCallTime = time.Minute
)

func newHandler(api cloud.API, token string, log *slog.Logger) *handler {
	h := &handler{api: api, token: sha256.Sum256([]byte(token)), slots: make(chan struct{}, maxCalls), log: log, mux: http.NewServeMux()}
	answer(h, pathCreate, h.create)
	answer(h, pathUpdate, h.update)
	answer(h, pathDelete, func(ctx context.Context, r handleRequest) (nothing, error) {
		return nothing{}, api.Delete(ctx, r.Handle)
	})
	answer(h, pathMark, func(ctx context.Context, r markRequest) (cloud.Object, error) {
		return api.Mark(ctx, r.Handle, r.Dropped)
	})
	answer(h, pathGet, func(ctx context.Context, r handleRequest) (cloud.Object, error) {
		return api.Get(ctx, r.Handle)
	})
	answer(h, pathFind, func(ctx context.Context, r findRequest) (cloud.Object, error) {
		return api.Find(ctx, r.Kind, r.Location, r.Name)
	})
	answer(h, pathList, func(ctx context.Context, r listRequest) (page, error) {
		out, err := api.List(ctx, cloud.ListRequest(r))
		return page(out), err
	})
	return h
}

func (h *handler) create(ctx context.Context, r createRequest) (cloud.Object, error) {
	key, err := r.Key.pair()
	if err != nil {
		return cloud.Object{}, refuse(cloud.InvalidArgument, "%w", err)
	}
	return h.api.Create(ctx, cloud.CreateRequest{Kind: r.Kind, Location: r.Location, Name: r.Name, Tags: r.Tags, Body: r.Body, Key: key})
}

func (h *handler) update(ctx context.Context, r updateRequest) (cloud.Object, error) {
	key, err := r.Key.pair()
	if err != nil {
		return cloud.Object{}, refuse(cloud.InvalidArgument, "%w", err)
	}
	return h.api.Update(ctx, cloud.UpdateRequest{Handle: r.Handle, Version: r.Version, Body: r.Body, Key: key})
}

// ServeHTTP implements http.Handler. Who has not the token learns nothing else, and
// costs nothing.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.authentic(r) {
		fail(w, http.StatusUnauthorized, refuse(cloud.AccessDenied, "the token is not that of this cloud"))
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		fail(w, http.StatusTooManyRequests, cloud.Throttle(100*time.Millisecond))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxCallTime)
	defer cancel()
	h.mux.ServeHTTP(w, r.WithContext(ctx))
}

func (h *handler) authentic(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1
}

// answer registers an operation.
func answer[In, Out any](h *handler, path string, do func(context.Context, In) (Out, error)) {
	h.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var in In
		body := http.MaxBytesReader(w, r.Body, maxRequest)
		if err := json.UnmarshalRead(body, &in, json.RejectUnknownMembers(true)); err != nil {
			fail(w, statusOfBody(err), refuse(cloud.InvalidArgument, "%s", faultOfBody(err)))
			return
		}
		out, err := do(r.Context(), in)
		switch {
		case errors.Is(err, errCut):
			panic(http.ErrAbortHandler) // net/http's way to end a connection without an answer
		case err != nil:
			f := failureOf(err)
			h.log.DebugContext(r.Context(), "call refused", "path", path, "code", f.Code, "why", f.Message)
			fail(w, statusOf(f.Code), err)
		default:
			write(w, http.StatusOK, out)
		}
	})
}

func fail(w http.ResponseWriter, status int, err error) { write(w, status, failureOf(err)) }

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v)) // a caller that is gone has nobody left to tell
}

func statusOfBody(err error) int {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

// faultOfBody says what is wrong with a request by place only: the decoder's own
// words may quote a value, and the value may be a key.
func faultOfBody(err error) string {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return "the request has more than " + strconv.FormatInt(large.Limit, 10) + " bytes"
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return "the request's field " + string(semantic.JSONPointer) + " is not of this API"
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return "the request is not one JSON value; see its field " + string(syntax.JSONPointer)
	}
	return "the request did not come whole"
}
