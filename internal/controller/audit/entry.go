package audit

import (
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Entry is one call that may have changed a cloud. Members that are not known are
// left out.
type Entry struct {
	Time     time.Time     `json:"time"` // when it was over
	Cluster  string        `json:"cluster"`
	Identity string        `json:"identity"` // of the controller that made it
	Provider string        `json:"provider,omitzero"`
	Gateway  string        `json:"gateway,omitzero"` // Kind/namespace/name that owns the resource; none of a shared one
	For      Object        `json:"for,omitzero"`     // whose pass or event it was made for
	Plan     string        `json:"plan,omitzero"`    // hash of the plan that it is part of
	Op       string        `json:"op"`               // verb and kind: CreateRule
	ID       lbmodel.ID    `json:"id"`
	Cause    lbmodel.Cause `json:"cause,omitzero"`
	Why      string        `json:"why,omitzero"`
	Before   string        `json:"before,omitzero"` // digest of the resource that was there, in hex
	After    string        `json:"after,omitzero"`  // digest of what it was to become
	Attempt  int           `json:"attempt,omitzero"`
	Code     string        `json:"code"` // OK, or a code of lbmodel
	Error    string        `json:"error,omitzero"`
	Request  string        `json:"request,omitzero"` // the cloud's own ID of the call
	Took     float64       `json:"took"`             // seconds

	// Lost is set in an entry that stands for as many which could not be written.
	Lost uint64 `json:"lost,omitzero"`
}

// Object is a Kubernetes object at a generation.
type Object struct {
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitzero"`
	Name       string `json:"name"`
	Generation int64  `json:"generation,omitzero"`
}

// String is Kind/namespace/name.
func (o Object) String() string {
	return lbmodel.Source{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}.String()
}

// requested is an error that knows the cloud's ID of the call that failed.
type requested interface{ RequestID() string }

// entryOf is a call as the record has it.
func entryOf(e providers.Event) Entry {
	out := Entry{
		Time: e.At.UTC(), Op: string(e.Step.Verb) + e.Step.ID.Kind, ID: e.Step.ID,
		Cause: e.Step.Cause, Why: safe(e.Step.Why), Attempt: e.Attempt,
		Code: lbmodel.CodeOf(e.Err).String(), Took: e.Took.Seconds(),
	}
	if e.Owner.Name != "" {
		out.Gateway = Object{Kind: e.Owner.Kind, Namespace: e.Owner.Namespace, Name: e.Owner.Name}.String()
	}
	if e.Step.Have.Digest != (lbmodel.Digest{}) {
		out.Before = hex.EncodeToString(e.Step.Have.Digest[:])
	}
	if e.Step.Want != nil {
		d := lbmodel.DigestOf(e.Step.Want)
		out.After = hex.EncodeToString(d[:])
	}
	if e.Err != nil {
		out.Error = safe(e.Err.Error())
	}
	var known requested
	if errors.As(e.Err, &known) {
		out.Request = known.RequestID()
	}
	return out
}

// textLimit bounds a text in an entry, in bytes, so that a line stays one write.
const textLimit = 2048

// safe is a text as it may be kept: bounded, and no key. The laws of providers
// already keep keys out of plans and errors; this is the last place to notice.
func safe(text string) string {
	if strings.Contains(text, "PRIVATE"+" KEY-----") {
		return "(withheld: it looks like a private key)"
	}
	if len(text) > textLimit {
		return strings.ToValidUTF8(text[:textLimit], "") + "…"
	}
	return text
}
