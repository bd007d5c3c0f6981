package issue

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
)

// Trusted says whether backends trust a root that an issuer's mesh publishes; if not,
// who does not and, where time alone brings it, until when. It is asked at every
// look and must be quick.
type Trusted func(issuer string, root lbmodel.Root, now time.Time) (ok bool, why string, until time.Time)

// All is what every one of several says; of none, that every root is trusted.
func All(checks ...Trusted) Trusted {
	return func(issuer string, root lbmodel.Root, now time.Time) (ok bool, why string, until time.Time) {
		var whys []string
		timed := true
		for _, check := range checks {
			ok, why, at := check(issuer, root, now)
			if ok {
				continue
			}
			whys = append(whys, why)
			timed = timed && !at.IsZero()
			until = later(until, at)
		}
		if !timed {
			until = time.Time{}
		}
		return len(whys) == 0, strings.Join(whys, "; "), until
	}
}

// Published remembers since when roots are published, for meshes whose proxies take
// a new root within a known time (Istio, Consul, Kuma). It knows what it has seen
// itself and what Resume gave it: without that the time begins anew, never earlier. The
// zero value is ready, and may be used by many goroutines.
type Published struct {
	mu    sync.Mutex
	first map[string]map[string]time.Time // by issuer and the root's key
}

// See notes what an issuer's mesh publishes now. A root that went and comes again
// begins anew. None at all are not noted: then they could not be read.
func (p *Published) See(issuer string, roots []lbmodel.Root, now time.Time) {
	if len(roots) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		p.first = map[string]map[string]time.Time{}
	}
	was, is := p.first[issuer], map[string]time.Time{}
	for _, r := range roots {
		since, known := was[keyOf(r)]
		if !known || now.Before(since) { // a clock that was set back makes it longer
			since = now
		}
		is[keyOf(r)] = since
	}
	p.first[issuer] = is
}

// Forget drops what is known of an issuer that is no more.
func (p *Published) Forget(issuer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.first, issuer)
}

// Since is when a root was first seen; zero is never.
func (p *Published) Since(issuer string, root lbmodel.Root) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first[issuer][keyOf(root)]
}

// Trusted takes a root for trusted once it has been published for the propagation
// time of its issuer's mesh (meshsync.Mesh.Propagation).
func (p *Published) Trusted(propagation func(issuer string) time.Duration) Trusted {
	return func(issuer string, root lbmodel.Root, now time.Time) (ok bool, why string, until time.Time) {
		return Aged(p.Since(issuer, root), propagation(issuer), now)
	}
}

// Aged says whether what is published since then has reached every proxy.
func Aged(since time.Time, propagation time.Duration, now time.Time) (ok bool, why string, until time.Time) {
	if since.IsZero() {
		return false, "it was not seen published yet", time.Time{}
	}
	until = since.Add(propagation)
	if !now.Before(until) {
		return true, "", time.Time{}
	}
	return false, fmt.Sprintf("it was first seen published at %s, and proxies may take %s to load it", stamp(since), propagation), until
}

const maxNamed = 5 // pods that a message names

// Anchored takes a root for trusted when no pod lacks it, for meshes whose proxies
// keep the roots that they began with (Linkerd: linkerd.Lacking over the pods behind
// the gateway). lacking names the pods without it; with an error it is not known,
// and no root is trusted.
func Anchored(lacking func(issuer string, root lbmodel.Root) ([]string, error)) Trusted {
	return func(issuer string, root lbmodel.Root, _ time.Time) (ok bool, why string, until time.Time) {
		pods, err := lacking(issuer, root)
		switch {
		case err != nil:
			return false, fmt.Sprintf("which pods trust it is not known: %v", err), time.Time{}
		case len(pods) == 0:
			return true, "", time.Time{}
		}
		named := slices.Sorted(slices.Values(pods))
		more := ""
		if n := len(named) - maxNamed; n > 0 {
			named, more = named[:maxNamed], fmt.Sprintf(" and %d more", n)
		}
		return false, fmt.Sprintf("%d pods do not trust it until they are restarted: %s%s", len(pods), strings.Join(named, ", "), more), time.Time{}
	}
}
