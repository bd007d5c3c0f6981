package issue

import (
	"fmt"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// Switch is the question whether a gateway may show another client certificate.
type Switch struct {
	Live        *lbmodel.Leaf // what it shows now; nil is nothing
	Candidate   lbmodel.Leaf  // what it would show
	Authorities []Authority   // the published roots under which the candidate verifies
	Margin      time.Duration // Config.Margin
	Skew        time.Duration // Config.Skew
	Now         time.Time
}

// Authority is a root and whether backends trust it.
type Authority struct {
	Root    lbmodel.Root
	Trusted bool
	Why     string    // who does not trust it
	Opens   time.Time // when they will; zero is when something happens
}

// Decision is the answer: to switch, or to ask again at Until.
type Decision struct {
	Switch bool
	Forced bool // switched although backends are not known to trust it: somebody should be told
	Until  time.Time
	Why    string // one sentence for people
}

// MaySwitch decides. A certificate that is not valid yet waits in any case. One of
// the authority of the live certificate is as good as that. One of another is
// switched to when backends trust a root above it, and until then the live one
// stays. Only when that ends before, and Margin ahead of its end, it is better to
// show a certificate that some backends may refuse than none; as it is when none is
// live.
func MaySwitch(s Switch) Decision {
	switch {
	case s.Candidate.NotBefore.Sub(s.Now) > s.Skew:
		return Decision{Until: s.Candidate.NotBefore.Add(-s.Skew),
			Why: fmt.Sprintf("the new certificate is valid from %s, and our clock is behind that", stamp(s.Candidate.NotBefore))}
	case s.Live == nil:
		return Decision{Switch: true, Why: "no certificate is live"}
	case s.same():
		return Decision{Switch: true, Why: "the authority stays"}
	}
	var opens time.Time
	for _, a := range s.Authorities {
		if a.Trusted {
			return Decision{Switch: true, Why: "backends trust " + nameOf(a.Root)}
		}
		if opens.IsZero() || !a.Opens.IsZero() && a.Opens.Before(opens) {
			opens = a.Opens
		}
	}
	last := s.lastMoment()
	longer := s.Candidate.NotAfter.After(s.Live.NotAfter)
	if longer && !s.Now.Before(last) {
		return Decision{Switch: true, Forced: true, Why: "the live certificate ends at " + stamp(s.Live.NotAfter) + s.untrusted()}
	}
	until := last
	if !opens.IsZero() && opens.Before(last) || !longer {
		until = opens
	}
	return Decision{Until: until, Why: s.closed()}
}

// same says whether the candidate leads to the authority of the live certificate. A
// root that was signed anew has its key still.
func (s Switch) same() bool {
	a := s.Live.Authority
	return a != "" && (a == s.Candidate.Authority ||
		slices.ContainsFunc(s.Authorities, func(x Authority) bool { return x.Root.KeyID == a }))
}

// lastMoment is when the live certificate must be followed by whatever there is.
func (s Switch) lastMoment() time.Time {
	margin := s.Margin
	if begins := s.Live.NotBefore; !begins.IsZero() {
		margin = min(margin, s.Live.NotAfter.Sub(begins)/3)
	}
	return s.Live.NotAfter.Add(-margin)
}

func (s Switch) closed() string {
	return "the live certificate stays until backends trust the authority of the new one" + s.untrusted()
}

func (s Switch) untrusted() (out string) {
	for _, a := range s.Authorities {
		out += fmt.Sprintf("; %s: %s", nameOf(a.Root), a.Why)
	}
	return out
}

// nameOf tells a root from another of the same subject.
func nameOf(r lbmodel.Root) string {
	return fmt.Sprintf("root %q (key %.16s)", r.Subject, keyOf(r))
}

// keyOf is what stays when a root is signed anew.
func keyOf(r lbmodel.Root) string {
	switch {
	case r.SPKI != "":
		return r.SPKI
	case r.KeyID != "":
		return r.KeyID
	default:
		return r.SHA256
	}
}
