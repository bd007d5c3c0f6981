package aip

import (
	"net/http"

	"gatehouse.dev/fake/gcpapi/store"
)

// status is a code of google.rpc with the HTTP status that goes with it
// (google/rpc/code.proto).
type status struct {
	name   string
	number int
	http   int
}

var invalid = status{"INVALID_ARGUMENT", 3, http.StatusBadRequest}

// statuses are the codes by the store's reasons. A conflict of etags is ABORTED, which
// is 409.
var statuses = map[string]status{
	store.NotFound:        {"NOT_FOUND", 5, http.StatusNotFound},
	store.AlreadyExists:   {"ALREADY_EXISTS", 6, http.StatusConflict},
	store.Invalid:         invalid,
	store.Required:        invalid,
	store.NotReady:        {"ABORTED", 10, http.StatusConflict},
	store.InUse:           {"FAILED_PRECONDITION", 9, http.StatusBadRequest},
	store.ConditionUnmet:  {"ABORTED", 10, http.StatusConflict},
	store.QuotaExceeded:   {"RESOURCE_EXHAUSTED", 8, http.StatusTooManyRequests},
	store.RateExceeded:    {"RESOURCE_EXHAUSTED", 8, http.StatusTooManyRequests},
	store.Forbidden:       {"PERMISSION_DENIED", 7, http.StatusForbidden},
	store.BackendError:    {"UNAVAILABLE", 14, http.StatusServiceUnavailable},
	store.Unimplemented:   {"UNIMPLEMENTED", 12, http.StatusNotImplemented},
	"authError":           {"UNAUTHENTICATED", 16, http.StatusUnauthorized},
	"accessNotConfigured": {"PERMISSION_DENIED", 7, http.StatusForbidden},
}

// byHTTP are the codes of other reasons.
var byHTTP = map[int]status{
	http.StatusInternalServerError: {"INTERNAL", 13, http.StatusInternalServerError},
	http.StatusServiceUnavailable:  {"UNAVAILABLE", 14, http.StatusServiceUnavailable},
	http.StatusGatewayTimeout:      {"DEADLINE_EXCEEDED", 4, http.StatusGatewayTimeout},
	http.StatusConflict:            {"ABORTED", 10, http.StatusConflict},
	http.StatusTooManyRequests:     {"RESOURCE_EXHAUSTED", 8, http.StatusTooManyRequests},
}

// code is an error's code of google.rpc. An internal error keeps what it is, whatever
// its reason.
func code(e *store.Error) (status, int) {
	s, ok := statuses[e.Reason]
	if other, known := byHTTP[e.Status]; known && (!ok || e.Reason == store.BackendError) {
		s = other
	} else if !ok {
		s = invalid
	}
	return s, s.number
}

// Refuse is an error as these APIs write it, and sets the HTTP status that goes with it
// (https://google.aip.dev/193).
func Refuse(e *store.Error) store.Object {
	s, _ := code(e)
	e.Status = s.http
	body := store.Object{"code": float64(s.http), "message": e.Message, "status": s.name}
	if len(e.Details) > 0 {
		body["details"] = e.Details
	}
	return store.Object{"error": body}
}
