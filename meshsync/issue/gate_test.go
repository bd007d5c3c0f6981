package issue

import (
	"strings"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestMaySwitch(t *testing.T) {
	const a, b = "aa", "bb"
	leaf := func(authority string, begins, ends time.Duration) lbmodel.Leaf {
		return lbmodel.Leaf{Authority: authority, NotBefore: noon.Add(begins), NotAfter: noon.Add(ends)}
	}
	live := func(authority string, begins, ends time.Duration) *lbmodel.Leaf {
		l := leaf(authority, begins, ends)
		return &l
	}
	root := func(key string) lbmodel.Root {
		return lbmodel.Root{KeyID: key, SPKI: "spki-" + key, Subject: "CN=" + key}
	}
	closed := func(key string, opens time.Duration) Authority {
		out := Authority{Root: root(key), Why: "2 pods do not trust it"}
		if opens > 0 {
			out.Opens = noon.Add(opens)
		}
		return out
	}
	day := leaf(b, 0, 24*time.Hour)
	for _, tc := range []struct {
		name, why string
		s         Switch
		want      bool
		forced    bool
		until     time.Duration // -1: no time is known
		says      string
	}{
		{name: "nothing is live", why: "there is nothing to lose", want: true,
			s: Switch{Candidate: day, Authorities: []Authority{closed(b, time.Hour)}}},
		{name: "nothing is live and it is not valid yet", why: "a certificate before its time is refused by all", until: 4 * time.Minute, says: "valid from",
			s: Switch{Candidate: leaf(b, 5*time.Minute, time.Hour)}},
		{name: "within the skew", why: "clocks are never equal", want: true,
			s: Switch{Candidate: leaf(b, time.Minute, time.Hour)}},
		{name: "the authority of the live one", why: "who trusts one trusts the other", want: true,
			s: Switch{Live: live(a, -16*time.Hour, 8*time.Hour), Candidate: leaf(a, 0, 24*time.Hour), Authorities: []Authority{closed(a, time.Hour)}}},
		{name: "the live one's root, by another intermediate", why: "the root's key counts", want: true,
			s: Switch{Live: live(a, -16*time.Hour, 8*time.Hour), Candidate: leaf("", 0, 24*time.Hour), Authorities: []Authority{closed(a, time.Hour)}}},
		{name: "both authorities unknown", why: "unknown is not the same", until: time.Hour, says: "CN=bb",
			s: Switch{Live: live("", -16*time.Hour, 8*time.Hour), Candidate: leaf("", 0, 24*time.Hour), Authorities: []Authority{closed(b, time.Hour)}}},
		{name: "a trusted new one", why: "R2 is kept", want: true,
			s: Switch{Live: live(a, -16*time.Hour, 8*time.Hour), Candidate: day, Authorities: []Authority{{Root: root(b), Trusted: true}}}},
		{name: "one of two roots is trusted", why: "it verifies under either", want: true,
			s: Switch{Live: live(a, -16*time.Hour, 8*time.Hour), Candidate: day, Authorities: []Authority{closed("cc", 0), {Root: root(b), Trusted: true}}}},
		{name: "the gate opens by itself", why: "Istio's propagation", until: time.Hour, says: `root "CN=bb" (key spki-bb): 2 pods do not trust it`,
			s: Switch{Live: live(a, -16*time.Hour, 8*time.Hour), Candidate: day, Authorities: []Authority{closed(b, time.Hour)}}},
		{name: "nobody knows when it opens", why: "Linkerd's restarts; the last moment is known", until: 8*time.Hour - 15*time.Minute, says: "the live certificate stays",
			s: Switch{Live: live(a, -16*time.Hour, 8*time.Hour), Candidate: day, Authorities: []Authority{closed(b, 0)}}},
		{name: "it opens after the last moment", why: "the last moment comes first", until: 45 * time.Minute,
			s: Switch{Live: live(a, -23*time.Hour, time.Hour), Candidate: day, Authorities: []Authority{closed(b, 2*time.Hour)}}},
		{name: "the last moment", why: "better refused by some than by all", want: true, forced: true, says: "2 pods do not trust it",
			s: Switch{Live: live(a, -23*time.Hour, 15*time.Minute), Candidate: day, Authorities: []Authority{closed(b, 2*time.Hour)}}},
		{name: "the live one has ended", why: "anything is better", want: true, forced: true, says: "ends at",
			s: Switch{Live: live(a, -25*time.Hour, -time.Hour), Candidate: day, Authorities: []Authority{closed(b, 0)}}},
		{name: "a short life has a short margin", why: "a quarter of an hour of half an hour would be too much", until: 2 * time.Minute,
			s: Switch{Live: live(a, -18*time.Minute, 12*time.Minute), Candidate: day, Authorities: []Authority{closed(b, 0)}}},
		{name: "the new one ends before the live one", why: "it would bring nothing", until: -1,
			s: Switch{Live: live(a, -23*time.Hour, 10*time.Minute), Candidate: leaf(b, 0, 5*time.Minute), Authorities: []Authority{closed(b, 0)}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.s.Now, tc.s.Skew, tc.s.Margin = noon, time.Minute, 15*time.Minute
			got := MaySwitch(tc.s)
			if got.Switch != tc.want || got.Forced != tc.forced || !strings.Contains(got.Why, tc.says) || got.Why == "" {
				t.Errorf("%+v, want switch %v and a text with %q: %s", got, tc.want, tc.says, tc.why)
			}
			var until time.Time
			if !tc.want && tc.until >= 0 {
				until = noon.Add(tc.until)
			}
			if !got.Until.Equal(until) {
				t.Errorf("until %s, want %s: %s", got.Until, until, tc.why)
			}
		})
	}
}
