package wire

import (
	"encoding/json/v2"
	"errors"
	"net/http"
	"strings"
	"time"
)

// JSON is the protocol awsJson1.1: the action is in a header, input and output are
// JSON, times are seconds since 1970.
type JSON struct {
	Service string // as X-Amz-Target names it, before the action
}

// Action implements Protocol.
func (j JSON) Action(r *Request) string {
	return strings.TrimPrefix(r.Header.Get("X-Amz-Target"), j.Service+".")
}

// Decode implements Protocol.
func (j JSON) Decode(r *Request, into any) error {
	body := r.Body
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := json.Unmarshal(body, into, json.RejectUnknownMembers(true)); err != nil {
		return &Malformed{"body", plain(err)}
	}
	return nil
}

// plain says what is wrong with a body without quoting it: it may hold a key.
func plain(err error) string {
	var where *json.SemanticError
	if errors.As(err, &where) && where.JSONPointer != "" {
		return "can't be read at " + string(where.JSONPointer)
	}
	return "it is not what this action takes"
}

// Reply implements Protocol.
func (j JSON) Reply(w http.ResponseWriter, r *Request, id string, result any) {
	w.Header().Set("X-Amzn-Requestid", id)
	body, err := json.Marshal(result, json.OmitZeroStructFields(true))
	if err != nil {
		j.Refuse(w, r, id, &Error{http.StatusInternalServerError, "InternalFailure", "the answer can't be written"})
		return
	}
	if string(body) == "null" {
		body = nil // an action without a result answers with nothing
	}
	send(w, "application/x-amz-json-1.1", http.StatusOK, body)
}

// Refuse implements Protocol.
func (j JSON) Refuse(w http.ResponseWriter, _ *Request, id string, err *Error) {
	w.Header().Set("X-Amzn-Requestid", id)
	body, _ := json.Marshal(struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{err.Code, err.Message}) // two strings can always be written
	send(w, "application/x-amz-json-1.1", err.Status, body)
}

// Epoch is a time as AWS's JSON writes it.
type Epoch struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (e Epoch) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(e.UnixMilli()) / 1000)
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Epoch) UnmarshalJSON(text []byte) error {
	var seconds float64
	if err := json.Unmarshal(text, &seconds); err != nil {
		return err
	}
	e.Time = time.UnixMilli(int64(seconds * 1000)).UTC()
	return nil
}
