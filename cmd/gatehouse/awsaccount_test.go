//go:build unix

package main

import (
	"encoding/json/v2"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"gatehouse.dev/fake/awsapi"
)

// awsAccount starts `gatehouse fake aws` with further flags as a process that ends
// with the script, and sets the environment to use it.
func awsAccount(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: awsaccount [flag...]")
	}
	cmd := exec.Command(inPath(ts, "gatehouse"), append([]string{"fake", "aws", "--listen", "127.0.0.1:0", "-o", "json"}, args...)...)
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
	var told awsListening
	ts.Check(json.Unmarshal(text[:n], &told))
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": told.Endpoint, "AWS_REGION": told.Region,
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"} {
		ts.Setenv(name, value)
	}
}

// inPath finds a command of the script.
func inPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	ts.Fatalf("there is no %s in the PATH", name)
	return ""
}

// awsCalls FILE: writes the writing actions that the account was called for since the
// last time, each once, sorted, a line each.
func awsCalls(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awscalls FILE")
	}
	var calls []awsapi.Call
	ts.Check(json.Unmarshal(askAWS(ts, http.MethodGet, "calls"), &calls))
	askAWS(ts, http.MethodDelete, "calls")
	var actions []string
	for _, c := range calls {
		if c.Writes && !slices.Contains(actions, c.Action) {
			actions = append(actions, c.Action)
		}
	}
	slices.Sort(actions)
	write(ts, args[0], strings.Join(append(actions, ""), "\n"))
}

// awsEmpty: fails when the account holds anything.
func awsEmpty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: awsempty")
	}
	if state := string(askAWS(ts, http.MethodGet, "state")); state != awsapi.Empty() {
		ts.Fatalf("the account still holds %s", state)
	}
}

func askAWS(ts *testscript.TestScript, method, what string) []byte {
	request, err := http.NewRequest(method, ts.Getenv("AWS_ENDPOINT_URL")+awsapi.AdminPath+what, http.NoBody)
	ts.Check(err)
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	text, err := io.ReadAll(response.Body)
	ts.Check(err)
	ts.Check(response.Body.Close())
	return text
}
