package serve

import (
	"net/http"
	"testing"
)

// FuzzAnswer: whatever is asked, somebody answers, in every position of the switches.
func FuzzAnswer(f *testing.F) {
	for _, seed := range [][3]string{{"shop.example.com", "/foo/bar", "a=b"}, {"[::1]:80", "/a/../b%2e%2", "&&=%"}, {":", "", "?"}, {"SHOP.example.com:x", "//foo/./%2F\xff", "a=1&a=2"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, host, path, query string) {
		u := mapOf(t, `"routeRules":[`+rule("1", `"prefixMatch":"/foo/","headerMatches":[{"headerName":"PORT","rangeMatch":{"rangeStart":"1","rangeEnd":"9"},"invertMatch":true}]`, service("a")+`,"routeAction":{"urlRewrite":{"pathPrefixRewrite":"/x?y"}}`)+
			`,`+rule("2", `"pathTemplateMatch":"/{a}/{b=**}"`, service("b")+`,"routeAction":{"urlRewrite":{"pathTemplateRewrite":"/{b}"}}`)+
			`,`+rule("3", `"regexMatch":"/.+"`, `"urlRedirect":{"prefixRedirect":"/n"}`)+`]`)
		c := Config{Flavour: RegionalExternal, Scheme: "http", URLMap: u}
		Switches{}.EachPosition(func(name string, s Switches) {
			m, err := New(c, s)
			if err != nil {
				t.Fatal(err)
			}
			a := m.Answer(Request{Method: "GET", Host: host, Path: path, Query: query, Header: http.Header{"Origin": {host}}})
			if (a.Own == nil) == (a.Forward == nil) || a.Rule == "" {
				t.Errorf("%s: %+v", name, a)
			}
		})
	})
}
