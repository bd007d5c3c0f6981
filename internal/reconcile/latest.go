package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// Latest is the objects as they count for somebody who reads them again and
// again. What is new or changed counts at once. What is missing counts as removed
// when two looks, a Patience apart, agree on it; with something unreadable it
// does not count at all. A Secret whose new content cannot be used keeps its last
// good version, and so does an object that changes what is immutable.
type Latest struct {
	Snapshot translate.Snapshot
	Patience time.Duration // zero takes what is missing for removed at once

	// Kept are the objects whose last good version counts instead of what was read.
	Kept []lbmodel.Finding

	missing map[translate.Key]time.Time // since when
}

// Take takes what was read now, and gives the difference that counts. again is how
// long to wait before what is missing should be looked at once more; zero when
// nothing is.
func (l *Latest) Take(next translate.Snapshot, absent Absence, now time.Time) (d Difference, again time.Duration) {
	next, l.Kept = keepSecrets(l.Snapshot, next)
	next, refused := keepImmutable(l.Snapshot, next)
	l.Kept = append(l.Kept, refused...)
	d = Compare(l.Snapshot, next, absent)
	d.Delete, again = l.proven(d.Delete, now)
	l.Snapshot = Overlay(l.Snapshot, next, d.Delete...)
	return d, again
}

// proven are those of the missing keys that were missing long enough.
func (l *Latest) proven(missing []translate.Key, now time.Time) (gone []translate.Key, again time.Duration) {
	since := map[translate.Key]time.Time{}
	for _, key := range missing {
		first, known := l.missing[key]
		if !known {
			first = now
		}
		left := l.Patience - now.Sub(first)
		if left <= 0 {
			gone = append(gone, key)
			continue
		}
		since[key] = first
		again = max(again, left)
	}
	l.missing = since
	return gone, again
}

// keepSecrets is next with the last good versions of Secrets that it has in a
// version that cannot be used.
func keepSecrets(old, next translate.Snapshot) (translate.Snapshot, []lbmodel.Finding) {
	good := map[translate.Key]*translate.Secret{}
	for _, s := range old.Secrets {
		if key, ok := translate.KeyOf(s); ok && s.Problem == "" {
			good[key] = s
		}
	}
	var kept []lbmodel.Finding
	secrets := slices.Clone(next.Secrets)
	for i, s := range secrets {
		key, _ := translate.KeyOf(s)
		if last := good[key]; s.Problem != "" && last != nil {
			secrets[i] = last
			kept = append(kept, lastGood(s, last))
		}
	}
	next.Secrets = secrets
	return next, kept
}

func lastGood(s, last *translate.Secret) lbmodel.Finding {
	until := ""
	if last.Leaf != nil {
		until = " (it ends on " + last.Leaf.NotAfter.Format(time.DateOnly) + ")"
	}
	return lbmodel.Finding{
		About:     lbmodel.Source{Kind: translate.KindSecret, Namespace: s.Namespace, Name: s.Name},
		Condition: "ResolvedRefs", Reason: "InvalidCertificateRef", Code: lbmodel.CodeOK,
		Detail: fmt.Sprintf("its new content cannot be used: %s. The certificate that it had before is served on%s: repair the Secret, or remove it to stop that", s.Problem, until),
	}
}

// Missing are the keys that the last look did not find and that still count,
// sorted.
func (l *Latest) Missing() []translate.Key {
	return slices.SortedFunc(maps.Keys(l.missing), compareKeys)
}

// Usable are the Secrets whose pair counts, be it their last good one.
func (l *Latest) Usable() []types.NamespacedName {
	var out []types.NamespacedName
	for _, s := range l.Snapshot.Secrets {
		if s.Problem == "" {
			out = append(out, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
		}
	}
	return out
}
