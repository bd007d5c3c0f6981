package lbmodel

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"slices"
	"strings"
	"time"
)

// Rotate is which roots a trust holds now, in the light of those that are there,
// and when to look again (zero: only something that changes is a reason). It is
// for Place, and the same for both directions of a mesh.
//
// What the source publishes comes at once. What it does not publish any more stays
// for the Overlap, and as long as it is Seen; Root.Dropped, which is stored with
// the cloud's object, is the record of when that began. A root that is published
// again is as if it had never gone. Without a record the time begins now, and so
// it does with one that lies in the future: a lost record or a clock that was set
// back makes an overlap longer, never shorter. With an Overlap no root ever goes
// without its record.
//
// Sooner goes only what cannot be missed: a root that was signed anew with the
// same key, and a dropped one that has expired while a valid one remains. What is
// published stays although it has expired: the clock may be wrong. Roots are in
// canonical order, and never none where there were some.
func Rotate(want Trust, have []Root, now time.Time) (roots []Root, next time.Time) {
	switch {
	case want.System:
		return nil, time.Time{}
	case want.Unknown || len(want.Roots) == 0:
		return slices.Clone(have), time.Time{}
	}
	r := rotation{want: want, now: now, moment: ceilSecond(now)}
	for _, root := range want.Roots {
		root.Dropped = time.Time{}
		roots = append(roots, root)
	}
	for _, root := range have {
		if !r.replaced(root) {
			roots = append(roots, r.dropped(root))
		}
	}
	return r.expire(sortRoots(roots))
}

// rotation is one run of Rotate.
type rotation struct {
	want   Trust
	now    time.Time
	moment time.Time // now as records have it
}

// ceilSecond is the next full second: records are rounded up, since rounding down
// would make an overlap shorter.
func ceilSecond(t time.Time) time.Time {
	full := t.UTC().Truncate(time.Second)
	if full.Before(t) {
		full = full.Add(time.Second)
	}
	return full
}

// replaced says whether a root that is there is published, in this or a better
// form.
func (r rotation) replaced(root Root) bool {
	return slices.ContainsFunc(r.want.Roots, func(w Root) bool {
		return w.SHA256 == root.SHA256 || resigned(w, root, r.now)
	})
}

// dropped is a root that is not published, with its record.
func (r rotation) dropped(root Root) Root {
	if root.Dropped.IsZero() || root.Dropped.After(r.moment) {
		root.Dropped = r.moment
	}
	root.Dropped = root.Dropped.UTC()
	return root
}

// expire takes away what has been there long enough, and then what has expired.
func (r rotation) expire(roots []Root) (kept []Root, next time.Time) {
	over := func(until time.Time) bool { return !until.IsZero() && !until.After(r.now) }
	roots = slices.DeleteFunc(roots, func(root Root) bool { return over(r.until(root)) })
	valid := slices.ContainsFunc(roots, func(root Root) bool { return !root.expired(r.now) })
	for _, root := range roots {
		until := r.until(root)
		if ends := root.ends(); valid && !ends.IsZero() && ends.Before(until) {
			until = ends
		}
		if over(until) {
			continue
		}
		kept = append(kept, root)
		if !until.IsZero() && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return kept, next
}

// until is when a root is to go; zero is not by time alone.
func (r rotation) until(root Root) time.Time {
	switch {
	case root.Dropped.IsZero() || slices.Contains(r.want.Seen, root.SPKI):
		return time.Time{}
	case r.want.Overlap <= 0:
		return r.now
	default:
		return root.Dropped.Add(time.Duration(r.want.Overlap))
	}
}

// ends is when a dropped root verifies nothing any more, and its record is
// written; zero is not known.
func (r Root) ends() time.Time {
	if recorded := r.Dropped.Add(time.Second); recorded.After(r.NotAfter) && !r.NotAfter.IsZero() {
		return recorded
	}
	return r.NotAfter
}

func (r Root) expired(now time.Time) bool { return !r.NotAfter.IsZero() && !now.Before(r.NotAfter) }

// resigned says whether one root stands for another everywhere: it has the same
// key and name, restricts nothing else, and holds now and at least as long.
// Certificates of the old verify under the new, so the old need not stay.
func resigned(to, from Root, now time.Time) bool {
	if to.SPKI != from.SPKI || to.SPKI == "" {
		return false
	}
	a, b := to.certificate(), from.certificate()
	return a != nil && b != nil && bytes.Equal(a.RawSubject, b.RawSubject) &&
		slices.EqualFunc(sortedExtensions(a), sortedExtensions(b), equalExtensions) &&
		!a.NotBefore.After(now) && !a.NotAfter.Before(b.NotAfter)
}

// certificate is the root itself, or nil when its PEM is not read.
func (r Root) certificate() *x509.Certificate {
	block, _ := pem.Decode([]byte(r.PEM))
	if block == nil {
		return nil
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return cert
}

func sortedExtensions(c *x509.Certificate) []pkix.Extension {
	return sortedBy(c.Extensions, func(a, b pkix.Extension) int { return strings.Compare(a.Id.String(), b.Id.String()) })
}

func equalExtensions(a, b pkix.Extension) bool {
	return a.Id.Equal(b.Id) && a.Critical == b.Critical && bytes.Equal(a.Value, b.Value)
}

// GainsRoot says whether the way from have to want brings a root.
func GainsRoot(want, have []Root) bool {
	return slices.ContainsFunc(want, func(r Root) bool { return !holdsRoot(have, r) })
}

// RotationFlows says whether the way from have to want takes nothing that somebody
// would have to agree to: no root goes but those whose source dropped them an
// overlap ago, and those of which the key stays.
func RotationFlows(want, have []Root) bool {
	return !slices.ContainsFunc(have, func(r Root) bool {
		return r.Dropped.IsZero() && !holdsRoot(want, r) &&
			!slices.ContainsFunc(want, func(w Root) bool { return w.SPKI == r.SPKI && w.SPKI != "" })
	})
}

func holdsRoot(roots []Root, r Root) bool {
	return slices.ContainsFunc(roots, func(o Root) bool { return o.SHA256 == r.SHA256 })
}

// Authorities are the keys of the roots that are not dropped, as
// RenewRule.Authorities has them; nil when one of them is not known.
func Authorities(roots []Root) []string {
	var out []string
	for _, r := range roots {
		switch {
		case r.KeyID == "":
			return nil
		case r.Dropped.IsZero():
			out = append(out, r.KeyID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Published are roots without what Rotate noted: what their source says, as far as
// one knows.
func Published(roots []Root) []Root {
	out := slices.Clone(roots)
	for i := range out {
		out[i].Dropped = time.Time{}
	}
	return out
}
