package remote

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// Every call is a POST of JSON to one of these paths. The answer is 200 with JSON,
// or another status with a [failure].
const (
	pathCreate  = "/v1/create"
	pathUpdate  = "/v1/update"
	pathDelete  = "/v1/delete"
	pathMark    = "/v1/mark"
	pathGet     = "/v1/get"
	pathFind    = "/v1/find"
	pathList    = "/v1/list"
	pathState   = "/admin/v1/state"
	pathFaults  = "/admin/v1/faults"
	pathProgram = "/admin/v1/program"
)

// Sizes that are read at most, in bytes.
const (
	maxRequest = 16 << 20  // far beyond a group of 10,000 endpoints
	maxReply   = 512 << 20 // a page of such groups
)

type createRequest struct {
	Kind     string         `json:"kind"`
	Location string         `json:"location"`
	Name     string         `json:"name"`
	Tags     cloud.Tags     `json:"tags,omitzero"`
	Body     jsontext.Value `json:"body"`
	Key      *secret        `json:"key,omitempty"`
}

type updateRequest struct {
	Handle  lbmodel.Handle `json:"handle"`
	Version int            `json:"version,omitzero"`
	Body    jsontext.Value `json:"body"`
	Key     *secret        `json:"key,omitempty"`
}

type handleRequest struct {
	Handle lbmodel.Handle `json:"handle"`
}

type markRequest struct {
	Handle  lbmodel.Handle `json:"handle"`
	Dropped time.Time      `json:"dropped,omitzero"`
}

type findRequest struct {
	Kind     string `json:"kind"`
	Location string `json:"location"`
	Name     string `json:"name"`
}

type listRequest struct {
	Location string `json:"location,omitzero"`
	Cluster  string `json:"cluster,omitzero"`
	Kind     string `json:"kind,omitzero"`
	After    int    `json:"after,omitzero"`
}

type page struct {
	Objects []cloud.Object `json:"objects"`
	Next    int            `json:"next,omitzero"`
}

// nothing is the body where there is nothing to say.
type nothing struct{}

// secret is a certificate with its key, for the one call that brings it.
type secret struct {
	Chain [][]byte `json:"chain"` // DER, leaf first
	PKCS8 []byte   `json:"pkcs8"`
}

// Format implements fmt.Formatter: no verb prints a key.
func (secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "(a key)") // as fmt does with its own writes
}

func secretOf(pair *tls.Certificate) (*secret, error) {
	if pair == nil {
		return nil, nil
	}
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be sent: %w", err)
	}
	return &secret{Chain: pair.Certificate, PKCS8: der}, nil
}

// errKey stands for whatever is wrong with a key that came: the reasons of parsers
// may quote it.
var errKey = errors.New("key.pkcs8 is not a private key in PKCS #8")

func (s *secret) pair() (*tls.Certificate, error) {
	if s == nil {
		return nil, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(s.PKCS8)
	if err != nil {
		return nil, errKey
	}
	if _, ok := key.(crypto.Signer); !ok {
		return nil, errKey
	}
	return &tls.Certificate{Certificate: s.Chain, PrivateKey: key}, nil
}

// failure is a cloud.CallError on its way.
type failure struct {
	Code       cloud.FaultCode  `json:"code"`
	Message    string           `json:"message"`
	RetryAfter lbmodel.Duration `json:"retryAfter,omitzero"`
}

func failureOf(err error) failure {
	if call, ok := errors.AsType[*cloud.CallError](err); ok {
		return failure{Code: call.Code, Message: call.Message, RetryAfter: lbmodel.Duration(call.RetryAfter)}
	}
	return failure{Code: cloud.ServiceDown, Message: err.Error()}
}

func (f failure) err() error {
	return &cloud.CallError{Code: f.Code, Message: f.Message, RetryAfter: time.Duration(f.RetryAfter)}
}

// statusOf is the HTTP status of a code; programs read the code.
func statusOf(code cloud.FaultCode) int {
	switch code {
	case cloud.AccessDenied:
		return http.StatusForbidden
	case cloud.NotFound:
		return http.StatusNotFound
	case cloud.AlreadyExists, cloud.SlotTaken, cloud.InUse, cloud.VersionMismatch, cloud.NotReady:
		return http.StatusConflict
	case cloud.Throttled:
		return http.StatusTooManyRequests
	case cloud.ServiceDown:
		return http.StatusServiceUnavailable
	case cloud.Unexplained:
		return http.StatusInternalServerError
	default:
		return http.StatusBadRequest
	}
}

func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("remote: %T is plain data and always encodes: %v", v, err))
	}
	return out
}

func refuse(code cloud.FaultCode, format string, args ...any) *cloud.CallError {
	err := fmt.Errorf(format, args...)
	return &cloud.CallError{Code: code, Message: err.Error(), Err: err}
}
