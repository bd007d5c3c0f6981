package wire

import (
	"bytes"
	"net/http"
	"net/url"
)

// Request is a request whose body has been read.
type Request struct {
	*http.Request
	Body []byte
	Form url.Values // of a form, or the query
}

// Protocol is how a service's calls look on HTTP.
type Protocol interface {
	// Action names the action that is asked for; "" if none can be made out. An
	// answer is written to a request that named one.
	Action(*Request) string
	// Decode reads the input. Its error is a *[Malformed].
	Decode(*Request, any) error
	// Reply writes an action's result.
	Reply(w http.ResponseWriter, r *Request, id string, result any)
	// Refuse writes an error.
	Refuse(w http.ResponseWriter, r *Request, id string, err *Error)
}

// XML is the query protocol, in either dialect.
type XML struct {
	Dialect   Dialect
	Namespace string
}

// Action implements Protocol.
func (x XML) Action(r *Request) string { return r.Form.Get("Action") }

// Decode implements Protocol.
func (x XML) Decode(r *Request, into any) error { return x.Dialect.Decode(r.Form, into) }

// Reply implements Protocol.
func (x XML) Reply(w http.ResponseWriter, r *Request, id string, result any) {
	var out bytes.Buffer
	action := x.Action(r)
	out.WriteString("<" + action + "Response xmlns=\"" + x.Namespace + "\">")
	if x.Dialect == EC2 {
		x.Dialect.Element(&out, "requestId", id)
		x.Dialect.Content(&out, result)
	} else {
		open(&out, action+"Result")
		x.Dialect.Content(&out, result)
		shut(&out, action+"Result")
		x.Dialect.Element(&out, "ResponseMetadata", metadata{id})
	}
	shut(&out, action+"Response")
	send(w, "text/xml", http.StatusOK, out.Bytes())
}

// Refuse implements Protocol.
func (x XML) Refuse(w http.ResponseWriter, _ *Request, id string, err *Error) {
	var out bytes.Buffer
	if x.Dialect == EC2 {
		out.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<Response><Errors>")
		x.Dialect.Element(&out, "Error", struct{ Code, Message string }{err.Code, err.Message})
		out.WriteString("</Errors><RequestID>" + id + "</RequestID></Response>")
	} else {
		side := "Sender"
		if err.Status >= http.StatusInternalServerError {
			side = "Receiver"
		}
		out.WriteString("<ErrorResponse xmlns=\"" + x.Namespace + "\">")
		x.Dialect.Element(&out, "Error", struct{ Type, Code, Message string }{side, err.Code, err.Message})
		out.WriteString("<RequestId>" + id + "</RequestId></ErrorResponse>")
	}
	send(w, "text/xml", err.Status, out.Bytes())
}

// metadata closes an answer.
type metadata struct {
	RequestID string `wire:"RequestId"`
}

func send(w http.ResponseWriter, kind string, status int, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that has gone needs no answer
}
