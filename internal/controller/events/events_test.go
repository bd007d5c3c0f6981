package events

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"gatehouse.dev/lbmodel"
)

// world is Events at a time that tests move, over a recorder that keeps what it
// is given.
type world struct {
	*Events
	time time.Time
	sink *record.FakeRecorder
}

func newWorld() *world {
	w := &world{time: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), sink: record.NewFakeRecorder(1000)}
	w.Events = New(w.sink)
	w.now = func() time.Time { return w.time }
	return w
}

// news are the events since the last look.
func (w *world) news() (out []string) {
	for len(w.sink.Events) > 0 {
		out = append(out, <-w.sink.Events)
	}
	return out
}

func service() *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Service", Namespace: "apps", Name: "s", UID: "u1"}
}

func gateway() *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u2"}
}

// TestC52Events: a failure that lasts, tried again every few seconds for a day, is
// told of at once and then a few times an hour, whatever the cloud puts into its
// message.
func TestC52Events(t *testing.T) {
	cases := []struct {
		name, why string
		about     *corev1.ObjectReference
		message   string // with the try's number
		first     string
	}{
		{"Service", "the stock controller's reason", service(), "DeleteLoadBalancer: denied", "Warning DeleteLoadBalancerFailed "},
		{"Gateway", "", gateway(), "DeleteLoadBalancer: denied", "Warning DeletionBlocked "},
		{"with a request id", "the text differs each time", gateway(), "DeleteLoadBalancer: denied, request %d", "Warning DeletionBlocked "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			for hour := range 24 {
				for try := range 720 {
					w.Failed(c.about, Deleting, lbmodel.Errorf(lbmodel.CodeDenied, "", lbmodel.ID{}, "%s", strings.ReplaceAll(c.message, "%d", fmt.Sprint(hour, try))))
					w.time = w.time.Add(5 * time.Second)
				}
				got := w.news()
				if hour == 0 && (len(got) == 0 || !strings.HasPrefix(got[0], c.first)) {
					t.Fatalf("%s: the first events are %q", c.why, got)
				}
				if len(got) < 1 || len(got) > 6 {
					t.Errorf("%s: %d events in hour %d: %q", c.why, len(got), hour, got)
				}
			}
		})
	}
}

// TestOnChange: what happened before is told again once something else happened,
// and not before.
func TestOnChange(t *testing.T) {
	w := newWorld()
	say := func(reason Reason, message string, want int) {
		t.Helper()
		w.time = w.time.Add(time.Minute)
		w.Tell(gateway(), reason, message)
		if got := w.news(); len(got) != want {
			t.Errorf("%s %q is told as %q, want %d events", reason, message, got, want)
		}
	}
	say(Applied, "3 changes", 1)
	say(Applied, "3 changes", 0)
	w.time = w.time.Add(48 * time.Hour)
	say(Applied, "3 changes", 0)
	say(Applied, "1 change", 1)
	say(DriftDetected, "2 fields", 1)
	say(Applied, "1 change", 1)
	w.Tell(service(), EnsuredLoadBalancer, "")
	w.Forget(gateway())
	say(Applied, "1 change", 2)
}

// TestStates: a gateway that is in two states at a time is found in both by every pass.
// Each is told once, a warning again in a while, and both again after what ends them.
func TestStates(t *testing.T) {
	w := newWorld()
	passes := func(n int) (plans, warnings int) {
		for range n {
			w.Tell(service(), PlanReady, "1 change waits")
			w.Tell(service(), UnavailableLoadBalancer, "nothing to send to")
			w.time = w.time.Add(time.Second)
		}
		for _, e := range w.news() {
			if strings.Contains(e, "PlanReady") {
				plans++
			} else {
				warnings++
			}
		}
		return plans, warnings
	}
	check := func(when string, n, plans, warnings int) {
		t.Helper()
		if p, w := passes(n); p != plans || w != warnings {
			t.Errorf("%s: %d events of the plan and %d warnings, want %d and %d", when, p, w, plans, warnings)
		}
	}
	check("19 minutes", 19*60, 1, 1)
	check("a minute more, and some", 2*60, 0, 1)
	w.Tell(service(), UpdatedLoadBalancer, "targets")
	w.news()
	check("after other targets", 10, 0, 1)
	w.Tell(service(), EnsuredLoadBalancer, "")
	w.news()
	w.time = w.time.Add(time.Hour)
	check("after a change", 10, 1, 1)
}

// TestFlapping: going to and fro is bounded too.
func TestFlapping(t *testing.T) {
	w := newWorld()
	for range 3600 {
		w.Tell(service(), EnsuredLoadBalancer, "")
		w.Failed(service(), Applying, errors.New("again"))
		w.time = w.time.Add(time.Second)
	}
	if got := w.news(); len(got) > 26 {
		t.Errorf("%d events in an hour: %q", len(got), got)
	}
}

