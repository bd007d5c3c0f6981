package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// noon is when these tests are.
func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

func days(n int) time.Time { return noon().AddDate(0, 0, n) }

// TestTimeline: one sees what was there first, what is on its way out, and what goes
// on beyond the edge; the nearest end decides the scale.
func TestTimeline(t *testing.T) {
	until := days(2)
	all := []trusted{
		{What: isLeaf, Of: "Gateway/edge/shop", SHA256: "cccccccccccc", NotBefore: days(-3), NotAfter: days(4), State: leafLive},
		{What: isRoot, Of: "MeshBinding/istio", SHA256: "bbbbbbbbbbbb", NotBefore: days(-5), NotAfter: days(3650), State: trustedNow},
		{What: isRoot, Of: "MeshBinding/istio", SHA256: "aaaaaaaaaaaa", NotBefore: days(-3000), NotAfter: days(12), State: trustRemoving, Until: &until},
	}
	var out bytes.Buffer
	a := &app{out: term.NewScreen(&out, func(string) string { return "" }, term.Never)}
	a.printTimeline(all, noon())
	want := `                                                  2026-07-22     now                     2026-08-21
Gateway/edge/shop
  leaf cccccccc  Live, ends 2026-08-05 12:00                 █████┃██████
MeshBinding/istio
  root aaaaaaaa  Removing until 2026-08-03 12:00  ◂███████████████┃███░░░░░░░░░░░░░░░░
  root bbbbbbbb  Trusted, ends 2036-07-29 12:00           ████████┃███████████████████████████████▸
  ░ after it is dropped
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHeldRoots: what is held is listed with its state, also before it is dropped, and
// while nobody can read what is published.
func TestHeldRoots(t *testing.T) {
	const trust = "MeshBinding/istio"
	a, b := lbmodel.Root{SHA256: "a", NotAfter: days(9)}, lbmodel.Root{SHA256: "b", NotAfter: days(9)}
	dropped := a
	dropped.Dropped = noon()
	for _, c := range []struct {
		name, why string
		trust     lbmodel.Trust
		held      []lbmodel.Root
		want      []string
	}{
		{"published", "nothing to tell", lbmodel.Trust{Roots: []lbmodel.Root{a}}, []lbmodel.Root{a}, []string{"a Trusted"}},
		{"published no more", "the next apply drops it", lbmodel.Trust{Roots: []lbmodel.Root{b}}, []lbmodel.Root{a, b}, []string{"b Trusted", "a Removing no longer published"}},
		{"dropped", "it stays for the overlap", lbmodel.Trust{Roots: []lbmodel.Root{b}}, []lbmodel.Root{dropped, b}, []string{"b Trusted", "a Removing no longer published"}},
		{"unread", "nothing is removed for it", lbmodel.Trust{Unknown: true}, []lbmodel.Root{a}, []string{"a Trusted cannot be read now: it stays"}},
		{"unread after it was dropped", "", lbmodel.Trust{Unknown: true}, []lbmodel.Root{dropped}, []string{"a Removing no longer published"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.trust.Name = trust
			l := collecting{now: noon(), seen: map[trusted]bool{}, lives: lives{
				state: func(reconcile.Gateway, string, lbmodel.Root) trustState { return trustedNow },
				held:  func(reconcile.Gateway, string) []lbmodel.Root { return c.held },
			}}
			l.roots(reconcile.Gateway{}, c.trust)
			var got []string
			for _, x := range l.out {
				got = append(got, strings.TrimSuffix(x.SHA256+" "+string(x.State)+" "+x.Source, " "+trust))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}

// TestTimelineOfCenturies: spans that would be too long for a time.Duration times ten.
func TestTimelineOfCenturies(t *testing.T) {
	all := []trusted{{What: isRoot, SHA256: "aaaaaaaaaaaa", NotBefore: days(-1), NotAfter: noon().AddDate(200, 0, 0)}}
	x := newAxis(all, noon(), 40)
	if !x.from.Before(noon()) || !x.to.After(noon().AddDate(199, 0, 0)) {
		t.Errorf("the axis is from %s to %s, want the present and the end in it", x.from, x.to)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       time.Time
		bad        bool
	}{
		{name: "none", text: ""},
		{name: "days", text: "30d", want: days(30)},
		{name: "as Go has it", text: "36h", want: noon().Add(36 * time.Hour)},
		{name: "less than nothing", text: "-1d", bad: true},
		{name: "words", text: "soon", bad: true},
		{name: "days and more", text: "3d4h", bad: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := withinTime(c.text, noon())
			if !got.Equal(c.want) || (err != nil) != c.bad {
				t.Errorf("%q is %s (%v), want %s, an error: %t", c.text, got, err, c.want, c.bad)
			}
		})
	}
}

func TestLeft(t *testing.T) {
	for want, d := range map[string]time.Duration{"ended": -time.Minute, "0h": time.Minute, "47h": 47 * time.Hour, "2d": 49 * time.Hour} {
		if got := left(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

// TestWorseVerdict: of several routes to one group, what is told is what the worst one
// comes to.
func TestWorseVerdict(t *testing.T) {
	blocked, pad := meshsync.Verdict{Path: meshsync.Blocked}, meshsync.Verdict{Path: meshsync.LandingPad, TLS: lbmodel.TLSClientAndServer}
	mutual := meshsync.Verdict{Path: meshsync.Direct, TLS: lbmodel.TLSClientAndServer}
	server := meshsync.Verdict{Path: meshsync.Direct, TLS: lbmodel.TLSServerOnly}
	for _, c := range []struct {
		name string
		a, b meshsync.Verdict
		want bool
	}{
		{"blocked is worse than direct", blocked, mutual, true},
		{"direct is not worse than a landing pad", mutual, pad, false},
		{"less protection is worse", server, mutual, true},
		{"the same is not worse", mutual, mutual, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := worseVerdict(c.a, c.b); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
