package mesh

import (
	"encoding/hex"
	"maps"
	"strings"
	"sync"

	"gatehouse.dev/fake/mesh/inbound"
)

// sight is what the pods' proxies saw of the gateway, all together.
type sight struct {
	mu       sync.Mutex
	outcomes map[inbound.Outcome]int
	by       map[string]int // terminated connections, by the key of the client's authority
	nameless int            // terminated, and nobody was named
	why      map[string]int // of refused ones
}

func newSight() *sight {
	return &sight{outcomes: map[inbound.Outcome]int{}, by: map[string]int{}, why: map[string]int{}}
}

func (s *sight) watch(c inbound.Connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if abandoned(c) {
		return
	}
	s.outcomes[c.Outcome]++
	switch {
	case c.Outcome == inbound.Refused:
		s.why[c.Why]++
	case c.Outcome == inbound.Terminated && c.Client == "":
		s.nameless++
	case c.Outcome == inbound.Terminated:
		s.by[c.Authority]++
	}
}

// abandoned says that the gateway had no more use for a connection that it had just
// begun: another request left it one.
func abandoned(c inbound.Connection) bool {
	return c.Hello.Silent || c.Outcome == inbound.Refused &&
		(c.Why == "EOF" || strings.HasSuffix(c.Why, "connection reset by peer"))
}

// saw is a copy of a sight.
type saw struct {
	outcomes map[inbound.Outcome]int
	by       map[string]int
	nameless int
	why      map[string]int
}

func (s *sight) copy() saw {
	s.mu.Lock()
	defer s.mu.Unlock()
	return saw{maps.Clone(s.outcomes), maps.Clone(s.by), s.nameless, maps.Clone(s.why)}
}

// unverified are the hops on which one side did not know the other: TLS that the
// gateway did not verify, and connections that no certificate came with.
func (w *world) unverified() int {
	s := w.seen.copy()
	out := s.nameless + s.outcomes[inbound.Clear] + s.outcomes[inbound.Passed]
	for _, h := range w.stack.Local.Counters().Handshakes {
		if h.Root == "" {
			out += int(h.Count)
		}
	}
	return out
}

// byRoot counts handshakes by the root that they were verified by: as the pods saw
// the gateway, and as the gateway saw the pods.
func (w *world) byRoot(names map[string]string) (gateway, pods map[string]int) {
	gateway, pods = map[string]int{}, map[string]int{}
	for authority, n := range w.seen.copy().by {
		gateway[names[authority]] += n
	}
	for _, h := range w.stack.Local.Counters().Handshakes {
		pods[names[h.Root]] += int(h.Count)
	}
	return gateway, pods
}

// nameRoots notes the roots that the mesh has now, by their key and their
// fingerprint.
func (w *world) nameRoots(names map[string]string) {
	for _, name := range []string{"a", "b"} {
		if c := w.ca.Root(name); c != nil {
			names[hex.EncodeToString(c.SubjectKeyId)], names[fingerprint(c.Raw)] = name, name
		}
	}
}