// TestFailureReasons: which errors are events, and under which reason.
func TestFailureReasons(t *testing.T) {
	cases := []struct {
		name, why string
		code      lbmodel.Code
		gateway   Reason
	}{
		{"denied", "only an administrator can help", lbmodel.CodeDenied, AccessDenied},
		{"quota", "only an administrator can help", lbmodel.CodeQuota, QuotaExceeded},
		{"conflict", "somebody else is in the way", lbmodel.CodeConflict, Conflict},
		{"unknown", "nobody knows better", lbmodel.CodeUnknown, ApplyFailed},
		{"throttled", "passes by itself", lbmodel.CodeThrottled, ""},
		{"pending", "is progress", lbmodel.CodePending, ""},
		{"unavailable", "passes by itself", lbmodel.CodeUnavailable, ""},
		{"invalid", "a condition says it", lbmodel.CodeInvalid, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			err := lbmodel.Errorf(c.code, "CreateRule", lbmodel.ID{}, "no")
			w.Failed(gateway(), Applying, err)
			got, want := strings.Join(w.news(), "\n"), ""
			if c.gateway != "" {
				want = fmt.Sprintf("Warning %s %v", c.gateway, err)
			}
			if got != want {
				t.Errorf("%s: %q, want %q", c.why, got, want)
			}
			w.Failed(service(), Applying, err)
			if got := w.news(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning SyncLoadBalancerFailed ") {
				t.Errorf("on a Service: %q", got)
			}
			w.Failed(&corev1.ObjectReference{Kind: "Gateway", Namespace: "apps", Name: "old", UID: "u3"}, Deleting, err)
			if got, told := w.news(), c.gateway != "" || c.code == lbmodel.CodeUnavailable; (len(got) == 1 && strings.HasPrefix(got[0], "Warning DeletionBlocked ")) != told {
				t.Errorf("on a Gateway that was deleted: %q, want it told: %v", got, told)
			}
		})
	}
}

// TestNoSecrets: keys that got into an error do not get into an event, nor does a
// message that the API would refuse.
func TestNoSecrets(t *testing.T) {
	key := "-----BEGIN " + "PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"
	cases := []struct{ name, why, message, want string }{
		{"a key", "", "cannot read " + key + " of s", "cannot read (PEM) of s"},
		{"half a key", "the end was cut off elsewhere", "cannot read " + key[:40], "cannot read (PEM)"},
		{"long", "1024 bytes is the API's limit", strings.Repeat("ä", 2000), strings.Repeat("ä", 510) + "…"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.Tell(gateway(), ApplyFailed, c.message)
			if got := strings.Join(w.news(), "\n"); got != "Warning ApplyFailed "+c.want {
				t.Errorf("%s: %q", c.why, got)
			}
		})
	}
}

// TestManyObjects: what is remembered is bounded.
func TestManyObjects(t *testing.T) {
	w := newWorld()
	for i := range 3 * most {
		w.Tell(&corev1.ObjectReference{Kind: "Gateway", UID: types.UID(fmt.Sprint(i))}, Applied, "")
		w.news()
	}
	if n := len(w.told); n > most {
		t.Errorf("%d objects are remembered, the bound is %d", n, most)
	}
}

// TestTable: every reason of the source is in the table once, is PascalCase, and
// nothing else can be told.
func TestTable(t *testing.T) {
	var listed []string
	for _, row := range Reasons() {
		listed = append(listed, string(row.Reason))
		if !regexp.MustCompile(`^([A-Z][a-z]+)+$`).MatchString(string(row.Reason)) || row.Means == "" {
			t.Errorf("row %+v", row)
		}
	}
	var declared []string
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && fmt.Sprint(v.Type) == "Reason" {
			declared = append(declared, strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	slices.Sort(listed)
	slices.Sort(declared)
	if !slices.Equal(listed, declared) {
		t.Errorf("the table has %v, the source %v", listed, declared)
	}
	w := newWorld()
	w.Tell(gateway(), "Whatever", "unknown")
	if got := w.news(); len(got) != 0 {
		t.Errorf("an unknown reason is told: %q", got)
	}
}

var update = flag.Bool("update", false, "write docs/reference/events.md")

// TestPage keeps the page for people equal to the table.
func TestPage(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "events.md")
	want := page()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the table says (%v): run this test with -update", path, err)
	}
}

func page() string {
	var out strings.Builder
	out.WriteString("# Events\n\nGenerated from `internal/controller/events`; do not edit.\n\n" +
		"An event tells of a change. A failure that lasts is told of again every 20 minutes; one reason comes at\n" +
		"most a few times an hour for one object. What lasts is in the conditions of the object.\n")
	for _, on := range []On{Gateways, Services, MeshBindings} {
		fmt.Fprintf(&out, "\n## On %s\n\n| reason | type | means |\n|---|---|---|\n", on)
		for _, row := range Reasons() {
			if row.On == on {
				fmt.Fprintf(&out, "| `%s` | %s | %s |\n", row.Reason, row.Type, row.Means)
			}
		}
	}
	return out.String()
}
