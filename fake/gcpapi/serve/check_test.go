package serve

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	compute "google.golang.org/api/compute/v1"
)

// Why: what the API refuses is refused here, naming the field, so that a test of
// meaning never asks what could not be.
func TestCheck(t *testing.T) {
	one := func(match, action string) string {
		return `"routeRules":[` + rule("1", match, action) + `]`
	}
	const prefix = `"prefixMatch":"/"`
	action := func(a string) string { return one(prefix, service("s")+`,"routeAction":{`+a+`}`) }
	for _, c := range []struct {
		name, members string
		f             Flavour
		field         string // "" is allowed
	}{
		{name: "plain", members: one(prefix, service("s"))},
		{name: "no action", members: one(prefix, `"headerAction":{}`), field: "routeRules[0]"},
		{name: "two actions", members: one(prefix, service("s")+`,"urlRedirect":{"hostRedirect":"h"}`), field: "routeRules[0]"},
		{name: "two priorities", members: `"routeRules":[` + rule("1", prefix, service("s")) + `,` + rule("1", prefix, service("s")) + `]`, field: "routeRules[1].priority"},
		{name: "both kinds of rules", members: `"pathRules":[{"paths":["/a"],` + service("s") + `}],` + one(prefix, service("s")), field: "pathMatchers[0]"},
		{name: "star in a path", members: `"pathRules":[{"paths":["/a*"],` + service("s") + `}]`, field: "pathRules[0].paths"},
		{name: "path twice", members: `"pathRules":[{"paths":["/a"],` + service("s") + `},{"paths":["/a"],` + service("s") + `}]`, field: "pathRules[1].paths"},
		{name: "two kinds of paths", members: one(prefix+`,"fullPathMatch":"/"`, service("s")), field: "matchRules[0]"},
		{name: "no path", members: one(`"headerMatches":[{"headerName":"a","presentMatch":true}]`, service("s")), field: "matchRules[0]"},
		{name: "regex regional", members: one(`"regexMatch":"/a.*"`, service("s")), f: RegionalExternal},
		{name: "regex global", members: one(`"regexMatch":"/a.*"`, service("s")), f: GlobalExternal, field: "regexMatch"},
		{name: "header regex global", members: header(`"headerName":"a","regexMatch":".*"`), f: GlobalExternal, field: "headerMatches[0].regexMatch"},
		{name: "regex on cross-region", members: query(`"name":"a","regexMatch":".*"`), f: CrossRegionInternal},
		{name: "repeated group", members: one(`"regexMatch":"/(ab)*"`, service("s")), field: "regexMatch"},
		{name: "long regex", members: one(`"regexMatch":"/`+strings.Repeat("a", 250)+`"`, service("s")), field: "regexMatch"},
		{name: "six regexes", members: one(`"regexMatch":"/a","headerMatches":[`+strings.TrimSuffix(strings.Repeat(`{"headerName":"a","regexMatch":"b"},`, 5), ",")+`]`, service("s")), field: "routeRules"},
		{name: "long path", members: one(`"prefixMatch":"/`+strings.Repeat("a", 1024)+`"`, service("s")), field: "matchRules[0]"},
		{name: "template tail inside", members: one(`"pathTemplateMatch":"/**/a"`, service("s")), field: "pathTemplateMatch"},
		{name: "template operators", members: one(`"pathTemplateMatch":"/*/*/*/*/*/*"`, service("s")), field: "pathTemplateMatch"},
		{name: "template name twice", members: one(`"pathTemplateMatch":"/{a}/{a}"`, service("s")), field: "pathTemplateMatch"},
		{name: "template rewrite without variable", members: one(`"pathTemplateMatch":"/foo"`, service("s")+`,"routeAction":{"urlRewrite":{"pathTemplateRewrite":"/x"}}`), field: "pathTemplateRewrite"},
		{name: "template rewrite of a prefix", members: action(`"urlRewrite":{"pathTemplateRewrite":"/x"}`), field: "pathTemplateRewrite"},
		{name: "two rewrites", members: action(`"urlRewrite":{"pathPrefixRewrite":"/x","regexRewrite":{"pathPattern":"a","pathSubstitution":"b"}}`), field: "urlRewrite"},
		{name: "no retries", members: action(`"retryPolicy":{"numRetries":0}`), field: "numRetries"},
		{name: "retry condition", members: action(`"retryPolicy":{"retryConditions":["502"]}`), field: "retryConditions"},
		{name: "origin regexes", members: action(`"corsPolicy":{"allowOriginRegexes":[".*"]}`), field: "allowOriginRegexes"},
		{name: "mirror percent", members: action(`"requestMirrorPolicy":{"backendService":"global/backendServices/m","mirrorPercent":101}`), field: "requestMirrorPolicy"},
		{name: "abort status", members: action(`"faultInjectionPolicy":{"abort":{"httpStatus":600,"percentage":100}}`), field: "abort"},
		{name: "stream duration", members: action(`"maxStreamDuration":{"seconds":"1"}`), field: "maxStreamDuration"},
		{name: "single weight 0", members: one(prefix, `"routeAction":{"weightedBackendServices":[{"backendService":"global/backendServices/a","weight":0}]}`), field: "weight"},
		{name: "weight", members: one(prefix, `"routeAction":{"weightedBackendServices":[{"backendService":"global/backendServices/a","weight":1001}]}`), field: "weight"},
		{name: "redirect code", members: one(prefix, `"urlRedirect":{"hostRedirect":"h","redirectResponseCode":"GONE"}`), field: "redirectResponseCode"},
		{name: "two redirects", members: one(prefix, `"urlRedirect":{"pathRedirect":"/a","prefixRedirect":"/b"}`), field: "pathRedirect"},
		{name: "header name", members: one(prefix, service("s")+`,"headerAction":{"requestHeadersToAdd":[{"headerName":"a b","headerValue":"c"}]}`), field: "headerName"},
		{name: "two header matches", members: header(`"headerName":"a","exactMatch":"b","prefixMatch":"b"`), field: "headerMatches[0]"},
		{name: "empty exact value", members: header(`"headerName":"a","exactMatch":""`)},
		{name: "1001 predicates", members: `"routeRules":[{"priority":1,"matchRules":[` + strings.TrimSuffix(strings.Repeat(`{"prefixMatch":"/"},`, 1001), ",") + `],` + service("s") + `}]`, field: "routeRules"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := mapOf(t, c.members)
			var p *Problem
			if err := u.Check(Limits{Flavour: c.f}); (c.field == "") != (err == nil) || err != nil && (!errors.As(err, &p) || !strings.Contains(p.Field, c.field)) {
				t.Errorf("%v, want a problem of %q", err, c.field)
			}
		})
	}
}

