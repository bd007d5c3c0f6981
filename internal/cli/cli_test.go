package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/lbmodel"
)

// TestWriteData keeps the order of fields, in YAML as in JSON, and keeps texts
// texts: a YAML reader must not take "yes" or "8080" for something else.
func TestWriteData(t *testing.T) {
	v := struct {
		Zebra string            `json:"zebra"`
		Apple []string          `json:"apple"`
		Text  string            `json:"text"`
		None  []string          `json:"none"`
		Map   map[string]string `json:"map"`
		N     int               `json:"n"`
	}{"yes", []string{"8080", "a: b", "<&>"}, "two\nlines\n", []string{}, map[string]string{"b": "2", "a": "1"}, 7}
	want := map[string]string{
		"yaml": "zebra: \"yes\"\napple:\n  - \"8080\"\n  - 'a: b'\n  - <&>\ntext: |\n  two\n  lines\nnone: []\nmap:\n  a: \"1\"\n  b: \"2\"\n\"n\": 7\n",
		"json": "{\n  \"zebra\": \"yes\",\n  \"apple\": [\n    \"8080\",\n    \"a: b\",\n    \"<&>\"\n  ],\n  \"text\": \"two\\nlines\\n\",\n  \"none\": [],\n  \"map\": {\n    \"a\": \"1\",\n    \"b\": \"2\"\n  },\n  \"n\": 7\n}\n",
	}
	for as, text := range want {
		t.Run(as, func(t *testing.T) {
			var out bytes.Buffer
			if err := writeData(&out, as, v); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestExitCodes: what has been said is not said again, and a wrapped code counts.
func TestExitCodes(t *testing.T) {
	cases := []struct {
		name string
		err  error
		want int
	}{
		{"done", nil, 0},
		{"an error", errors.New("x"), 1},
		{"a mistake in the command line", usagef("x"), 1},
		{"changes", exit(exitChanges), 2},
		{"changes, and something to clean up failed", fmt.Errorf("%w", errors.Join(exit(exitPartial), errors.New("x"))), 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := codeOf(c.err); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}

// TestFindings groups by object, worst first, each finding once, and counts.
func TestFindings(t *testing.T) {
	route := lbmodel.Source{Kind: "HTTPRoute", Namespace: "a", Name: "r", Section: "rules[0]"}
	gateway := lbmodel.Source{Kind: "Gateway", Namespace: "a", Name: "g"}
	bad := lbmodel.Finding{About: route, Parent: gateway, Condition: "ResolvedRefs", Reason: "BackendNotFound", Detail: "no Service", Code: lbmodel.CodeUnresolved}
	loss := lbmodel.Finding{About: gateway, Condition: "Accepted", Reason: "Accepted", Detail: "loopback is allowed", Code: lbmodel.CodeOK}
	wait := lbmodel.Finding{About: gateway, Condition: "Programmed", Reason: "Pending", Detail: "later", Code: lbmodel.CodePending}
	var out bytes.Buffer
	printFindings(term.Screen{Writer: &out}, []lbmodel.Finding{loss, bad, bad, wait})
	want := `HTTPRoute/a/r at Gateway/a/g
  ✗ ResolvedRefs/BackendNotFound rules[0]
    no
    Service

Gateway/a/g
  ! Accepted/Accepted
    loopback
    is
    allowed
  · Programmed/Pending
    later

1 problem, 1 warning, 1 note

`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestParseQuestion takes what a person would paste, and says what is wrong with
// the rest.
func TestParseQuestion(t *testing.T) {
	cases := []struct {
		name    string
		args    []string
		headers []string
		want    string // of the question, or of the error
	}{
		{"a URL alone is a GET", []string{"http://a.test/x?y=1"}, nil, "GET http://a.test/x?y=1"},
		{"a method", []string{"post", "https://a.test:8443"}, nil, "POST https://a.test:8443/"},
		{"encoding is kept as sent", []string{"http://a.test/a%2Fb"}, nil, "GET http://a.test/a%2Fb"},
		{"a Host header wins", []string{"http://127.0.0.1/"}, []string{"host: b.test"}, "GET http://b.test/"},
		{"a connection", []string{"tcp://db.test:5432"}, nil, "TCP connection to db.test:5432"},
		{"no scheme", []string{"a.test"}, nil, "is no URL"},
		{"an unknown scheme", []string{"ftp://a.test"}, nil, "is no URL"},
		{"no port at all", []string{"http://a.test:0/"}, nil, "want 1 to 65535"},
		{"half a header", []string{"http://a.test/"}, []string{"X"}, "want 'Name: value'"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q, err := parseQuestion(c.args, c.headers, "")
			got := q.String()
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("parseQuestion = %q, want %q", got, c.want)
			}
		})
	}
}
