package roots

import (
	"encoding/json/v2"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

func parsed(t *testing.T, m *ca.CA) []lbmodel.Root {
	t.Helper()
	roots, err := normal(m.Roots())
	do(t, err)
	return roots
}

// TestLedger: what is known after each of a row of readings.
func TestLedger(t *testing.T) {
	a, b := parsed(t, newCA(t)), parsed(t, newCA(t))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return start.Add(time.Duration(hours) * time.Hour) }
	good := Bundle{Name: "x", Roots: a, Sequence: 3, At: at(0), RefreshAt: at(1)}
	l := newLedger("x", []Bundle{{Name: "other", Roots: b}, {Name: "x"}})
	for i, tt := range []struct {
		name string
		do   func(now, next time.Time)
		want Bundle
		why  string
	}{
		{
			"nothing can be read", func(now, next time.Time) { l.failed(now, next, "p") },
			Bundle{Name: "x", Problem: "p", Since: at(0), RefreshAt: at(1)},
			"a source of one trust domain takes no other's last bundle, and blames its own",
		},
		{
			"good", func(now, next time.Time) { l.read(now, next, []Bundle{{Name: "x", Roots: a, Sequence: 3}}) },
			Bundle{Name: "x", Roots: a, Sequence: 3, At: at(1), RefreshAt: at(2)}, "it is repaired",
		},
		{
			"no roots", func(now, next time.Time) { l.read(now, next, []Bundle{{Name: "x", Sequence: 4}}) },
			Bundle{Name: "x", Roots: a, Sequence: 3, At: at(1), RefreshAt: at(3), Problem: "the bundle has no roots", Since: at(2)},
			"a bundle does not become empty, and the sequence of what was not taken does not count",
		},
		{
			"another problem", func(now, next time.Time) { l.failed(now, next, "q") },
			Bundle{Name: "x", Roots: a, Sequence: 3, At: at(1), RefreshAt: at(4), Problem: "q", Since: at(2)},
			"it has been failing since the first",
		},
		{
			"the same again", func(now, next time.Time) { l.again(now, next) },
			Bundle{Name: "x", Roots: a, Sequence: 3, At: at(4), RefreshAt: at(5)}, "it is repaired",
		},
		{
			"no sequence", func(now, next time.Time) { l.read(now, next, []Bundle{{Name: "x", Roots: b}}) },
			Bundle{Name: "x", Roots: b, Sequence: 3, At: at(5), RefreshAt: at(6)}, "a publisher need not count, and may not use that to go back",
		},
		{
			"nothing at all", func(now, next time.Time) { l.read(now, next, nil) },
			Bundle{Name: "x", Roots: b, Sequence: 3, At: at(5), RefreshAt: at(7), Problem: "no bundle is published", Since: at(6)}, "roots stay",
		},
	} {
		tt.do(at(i), at(i+1))
		if diff := cmp.Diff([]Bundle{tt.want}, l.all()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.why, diff)
		}
	}
	l = newLedger("", []Bundle{good})
	l.seen(at(9))
	if got := l.all()[0]; !got.At.Equal(at(9)) {
		t.Errorf("seen at %s", got.At)
	}
}

// TestCondition: what a person is told, and when.
func TestCondition(t *testing.T) {
	now := time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	known := parsed(t, newCA(t))
	for _, tt := range []struct {
		name   string
		bundle Bundle
		want   string
		age    time.Duration
	}{
		{"good", Bundle{Roots: known, At: now.Add(-time.Hour), RefreshAt: now}, "", time.Hour},
		{"good, and told of changes", Bundle{Roots: known, At: now.Add(-100 * time.Hour)}, "", 0},
		{"interrupted", Bundle{Roots: known, At: now.Add(-100 * time.Hour), Since: now.Add(-time.Hour), Problem: "p"}, "", 100 * time.Hour},
		{"for a day", Bundle{Roots: known, At: now.Add(-25 * time.Hour), Since: now.Add(-24 * time.Hour), Problem: "p"}, "the roots could not be read since 2026-01-09T12:00:00Z: p; those of 2026-01-09T11:00:00Z stay until they can", 25 * time.Hour},
		{"refused", Bundle{Roots: known, At: now.Add(-2 * time.Hour), Since: now.Add(-time.Hour), Problem: "p", Refused: true}, "no roots are taken from their source since 2026-01-10T11:00:00Z: p; those of 2026-01-10T10:00:00Z stay", 2 * time.Hour},
		{"never", Bundle{Since: now, Problem: "p"}, "there are no roots yet: p", 0},
	} {
		if got := tt.bundle.Condition(now); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := tt.bundle.Age(now); got != tt.age {
			t.Errorf("%s: age %s, want %s", tt.name, got, tt.age)
		}
	}
}

