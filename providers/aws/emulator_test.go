package aws

import (
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/providers"
)

// emulator is an emulated account that is reached without a socket.
type emulator struct{ api *awsapi.Server }

func newEmulator(t *testing.T, config awsapi.Config) emulator {
	t.Helper()
	return emulator{awsapi.New(config)}
}

// RoundTrip implements http.RoundTripper. A handler that cuts the connection is one.
func (w emulator) RoundTrip(r *http.Request) (out *http.Response, err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			out, err = nil, errCut
		default:
			panic(p)
		}
	}()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	body := r.Body
	if body == nil {
		body = http.NoBody
	}
	in := r.Clone(r.Context())
	in.Body, in.RequestURI = body, r.URL.RequestURI()
	in.Host = r.URL.Host
	w.api.ServeHTTP(answer, in)
	out = answer.Result()
	out.Request = r
	return out, nil
}

// errCut is how a transport tells of a connection that ended too early.
var errCut = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// provider is a client of the account.
func (w emulator) provider(pacer providers.Pacer) *Provider {
	return New(w.config(pacer))
}

func (w emulator) config(pacer providers.Pacer) Config {
	return Config{Region: w.api.Region, Endpoint: "http://aws.test", HTTP: &http.Client{Transport: w}, Pacer: pacer,
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")}
}
