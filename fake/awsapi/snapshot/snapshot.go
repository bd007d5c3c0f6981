package snapshot

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Message is a request or a response.
type Message struct {
	Path   string // of a request
	Status int    // of a response
	Header http.Header
	Body   []byte
}

// Load reads a module's fixtures of a kind: "request", "response" or "error", by
// action, or by error.
func Load(t *testing.T, service, kind string) map[string]Message {
	t.Helper()
	folder := map[string]string{"request": "request_snapshot", "response": "response_snapshot", "error": "response_snapshot"}[kind]
	suffix := "." + kind + ".snap"
	files, err := filepath.Glob(filepath.Join(directory(t, service), folder, "*"+suffix))
	if err != nil || len(files) == 0 {
		t.Fatalf("module %s has no fixtures of kind %s: %v", service, kind, err)
	}
	out := map[string]Message{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), suffix)] = parse(text)
	}
	return out
}

// directory is where the Go command keeps a service's module.
func directory(t *testing.T, service string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/"+service).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// parse reads a fixture: a line (METHOD PATH, or a status), headers, and after an
// empty line the body. A request's headers are set off by an empty line of their own.
func parse(text []byte) Message {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	out := Message{Header: http.Header{}}
	if _, path, isRequest := strings.Cut(string(line), " "); isRequest {
		out.Path = path
		rest = bytes.TrimPrefix(rest, []byte("\n"))
	} else {
		out.Status, _ = strconv.Atoi(string(line))
	}
	for {
		line, after, more := bytes.Cut(rest, []byte("\n"))
		name, value, isHeader := strings.Cut(string(line), ": ")
		if !more || !isHeader {
			out.Body = bytes.TrimPrefix(rest, []byte("\n"))
			return out
		}
		out.Header.Add(name, value)
		rest = after
	}
}
