package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"gatehouse.dev/lbmodel"
)

// Hop is a way to speak to endpoints.
type Hop struct {
	Protocol lbmodel.PoolProtocol
	TLS      lbmodel.BackendTLS
	Roots    []lbmodel.Root // never none: what cannot be verified is not dialled
	// Identity is whose certificate is shown; nil is nobody's. Its Leaf, if it has
	// one, is the one that is live.
	Identity *lbmodel.Identity
}

// key tells hops apart by what the other side could notice.
func (h Hop) key() string {
	sum := sha256.New()
	t := h.TLS
	fmt.Fprintf(sum, "%q %q %q %q %q %t ", h.Protocol, t.SNI, t.SANs, t.MinVersion, t.ALPN, t.NoALPN)
	for _, r := range h.Roots {
		fmt.Fprint(sum, r.SHA256, " ")
	}
	if id := h.Identity; id != nil {
		fmt.Fprintf(sum, "%q %q %q", id.Issuer, id.SPIFFEID, id.DNSNames)
		if id.Leaf != nil {
			fmt.Fprint(sum, id.Leaf.SHA256)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// leaf is the certificate that is shown; "" is none, or that none is live.
func (h Hop) leaf() string {
	if h.Identity == nil || h.Identity.Leaf == nil {
		return ""
	}
	return h.Identity.Leaf.SHA256
}

// Ask is a question: do these endpoints, which are reached alike, take this?
type Ask struct {
	Name      string // unique among those of an asker
	Hop       Hop
	Endpoints []lbmodel.Endpoint
}

// Sight is what is known of the answer.
type Sight struct {
	Hop Hop
	// Known says that a sample of them was dialled in this way.
	Known  bool
	Passed int      // of the sample that was dialled last
	Failed []Result // likewise, by address
	// Told is the Trouble of when it was known last, for those who tell people: a new
	// question is no news.
	Told *Result
	// Seen are the keys (lbmodel.Root.SPKI) of the roots to which the certificates of
	// endpoints lead that are still there, whenever they were dialled; sorted.
	Seen []string
}

// Trouble is the failure that tells most of the group; nil is none.
func (s Sight) Trouble() *Result {
	for i := range s.Failed {
		if s.Failed[i].Outcome != Unreachable {
			return &s.Failed[i]
		}
	}
	if len(s.Failed) > 0 {
		return &s.Failed[0]
	}
	return nil
}

// same says whether two sights mean the same to whoever looks.
func (s Sight) same(o Sight) bool {
	return s.Known == o.Known && (s.Passed > 0) == (o.Passed > 0) && sameText(s.Trouble(), o.Trouble()) && s.tells(o)
}

// tells says whether two sights tell people, and the rotation, the same.
func (s Sight) tells(o Sight) bool { return sameText(s.Told, o.Told) && slices.Equal(s.Seen, o.Seen) }

func sameText(a, b *Result) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Text() == b.Text()
}

// asked is an Ask with the answers so far.
type asked struct {
	Ask
	key       string
	addresses []string // host:port of those that new traffic may go to, sorted
	answers   map[string]answer
	told      *Result
}

type answer struct {
	key    string // of the hop
	leaf   string // likewise
	at     time.Time
	result Result
}

// earlier is what is known of before a hop, when an answer to it comes after this one.
func (a answer) earlier(key string) Earlier {
	if a.key == key || a.key == "" {
		return a.result.Earlier
	}
	return Earlier{Leaf: a.leaf, Outcome: a.result.Outcome}
}

// ask is the question anew: answers count as long as their endpoint is there.
func (a *asked) ask(next Ask) *asked {
	out := &asked{Ask: next, key: next.Hop.key(), answers: map[string]answer{}}
	there := map[string]bool{}
	for _, e := range next.Endpoints {
		if e.Address == "" {
			continue
		}
		address := net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port)))
		if there[address] = true; e.Usable() {
			out.addresses = append(out.addresses, address)
		}
	}
	slices.Sort(out.addresses)
	out.addresses = slices.Compact(out.addresses)
	if len(next.Hop.Roots) == 0 {
		out.addresses = nil
	}
	if a != nil && len(out.addresses) > 0 {
		out.told = a.told
		maps.Copy(out.answers, a.answers)
		maps.DeleteFunc(out.answers, func(address string, _ answer) bool { return !there[address] })
	}
	return out
}

// last is when an address answered to the hop; zero is never.
func (a *asked) last(address string) time.Time {
	if known := a.answers[address]; known.key == a.key {
		return known.at
	}
	return time.Time{}
}

// turns are the addresses in the order in which they answered, those that never did
// first.
func (a *asked) turns() []string {
	return slices.SortedStableFunc(slices.Values(a.addresses), func(x, y string) int { return a.last(x).Compare(a.last(y)) })
}

// due are the addresses to be dialled: those that failed and may be well by now, and as
// many others as it takes for a sample of answers that count.
func (a *asked) due(p Pace, now time.Time) (out []string) {
	missing := min(p.Sample, len(a.addresses))
	var others []string
	for _, address := range a.turns() {
		known := a.answers[address]
		age := now.Sub(known.at)
		switch {
		case known.key != a.key, known.result.Outcome == OK && age >= p.Fresh:
			others = append(others, address)
		case known.result.Outcome != OK && age >= p.Again:
			out = append(out, address)
			missing--
		default:
			missing--
		}
	}
	return append(out, others[:max(min(missing, len(others)), 0)]...)
}

// sight is what the answers come to: the latest, as many as a sample is.
func (a *asked) sight(sample int) Sight {
	out := Sight{Hop: a.Hop, Known: len(a.Hop.Roots) > 0, Told: a.told}
	turns := a.turns()
	latest := turns[len(turns)-min(sample, len(turns)):]
	slices.Sort(latest)
	for _, address := range latest {
		known, ok := a.answers[address]
		switch {
		case !ok || known.key != a.key:
			out.Known = false
		case known.result.Outcome == OK:
			out.Passed++
		default:
			out.Failed = append(out.Failed, known.result)
		}
	}
	for _, known := range a.answers {
		out.Seen = append(out.Seen, known.result.Leads...)
	}
	slices.Sort(out.Seen)
	if out.Seen = slices.Compact(out.Seen); out.Known {
		out.Told = out.Trouble()
	}
	return out
}
