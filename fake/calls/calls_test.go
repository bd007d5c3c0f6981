package calls

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// Why: a server may run for days, and calls that are under way when the log is cut or
// emptied must not write into another call's entry.
func TestLogKeepsNumbers(t *testing.T) {
	var l Log[int]
	for i := range most + 1 {
		if n := l.Next(); n != i+1 {
			t.Fatalf("call %d gets number %d", i+1, n)
		}
		l.Add(i + 1)
	}
	if n := len(l.All()); n != most/2+1 || l.At(1) != nil || *l.At(most) != most {
		t.Errorf("%d are left, the first is %v", n, l.At(1))
	}
	l.Forget()
	l.Add(0)
	if l.At(most+1) != nil || l.At(most+2) == nil || l.Next() != most+3 {
		t.Errorf("after it was emptied the next is %d", l.Next())
	}
	if got := Count([]string{"a", "b", "a", ""}, func(s string) string { return s }); got["a"] != 2 || len(got) != 2 {
		t.Errorf("counted %v", got)
	}
}

// turn is a fault of the calls that begin with a text.
type turn struct {
	Of    string        `json:"of,omitzero"`
	Kind  Kind          `json:"kind"`
	Skip  int           `json:"skip,omitzero"`
	Times int           `json:"times,omitzero"`
	Delay time.Duration `json:"delay,omitzero"`
}

func (f turn) Fits(c *string) bool { return strings.HasPrefix(*c, f.Of) }
func (f turn) Turn() (int, int)    { return f.Skip, f.Times }
func (f turn) Check() error        { return f.Kind.Check(Kinds()) }

// Why: a test names the very call that goes wrong.
func TestFaultsTakeTurns(t *testing.T) {
	f := NewFaults[string]([]turn{{Of: "a", Kind: Refuse, Skip: 1, Times: 2}, {Kind: Slow, Skip: 3}})
	var got []string
	for _, c := range []string{"a", "a", "b", "a", "a", "b"} {
		got = append(got, string(f.Take(&c).Kind))
	}
	if want := []string{"", "Refuse", "", "Refuse", "", "Slow"}; !slices.Equal(got, want) {
		t.Errorf("calls met %q, want %q", got, want)
	}
}

// Why: what is misspelt would be without effect.
func TestReadFaults(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"whole", `[{"of": "a", "kind": "Slow", "delay": "1.5s", "times": 2}]`, ""},
		{"kind", `[{"kind": "Slow"}, {"kind": "Fast"}]`, `fault 1: kind "Fast"`},
		{"field", `[{"kind": "Slow", "after": 3}]`, "after"},
		{"time", `[{"kind": "Slow", "delay": "1"}]`, "missing unit"},
		{"number", `[{"kind": "Slow", "delay": 1}]`, "delay"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := read[string, turn](strings.NewReader(c.text))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if err == nil && list[0] != (turn{Of: "a", Kind: Slow, Delay: 1500 * time.Millisecond, Times: 2}) {
				t.Errorf("read as %+v", list[0])
			}
		})
	}
}

// Why: a delay must not outlive its caller.
func TestPause(t *testing.T) {
	ctx := t.Context()
	began := time.Now()
	Pause(ctx, 0)
	Pause(ctx, time.Millisecond)
	if took := time.Since(began); took < time.Millisecond {
		t.Errorf("it took %s", took)
	}
}

// Why: other processes look, and spoil, by these paths alone.
func TestAdmin(t *testing.T) {
	var spoilt []turn
	forgotten := 0
	a := Admin{
		Show:   map[string]func() string{"state": func() string { return Canonical(map[string]any{"b": 1.0, "a": []int{2}}) }},
		Forget: func() { forgotten++ },
		Spoil:  Spoiler[string](func(list ...turn) { spoilt = list }),
	}
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"state", "GET", "state", "", http.StatusOK, `{"a":[2],"b":1}`},
		{"nothing", "GET", "none", "", http.StatusNotFound, ""},
		{"another method", "POST", "state", "", http.StatusNotFound, ""},
		{"forget", "DELETE", "calls", "", http.StatusOK, ""},
		{"faults", "PUT", "faults", `[{"kind": "Stale"}]`, http.StatusOK, ""},
		{"no fault", "PUT", "faults", `[{"kind": "x"}]`, http.StatusBadRequest, "want one of"},
		{"too many", "PUT", "faults", "[" + strings.Repeat(" ", mostFaults) + "]", http.StatusBadRequest, "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			a.ServeHTTP(w, httptest.NewRequest(c.method, AdminPath+c.path, strings.NewReader(c.body)))
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s, want %d %q", w.Code, w.Body, c.status, c.want)
			}
		})
	}
	if forgotten != 1 || len(spoilt) != 1 || spoilt[0].Kind != Stale {
		t.Errorf("forgot %d times, faults are %v", forgotten, spoilt)
	}
}
