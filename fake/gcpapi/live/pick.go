package live

import (
	"crypto/rand"
	"encoding/hex"
	"hash/fnv"
	"math"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync/atomic"

	"gatehouse.dev/fake/gcpapi/serve"
)

// golden is 2⁶⁴ divided by the golden ratio: a Weyl sequence by it keeps any run of
// choices within a few of the exact shares.
const golden = 0x9E3779B97F4A7C15

// spread chooses among shares by weight.
type spread struct{ turn atomic.Uint64 }

func (s *spread) choose(shares []serve.Share, way serve.Position) *serve.Share {
	sum := uint64(0)
	for _, one := range shares {
		sum += uint64(max(one.Weight, 0))
	}
	if sum == 0 {
		return nil
	}
	point := mathrand.Uint64N(1 << 32)
	if way == serve.Smooth {
		point = (s.turn.Add(1) * golden) >> 32
	}
	place := point * sum >> 32
	for i := range shares {
		if weight := uint64(max(shares[i].Weight, 0)); place < weight {
			return &shares[i]
		} else {
			place -= weight
		}
	}
	return nil
}

// pick is an endpoint for a request or connection; nil if nobody can take it. Endpoints
// that were tried before come only when there is no other.
func (s *service) pick(key string, tried []*member) *member {
	var fit, fresh []*member
	for _, m := range s.members {
		if m.takes && (s.check == nil || m.link.watch.usable()) {
			fit = append(fit, m)
			if !slices.Contains(tried, m) {
				fresh = append(fresh, m)
			}
		}
	}
	if len(fresh) > 0 {
		fit = fresh
	}
	switch {
	case len(fit) == 0:
		return nil
	case key != "":
		return rendezvous(fit, key)
	case s.spec.LocalityLBPolicy == "RANDOM":
		return fit[mathrand.IntN(len(fit))]
	case s.spec.LocalityLBPolicy == "LEAST_REQUEST":
		a, b := fit[mathrand.IntN(len(fit))], fit[mathrand.IntN(len(fit))]
		if b.link.load.Load() < a.link.load.Load() {
			return b
		}
		return a
	}
	return fit[int(s.turn.Add(1)%uint64(len(fit)))]
}

// rendezvous is the endpoint whose hash with a key is highest: few keys move when
// endpoints come and go.
func rendezvous(all []*member, key string) *member {
	var best *member
	most := uint64(0)
	for _, m := range all {
		h := fnv.New64a()
		_, _ = h.Write([]byte(key + "\x00" + m.shown)) // never fails
		sum := h.Sum64() * golden
		if best == nil || sum > most || sum == math.MaxUint64 {
			best, most = m, sum
		}
	}
	return best
}

// affinity is what a client's session goes by; "" is nothing. cookie is to be set on the
// answer, if there is one.
func (s *service) affinity(r *http.Request) (key string, cookie *http.Cookie) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	switch s.spec.SessionAffinity {
	case "CLIENT_IP", "CLIENT_IP_PROTO", "CLIENT_IP_PORT_PROTO":
		return host, nil
	case "HEADER_FIELD":
		if s.spec.ConsistentHash != nil {
			return r.Header.Get(s.spec.ConsistentHash.HTTPHeaderName), nil
		}
	case "GENERATED_COOKIE":
		return sticky(r, &http.Cookie{Name: "GCLB", Path: "/", HttpOnly: true, MaxAge: int(s.spec.AffinityCookieTTLSec)})
	case "HTTP_COOKIE":
		if s.spec.ConsistentHash != nil {
			return hashed(r, s.spec.ConsistentHash.HTTPCookie)
		}
	case "STRONG_COOKIE_AFFINITY":
		return hashed(r, s.spec.StrongAffinityCookie)
	}
	return "", nil
}

// hashed is a cookie of the user's own. One without a life is never made.
func hashed(r *http.Request, c *serve.HashCookie) (string, *http.Cookie) {
	if c == nil {
		return "", nil
	}
	if c.TTL == nil {
		if have, err := r.Cookie(c.Name); err == nil {
			return have.Value, nil
		}
		return "", nil
	}
	return sticky(r, &http.Cookie{Name: c.Name, Path: c.Path, HttpOnly: true, MaxAge: int(c.TTL.Time().Seconds())})
}

// sticky is the value of a cookie that the client has, or of a new one.
func sticky(r *http.Request, c *http.Cookie) (string, *http.Cookie) {
	if have, err := r.Cookie(c.Name); err == nil {
		return have.Value, nil
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	c.Value = hex.EncodeToString(random[:])
	return c.Value, c
}