// TestSame: order and repetition are nothing; a root that was signed anew with its
// key is another certificate and the same key.
func TestSame(t *testing.T) {
	m := newCA(t)
	do(t, m.Add(ca.Root{Name: "b"}))
	before := parsed(t, m)
	swapped := []lbmodel.Root{before[1], before[0], before[1]}
	do(t, m.Resign("a"))
	after := parsed(t, m)
	for _, tt := range []struct {
		name        string
		a, b        []lbmodel.Root
		roots, keys bool
	}{
		{"itself", before, before, true, true},
		{"swapped and repeated", before, swapped, true, true},
		{"one of them", before, before[:1], false, false},
		{"none", before, nil, false, false},
		{"both none", nil, []lbmodel.Root{}, true, true},
		{"signed anew", before, after, false, true},
	} {
		if SameRoots(tt.a, tt.b) != tt.roots || SameKeys(tt.a, tt.b) != tt.keys || SameRoots(tt.b, tt.a) != tt.roots || SameKeys(tt.b, tt.a) != tt.keys {
			t.Errorf("%s: roots %t, keys %t, want %t, %t", tt.name, SameRoots(tt.a, tt.b), SameKeys(tt.a, tt.b), tt.roots, tt.keys)
		}
	}
	again, err := lbmodel.ParseRoots([]byte(Bundle{Roots: before}.PEM()))
	do(t, err)
	if !SameRoots(before, again) {
		t.Error("a bundle's PEM is not the bundle")
	}
}

// TestSaid: what others say is short, in one line, and the same each time.
func TestSaid(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"lines and control characters", "a\r\n b\x1b[31m\x00c", "a b [31m c"},
		{"our own port", "read tcp 127.0.0.1:40000->127.0.0.1:8500: reset", "read tcp 127.0.0.1:8500: reset"},
		{"a token", "bad token t0k", "bad token (secret)"},
		{"no text", "\xff\xfe", ""},
	} {
		if got := said(tt.text, "t0k"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := said(strings.Repeat("ä", 1000), ""); len(got) > maxSaid+3 || !strings.HasSuffix(got, "ä…") {
		t.Errorf("cut to %d bytes: %q", len(got), got[len(got)-8:])
	}
}

// TestSecret: no way of printing prints it.
func TestSecret(t *testing.T) {
	type holder struct{ Token Secret }
	text, err := json.Marshal(holder{"s3cret"})
	do(t, err)
	all := string(text) + Secret("s3cret").String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		all += fmt.Sprintf(verb, holder{"s3cret"}) + fmt.Sprintf(verb, Secret("s3cret"))
	}
	if strings.Contains(all, "s3cret") || strings.Contains(all, fmt.Sprintf("%x", "s3cret")) {
		t.Errorf("printed: %s", all)
	}
}

// TestAt: each kind of place is asked in its own way, and what a mesh publishes in the
// cluster is not read here.
func TestAt(t *testing.T) {
	const pem, token = "roots", Secret("t0ken")
	for _, c := range []struct {
		name, why string
		at        meshsync.RootsAt
		want      Source // nil: none
	}{
		{"an object", "translation reads it", meshsync.RootsAt{Kind: "ConfigMap", Namespace: "a", Name: "b"}, nil},
		{"a socket that nobody named", "a mesh does not know where its agent is for us", meshsync.RootsAt{Kind: meshsync.RootsWorkload, Name: "a"}, nil},
		{"an object with a URL", "", meshsync.RootsAt{Kind: "ConfigMap", Name: "a", URL: "https://a"}, nil},
		{"a bundle endpoint", "as Istio's configuration names it", meshsync.RootsAt{Kind: meshsync.RootsSPIFFE, Name: "a", URL: "https://a"},
			Endpoint{TrustDomain: "a", URL: "https://a", Profile: Web}},
		{"with roots of its own", "", meshsync.RootsAt{Kind: meshsync.RootsSPIFFE, Name: "a", URL: "https://a", Profile: "https_web", ServerRoots: pem},
			Endpoint{TrustDomain: "a", URL: "https://a", Profile: Web, WebRoots: pem}},
		{"https_spiffe", "the roots are those to begin with", meshsync.RootsAt{Kind: meshsync.RootsSPIFFE, Name: "a", URL: "https://a", Profile: "https_spiffe", ID: "spiffe://a/s", ServerRoots: pem},
			Endpoint{TrustDomain: "a", URL: "https://a", Profile: SPIFFE, ID: "spiffe://a/s", Bootstrap: pem}},
		{"an agent", "", meshsync.RootsAt{Kind: meshsync.RootsWorkload, Name: "a", URL: "unix:///s"}, Workload{Socket: "unix:///s", TrustDomain: "a"}},
		{"Consul", "", meshsync.RootsAt{Kind: meshsync.RootsConsul, Name: "a", URL: "https://a:8501", ServerRoots: pem, ServerName: "n"},
			Consul{URL: "https://a:8501", TrustDomain: "a", Token: token, ServerRoots: pem, ServerName: "n"}},
		{"Consul's gRPC", "", meshsync.RootsAt{Kind: meshsync.RootsConsul, Name: "a", URL: "grpcs://a:8503", ServerRoots: pem},
			ConsulStream{Addr: "a:8503", TrustDomain: "a", Token: token, ServerRoots: pem}},
		{"Consul's gRPC, plain", "it refuses any host but this", meshsync.RootsAt{Kind: meshsync.RootsConsul, Name: "a", URL: "grpc://127.0.0.1:8502"},
			ConsulStream{Addr: "127.0.0.1:8502", TrustDomain: "a", Token: token, Plain: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := At(c.at, token)
			if ok != (c.want != nil) || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: got %#v, want %#v", c.why, got, c.want)
			}
		})
	}
}
