package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// mapOf is a URL map with one path matcher for shop.example.com, whose rules are given
// as JSON (members of a PathMatcher).
func mapOf(t *testing.T, members string) URLMap {
	t.Helper()
	return parse(t, `{"hostRules":[{"hosts":["shop.example.com"],"pathMatcher":"m"}],"defaultService":"global/backendServices/none",
		"pathMatchers":[{"name":"m","defaultService":"global/backendServices/fallback",`+members+`}]}`)
}

func parse(t *testing.T, text string) URLMap {
	t.Helper()
	var u URLMap
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&u); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

// asked is a request written as "GET http://host/path?query" and header lines.
func asked(t *testing.T, line string, headers ...string) Request {
	t.Helper()
	method, url, _ := strings.Cut(line, " ")
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		t.Fatalf("%q is no request", line)
	}
	host, path, _ := strings.Cut(rest, "/")
	path, query, _ := strings.Cut("/"+path, "?")
	r := Request{Method: method, Host: host, Path: path, Query: query, Header: http.Header{}}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// short is an answer as one word: the service's name with the path that it sees, or
// the own status and Location.
func short(a Answer) string {
	if a.Own != nil {
		return strings.TrimSpace(http.StatusText(a.Own.Status) + " " + a.Own.Header.Get("Location"))
	}
	f := a.Forward
	name := f.Shares[0].Service
	out := name[strings.LastIndex(name, "/")+1:] + " " + f.Host + f.Path
	if f.Query != "" {
		out += "?" + f.Query
	}
	return out
}

func answer(t *testing.T, u URLMap, s Switches, r Request) Answer {
	t.Helper()
	c := Config{Flavour: RegionalExternal, Scheme: "http", Port: 80, URLMap: u}
	a, err := c.Answer(r, s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// rule is a route rule of a priority: match rule and action as JSON members.
func rule(priority, match, action string) string {
	return `{"priority":` + priority + `,"matchRules":[{` + match + `}],` + action + `}`
}

func service(name string) string { return `"service":"global/backendServices/` + name + `"` }
