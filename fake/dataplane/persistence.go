package dataplane

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// persistence keeps clients on an endpoint by a cookie or header that names it
// with a token. A session wins over weights, so that a client does not change
// between versions of a backend.
type persistence struct {
	model    *lbmodel.Persistence
	name     string
	backends []*backend
}

// session is what a request said about itself.
type session struct {
	by      *persistence // nil without persistence
	backend *backend     // nil for a new session
	link    *link
	began   time.Time
	now     time.Time
}

// compilePersistence takes the rule's persistence, or else that of the first
// pool that has one (XBackend).
func compilePersistence(model *lbmodel.Persistence, f *forward) *persistence {
	for _, b := range f.backends {
		if model == nil && b.pool != nil {
			model = b.pool.persistence
		}
	}
	if model == nil || model.Kind == lbmodel.PersistSource {
		return nil
	}
	p := &persistence{model: model, name: model.Name, backends: f.backends}
	if p.name == "" {
		p.name = map[lbmodel.PersistenceKind]string{lbmodel.PersistCookie: "gatehouse-session",
			lbmodel.PersistHeader: "Gatehouse-Session"}[model.Kind]
	}
	return p
}

// find resolves the token that the client brought. One that is unknown, too old
// or of an endpoint that takes no new traffic begins a new session.
func (p *persistence) find(r *http.Request, now time.Time) session {
	s := session{by: p, began: now, now: now}
	if p == nil {
		return s
	}
	token, began, seen, ok := parseToken(p.carried(r))
	if !ok || p.expired(began, seen, now) {
		return s
	}
	for _, b := range p.backends {
		if l := b.linkOf(token); l != nil {
			s.backend, s.link, s.began = b, l, began
			return s
		}
	}
	return s
}

func (p *persistence) carried(r *http.Request) string {
	if p.model.Kind == lbmodel.PersistHeader {
		return r.Header.Get(p.name)
	}
	if c, err := r.Cookie(p.name); err == nil {
		return c.Value
	}
	return ""
}

func (p *persistence) expired(began, seen, now time.Time) bool {
	life, idle := time.Duration(p.model.AbsoluteTimeout), time.Duration(p.model.IdleTimeout)
	return life > 0 && now.Sub(began) > life || idle > 0 && now.Sub(seen) > idle
}

func (b *backend) linkOf(token string) *link {
	if b.pool == nil {
		return nil
	}
	for _, l := range b.pool.links {
		if l.token == token && l.available() {
			return l
		}
	}
	return nil
}

// mark names the endpoint that answered. A session that needs no renewal is left
// alone.
func (s *session) mark(h http.Header, l *link) {
	if s.by == nil || l == nil {
		return
	}
	if s.link == l && s.by.model.IdleTimeout == 0 {
		return
	}
	token := l.token + "." + strconv.FormatInt(s.began.Unix(), 36) + "." + strconv.FormatInt(s.now.Unix(), 36)
	if s.by.model.Kind == lbmodel.PersistHeader {
		h.Set(s.by.name, token)
		return
	}
	cookie := http.Cookie{Name: s.by.name, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if s.by.model.Permanent {
		cookie.MaxAge = int(time.Duration(s.by.model.AbsoluteTimeout).Seconds())
	}
	h.Add("Set-Cookie", cookie.String())
}

// parseToken takes apart what mark made. The times are the client's to forge: a
// client may keep or drop its own session in any case.
func parseToken(text string) (token string, began, seen time.Time, ok bool) {
	token, times, _ := strings.Cut(text, ".")
	first, last, _ := strings.Cut(times, ".")
	a, errA := strconv.ParseInt(first, 36, 64)
	b, errB := strconv.ParseInt(last, 36, 64)
	return token, time.Unix(a, 0), time.Unix(b, 0), token != "" && errA == nil && errB == nil
}

// clientOf is the address of the client's connection.
func clientOf(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}