// Why: host rules are checked as a whole.
func TestCheckHosts(t *testing.T) {
	for _, c := range []struct{ name, hosts, matcher, field string }{
		{"wildcards", `"*","*.a.com","*-b.c","x.y:8080"`, "m", ""},
		{"star inside", `"a.*.com"`, "m", "hostRules[0].hosts"},
		{"star before letters", `"*a.com"`, "m", "hostRules[0].hosts"},
		{"IPv6", `"[::1]"`, "m", "hostRules[0].hosts"},
		{"twice", `"a.com","A.com"`, "m", "hostRules[0].hosts"},
		{"no matcher", `"a.com"`, "other", "hostRules[0].pathMatcher"},
		{"none", ``, "m", "hostRules[0].hosts"},
		{"matcher of another host rule", `"a.com"],"pathMatcher":"m"},{"hosts":["b.com"`, "m", "hostRules[1].pathMatcher"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := parse(t, `{"defaultService":"global/backendServices/d","hostRules":[{"hosts":[`+c.hosts+`],"pathMatcher":"`+c.matcher+`"}],"pathMatchers":[{"name":"m","defaultService":"global/backendServices/d"}]}`)
			err := u.Check(Limits{})
			if (err == nil) != (c.field == "") || err != nil && !strings.Contains(err.Error(), c.field) {
				t.Errorf("%v, want a problem of %q", err, c.field)
			}
		})
	}
}

// Why: a path matcher that no host leads to is a mistake, and refused.
func TestCheckUnusedMatcher(t *testing.T) {
	u := parse(t, `{"defaultService":"d","pathMatchers":[{"name":"m","defaultService":"d"}]}`)
	if err := u.Check(Limits{}); err == nil || !strings.Contains(err.Error(), "'resource.pathMatchers': 'm'") {
		t.Errorf("error is %v", err)
	}
}

