//go:build unix

package main

import (
	"encoding/json/v2"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/providers/gcp"
)

// gcpProject starts `gatehouse fake gcp` with further flags as a process that ends with
// the script, and sets the environment to use it.
func gcpProject(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: gcpproject [flag...]")
	}
	cmd := exec.Command(inPath(ts, "gatehouse"), append([]string{"fake", "gcp", "--listen", "127.0.0.1:0", "-o", "json"}, args...)...)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	text := make([]byte, 4096)
	n, err := out.Read(text)
	ts.Check(err)
	var told gcpListening
	ts.Check(json.Unmarshal(text[:n], &told))
	ts.Setenv(gcp.EndpointVariable, told.Endpoint)
	ts.Setenv("GOOGLE_CLOUD_PROJECT", told.Project)
}

// gcpCalls FILE: writes the changing methods that the project was called for since the
// last time, each once, sorted, a line each.
func gcpCalls(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gcpcalls FILE")
	}
	var calls []gcpapi.Call
	ts.Check(json.Unmarshal(askGCP(ts, http.MethodGet, "calls"), &calls))
	askGCP(ts, http.MethodDelete, "calls")
	var methods []string
	for _, c := range calls {
		if c.Writes && !slices.Contains(methods, c.Method) {
			methods = append(methods, c.Method)
		}
	}
	slices.Sort(methods)
	write(ts, args[0], strings.Join(append(methods, ""), "\n"))
}

// gcpEmpty: fails when the project holds anything.
func gcpEmpty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: gcpempty")
	}
	if state := strings.TrimSpace(string(askGCP(ts, http.MethodGet, "state"))); state != gcpapi.Empty() {
		ts.Fatalf("the project still holds %s", state)
	}
}

func askGCP(ts *testscript.TestScript, method, what string) []byte {
	request, err := http.NewRequest(method, ts.Getenv(gcp.EndpointVariable)+gcpapi.AdminPath+what, http.NoBody)
	ts.Check(err)
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	text, err := io.ReadAll(response.Body)
	ts.Check(err)
	ts.Check(response.Body.Close())
	return text
}
