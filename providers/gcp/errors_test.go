package gcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/auth"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/internal/gcpcalls"
	"gatehouse.dev/lbmodel"
)

// emulated is a project with a client as New makes it: with pace and retries.
func emulated(t *testing.T, config gcpapi.Config, c Config) (*gcpapi.Server, *Provider) {
	t.Helper()
	config.Projects = []store.Project{{ID: testProject, Number: "123456789012"}}
	server := gcpapi.New(config)
	c.Project, c.HTTP = testProject, server
	return server, must2(New(c))(t)
}

// done makes a change and waits for it.
func done(ctx context.Context, p *Provider, op *gcpcalls.Operation, err error) error {
	if err != nil {
		return err
	}
	return p.calls.Wait(ctx, op)
}

const (
	checkPath = "projects/my-project/global/healthChecks/c"
	checkBody = `{"type":"TCP","tcpHealthCheck":{"port":80}}`
)

// TestCodes: what the emulator says as Google does is what the engine acts on, told by
// the call or by the operation, with what a person can do.
func TestCodes(t *testing.T) {
	id := lbmodel.ID{Kind: KindHealthCheck, Location: global, Name: "c"}
	insert := func(path, body string) func(context.Context, *Provider) error {
		return func(ctx context.Context, p *Provider) error {
			op, err := p.calls.Insert(ctx, path, []byte(body))
			return done(ctx, p, op, err)
		}
	}
	create := insert(checkPath, checkBody)
	twice := func(ctx context.Context, p *Provider) error { return errors.Join(create(ctx, p), create(ctx, p)) }
	fault := func(f gcpapi.Fault) gcpapi.Fault { f.Method, f.Times = "compute.healthChecks.insert", 0; return f }
	cases := []struct {
		name   string
		config gcpapi.Config
		fault  gcpapi.Fault
		do     func(context.Context, *Provider) error
		code   lbmodel.Code
		text   string
	}{
		{name: "there already", do: twice, code: lbmodel.CodeConflict},
		{name: "malformed", do: insert(checkPath, `{"type":"TCP","nonsense":1}`), code: lbmodel.CodeInternal, text: "not of the API"},
		{name: "wrong", do: insert(checkPath, `{"type":"NONE"}`), code: lbmodel.CodeInvalid},
		{name: "gone", do: func(ctx context.Context, p *Provider) error { _, err := p.calls.Get(ctx, checkPath); return err }, code: lbmodel.CodeNotFound},
		{name: "what it refers to is not there", do: insert("projects/my-project/global/urlMaps/m", `{"defaultService":"projects/my-project/global/backendServices/b"}`),
			code: lbmodel.CodePending, text: "backendServices/b"},
		{name: "what it refers to, told by the operation", config: gcpapi.Config{Undocumented: gcpapi.Undocumented{LateErrors: true}},
			do: insert("projects/my-project/global/urlMaps/m", `{"defaultService":"projects/my-project/global/backendServices/b"}`), code: lbmodel.CodePending},
		{name: "quota", config: gcpapi.Config{Limits: map[string]int{"HEALTH_CHECKS": 0}}, do: create, code: lbmodel.CodeQuota, text: "iam-admin/quotas?project=my-project"},
		{name: "quota, told by the operation", config: gcpapi.Config{Limits: map[string]int{"HEALTH_CHECKS": 0}, Undocumented: gcpapi.Undocumented{LateErrors: true}},
			do: create, code: lbmodel.CodeQuota},
		{name: "permission", config: gcpapi.Config{Permit: func(_, p string, _ store.Name) bool { return p != "compute.healthChecks.create" }},
			do: create, code: lbmodel.CodeDenied, text: "grant compute.healthChecks.create"},
		{name: "permission of another API", config: gcpapi.Config{Permit: func(_, p string, _ store.Name) bool { return !strings.HasPrefix(p, "networksecurity") }},
			do: func(ctx context.Context, p *Provider) error {
				_, err := p.calls.List(ctx, "projects/my-project/locations/-/serverTlsPolicies", "")
				return err
			}, code: lbmodel.CodeDenied, text: "grant networksecurity.serverTlsPolicies.list"},
		{name: "API not enabled", config: gcpapi.Config{Disabled: []string{"compute"}}, do: create, code: lbmodel.CodeDenied,
			text: "gcloud services enable compute.googleapis.com --project=my-project"},
		{name: "another API not enabled", config: gcpapi.Config{Disabled: []string{"certificatemanager"}}, do: func(ctx context.Context, p *Provider) error {
			_, err := p.calls.List(ctx, "projects/my-project/locations/-/trustConfigs", "")
			return err
		}, code: lbmodel.CodeDenied, text: "gcloud services enable certificatemanager.googleapis.com --project=my-project"},
		{name: "no such project", do: insert("projects/no-project/global/healthChecks/c", checkBody), code: lbmodel.CodeDenied, text: "there is no project no-project"},
		{name: "no token", config: gcpapi.Config{Admit: func(string) bool { return false }}, do: create, code: lbmodel.CodeDenied, text: "gcloud auth application-default login"},
		{name: "too many", fault: fault(gcpapi.Fault{Kind: gcpapi.Throttle}), do: create, code: lbmodel.CodeThrottled},
		{name: "not well", fault: fault(gcpapi.Fault{Kind: gcpapi.Refuse}), do: create, code: lbmodel.CodeUnavailable},
		{name: "a broken connection", fault: fault(gcpapi.Fault{Kind: gcpapi.CutBefore}), do: create, code: lbmodel.CodeUnavailable},
		{name: "an operation that fails", fault: fault(gcpapi.Fault{Kind: gcpapi.Fail}), do: create, code: lbmodel.CodeUnavailable},
		{name: "an operation that finds nothing ready", fault: fault(gcpapi.Fault{Kind: gcpapi.Fail, Status: 400, Reason: store.NotReady}), do: create, code: lbmodel.CodePending},
		{name: "changed meanwhile", fault: fault(gcpapi.Fault{Kind: gcpapi.Refuse, Status: 412, Reason: store.ConditionUnmet}), do: create, code: lbmodel.CodeConflict},
		{name: "in use", fault: fault(gcpapi.Fault{Kind: gcpapi.Refuse, Status: 400, Reason: store.InUse}), do: create, code: lbmodel.CodePending},
		{name: "a word that nobody knows", fault: fault(gcpapi.Fault{Kind: gcpapi.Refuse, Status: 418, Reason: "teapot"}), do: create, code: lbmodel.CodeUnknown},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			config := tc.config
			server, p := emulated(t, config, Config{})
			if tc.fault.Kind != "" {
				server.SetFaults(tc.fault)
			}
			p.calls = must2(gcpcalls.New(t.Context(), gcpcalls.Config{HTTP: &http.Client{Transport: server}, Seed: "s"}))(t) // without retries, which take time
			err := codeError("CreateHealthCheck", id, tc.do(t.Context(), p))
			if got := lbmodel.CodeOf(err); got != tc.code || err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s: %v, want %s and %q", got, err, tc.code, tc.text)
			}
		})
	}
}

// TestLocalCodes: without an answer of Google's it is the way, but for who has no token.
func TestLocalCodes(t *testing.T) {
	cases := []struct {
		name string
		err  error
		want lbmodel.Code
	}{
		{"deadline", context.DeadlineExceeded, lbmodel.CodeUnavailable},
		{"connection", io.ErrUnexpectedEOF, lbmodel.CodeUnavailable},
		{"no token", noToken{errors.New("refused")}, lbmodel.CodeDenied},
		{"no token for now", noToken{&auth.Error{Response: &http.Response{StatusCode: http.StatusServiceUnavailable}}}, lbmodel.CodeUnavailable},
		{"still running", gcpcalls.ErrRunning, lbmodel.CodePending},
		{"known already", lbmodel.Errorf(lbmodel.CodeQuota, "x", noID, "full"), lbmodel.CodeQuota},
	}
	for _, tc := range cases {
		if got := lbmodel.CodeOf(codeError("op", noID, tc.err)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if codeError("op", noID, nil) != nil {
		t.Error("no error has become one")
	}
}