// Why: pages disagree about the largest URL map, so whoever asks says which holds.
func TestCheckSize(t *testing.T) {
	paths := strings.Repeat(`"/`+strings.Repeat("a", 500)+`",`, 200) // 100 kB
	u := parse(t, `{"defaultService":"d","hostRules":[{"hosts":["a"],"pathMatcher":"m"}],"pathMatchers":[{"name":"m","defaultService":"d","pathRules":[{"paths":[`+
		strings.TrimSuffix(paths, ",")+`],"service":"s"}]}]}`)
	for i := range u.PathMatchers[0].PathRules[0].Paths {
		u.PathMatchers[0].PathRules[0].Paths[i] += strconv.Itoa(i)
	}
	for _, c := range []struct {
		name    string
		l       Limits
		refused bool
	}{
		{"external", Limits{Flavour: RegionalExternal}, true},
		{"internal", Limits{Flavour: RegionalInternal}, false},
		{"newer page", Limits{Flavour: GlobalExternal, Bytes: 1 << 20}, false},
		{"raised", Limits{Flavour: RegionalInternal, Bytes: 90_000}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := u.Check(c.l); (err != nil) != c.refused {
				t.Errorf("%v, want refused: %t", err, c.refused)
			}
		})
	}
}

// Why: an httpsRedirect is refused behind a target HTTPS proxy, whatever rule has it.
func TestCheckScheme(t *testing.T) {
	u := mapOf(t, `"routeRules":[`+rule("1", `"prefixMatch":"/"`, `"urlRedirect":{"httpsRedirect":true}`)+`]`)
	if _, err := New(Config{Scheme: "https", URLMap: u}, Switches{}); err == nil || !strings.Contains(err.Error(), "pathMatchers[0].routeRules[0].urlRedirect.httpsRedirect") {
		t.Errorf("error is %v", err)
	}
	if _, err := New(Config{Scheme: "http", URLMap: u}, Switches{}); err != nil {
		t.Error(err)
	}
}

// Why: the types are the API's JSON: every field of theirs is one of the API's under
// the same name.
func TestFieldsAreTheAPIs(t *testing.T) {
	for _, c := range []struct{ ours, theirs any }{
		{URLMap{}, compute.UrlMap{}}, {BackendService{}, compute.BackendService{}},
	} {
		compareFields(t, reflect.TypeOf(c.ours), reflect.TypeOf(c.theirs))
	}
}

func compareFields(t *testing.T, ours, theirs reflect.Type) {
	t.Helper()
	ours, theirs = element(ours), element(theirs)
	if ours.Kind() != reflect.Struct || theirs.Kind() != reflect.Struct {
		return
	}
	fields := map[string]reflect.Type{}
	for i := range theirs.NumField() {
		name, _, _ := strings.Cut(theirs.Field(i).Tag.Get("json"), ",")
		fields[name] = theirs.Field(i).Type
	}
	for i := range ours.NumField() {
		name, _, _ := strings.Cut(ours.Field(i).Tag.Get("json"), ",")
		other, ok := fields[name]
		if !ok {
			t.Errorf("%s.%s: the API's %s has no such field", ours.Name(), name, theirs.Name())
			continue
		}
		compareFields(t, ours.Field(i).Type, other)
	}
}

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// Why: a switch that is not listed is never tried.
func TestSwitchesAreListed(t *testing.T) {
	fields := reflect.TypeOf(Switches{})
	all := AllSwitches()
	if len(all) != fields.NumField() {
		t.Fatalf("%d switches are listed of %d", len(all), fields.NumField())
	}
	for i, w := range all {
		if fields.Field(i).Name != w.Name || len(w.Positions) < 2 {
			t.Errorf("switch %d is %s with %v, the field is %s", i, w.Name, w.Positions, fields.Field(i).Name)
		}
		s := w.Set(Switches{}, w.Positions[1])
		if got := reflect.ValueOf(s).Field(i).String(); got != string(w.Positions[1]) {
			t.Errorf("%s sets another field", w.Name)
		}
	}
	n := 0
	Switches{}.EachPosition(func(string, Switches) { n++ })
	want := 1
	for _, w := range all {
		want += len(w.Positions) - 1
	}
	if n != want {
		t.Errorf("EachPosition calls %d times, want %d", n, want)
	}
}
