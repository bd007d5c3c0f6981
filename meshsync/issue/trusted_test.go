package issue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

func rootOf(key string) lbmodel.Root { return lbmodel.Root{SPKI: key, SHA256: "sum-" + key} }

func TestPublished(t *testing.T) {
	a, b := rootOf("a"), rootOf("b")
	resigned := lbmodel.Root{SPKI: "b", SHA256: "another"}
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	var p Published
	trusted := p.Trusted(func(string) time.Duration { return 5 * time.Minute })
	for _, step := range []struct {
		name, why string
		minute    int
		roots     []lbmodel.Root // nil: not read
		ask       lbmodel.Root
		want      bool
		until     int
		says      string
	}{
		{name: "never seen", why: "it is not published", minute: 0, ask: b, says: "not seen"},
		{name: "begins", why: "the first look starts the time", minute: 0, roots: []lbmodel.Root{a}, ask: a, until: 5, says: "2026-03-01T12:00:00Z"},
		{name: "another root", why: "each has its own time", minute: 4, roots: []lbmodel.Root{a, b}, ask: b, until: 9},
		{name: "the first is through", why: "five minutes are over", minute: 5, roots: []lbmodel.Root{a, b}, ask: a, want: true},
		{name: "not readable", why: "nothing is forgotten for that", minute: 6, ask: a, want: true},
		{name: "signed anew", why: "the key is the same", minute: 9, roots: []lbmodel.Root{a, resigned}, ask: resigned, want: true},
		{name: "gone", why: "it is not published any more", minute: 10, roots: []lbmodel.Root{a}, ask: b, says: "not seen"},
		{name: "again", why: "proxies have dropped it meanwhile", minute: 11, roots: []lbmodel.Root{a, b}, ask: b, until: 16},
		{name: "the clock was set back", why: "longer, never shorter", minute: 2, roots: []lbmodel.Root{a, b}, ask: b, until: 7},
	} {
		p.See("m", step.roots, at(step.minute))
		ok, why, until := trusted("m", step.ask, at(step.minute))
		if ok != step.want || !strings.Contains(why, step.says) {
			t.Errorf("%s: %v %q, want %v: %s", step.name, ok, why, step.want, step.why)
		}
		if step.until > 0 && !until.Equal(at(step.until)) {
			t.Errorf("%s: until %s, want %s: %s", step.name, until, at(step.until), step.why)
		}
	}
	p.Forget("m")
	if since := p.Since("m", a); !since.IsZero() {
		t.Errorf("a forgotten issuer has a root since %s", since)
	}
}

func TestAnchored(t *testing.T) {
	for _, tc := range []struct {
		name, why, says string
		pods            []string
		err             error
		want            bool
	}{
		{name: "all have it", why: "nobody is left", want: true},
		{name: "two do not", why: "a person restarts these", pods: []string{"x/b", "x/a"}, says: "2 pods do not trust it until they are restarted: x/a, x/b"},
		{name: "many", why: "a message is short", pods: strings.Split("abcdefgh", ""), says: "a, b, c, d, e and 3 more"},
		{name: "unknown", why: "no list is not an empty list", err: errors.New("pods are not read yet"), says: "not read yet"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			check := Anchored(func(string, lbmodel.Root) ([]string, error) { return tc.pods, tc.err })
			if ok, why, _ := check("m", rootOf("a"), noon); ok != tc.want || !strings.Contains(why, tc.says) {
				t.Errorf("%v %q, want %v and %q: %s", ok, why, tc.want, tc.says, tc.why)
			}
		})
	}
}

func TestAll(t *testing.T) {
	says := func(ok bool, why string, until time.Time) Trusted {
		return func(string, lbmodel.Root, time.Time) (bool, string, time.Time) { return ok, why, until }
	}
	yes, soon, late := says(true, "", time.Time{}), says(false, "soon", noon), says(false, "late", noon.Add(time.Hour))
	never := says(false, "pods", time.Time{})
	for _, tc := range []struct {
		name, why, says string
		checks          []Trusted
		want            bool
		until           time.Time
	}{
		{name: "none", why: "nothing is asked", want: true},
		{name: "all say yes", why: "nobody objects", checks: []Trusted{yes, yes}, want: true},
		{name: "two times", why: "the later one counts", checks: []Trusted{soon, yes, late}, says: "soon; late", until: noon.Add(time.Hour)},
		{name: "time and pods", why: "time alone does not open it", checks: []Trusted{soon, never}, says: "soon; pods"},
		{name: "pods and time", why: "in any order", checks: []Trusted{never, soon}, says: "pods; soon"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ok, why, until := All(tc.checks...)("m", rootOf("a"), noon)
			if ok != tc.want || why != tc.says || !until.Equal(tc.until) {
				t.Errorf("%v %q %s, want %v %q %s: %s", ok, why, until, tc.want, tc.says, tc.until, tc.why)
			}
		})
	}
}
