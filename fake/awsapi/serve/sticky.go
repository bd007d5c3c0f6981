package serve

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The load balancer's cookies.
const (
	cookieGroup  = "AWSALBTG"
	cookieTarget = "AWSALB"
	cookieApp    = "AWSALBAPP-0"
)

// cookieLife is what a cookie's Expires says, whatever its duration.
const cookieLife = 7 * 24 * time.Hour

// mark is what a stickiness cookie holds: a group, a target, and since when.
type mark struct {
	group, target string
	since         time.Time
}

func (m mark) encode() string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Join([]string{m.group, m.target, strconv.FormatInt(m.since.UnixNano(), 36)}, "\x00")))
}

// decodeMark takes what encode made; anything else is no mark.
func decodeMark(s string) (mark, bool) {
	text, err := base64.StdEncoding.DecodeString(s)
	parts := strings.Split(string(text), "\x00")
	if err != nil || len(parts) != 3 {
		return mark{}, false
	}
	at, err := strconv.ParseInt(parts[2], 36, 64)
	return mark{parts[0], parts[1], time.Unix(0, at)}, err == nil
}

// marked is the request's cookie of that name, if it is young enough. A time of 0
// is no limit.
func (x *exchange) marked(name string, lasts time.Duration) (mark, bool) {
	now := x.socket.plane.options.Clock.Now()
	for _, c := range x.in.CookiesNamed(name) {
		if m, ok := decodeMark(c.Value); ok && (lasts == 0 || now.Sub(m.since) <= lasts) {
			return m, true
		}
	}
	return mark{}, false
}

// remember adds a cookie and its twin for cross-site requests to the answer. old
// is the mark that the client had, if it was heeded.
func (x *exchange) remember(name string, m, old mark) {
	now := x.socket.plane.options.Clock.Now()
	m.since = now
	if old.group == m.group && old.target == m.target && old.group != "" && x.front.u.StickyRenewal == Once {
		m.since = old.since
	}
	cookie := &http.Cookie{Name: name, Value: m.encode(), Path: "/", Expires: now.Add(cookieLife)}
	if name == cookieApp {
		cookie.Expires = time.Time{}
		x.marks = append(x.marks, cookie)
		return
	}
	twin := *cookie
	twin.Name, twin.SameSite, twin.Secure = name+"CORS", http.SameSiteNoneMode, true
	x.marks = append(x.marks, cookie, &twin)
}

// chooseGroup is the index of a forward's group: the client's own, whatever the
// weights, or one by weight; -1 when every weight is 0.
func (x *exchange) chooseGroup(f *forward) int {
	if f.Stickiness <= 0 {
		return f.shares.next()
	}
	old, ok := x.marked(cookieGroup, f.Stickiness)
	for i, g := range f.Groups {
		if ok && g.Group == old.group {
			x.remember(cookieGroup, mark{group: g.Group}, old)
			return i
		}
	}
	i := f.shares.next()
	if i >= 0 {
		x.remember(cookieGroup, mark{group: f.Groups[i].Group}, mark{})
	}
	return i
}

// chooseMember is the client's own target while it is eligible, or another one.
// Application cookies don't work with weighted groups.
func (x *exchange) chooseMember(f *forward) *member {
	a := &x.group.attributes
	name := cookieTarget
	switch {
	case a.sticky == "app_cookie" && len(f.groups) == 1:
		name = cookieApp
	case a.sticky != "lb_cookie":
		return x.group.pick(nil, x.socket.plane.options.Rand)
	}
	old, ok := x.marked(name, a.stickyTime)
	if ok && old.group == x.group.Name {
		if m := x.group.find(old.target); m != nil {
			x.keep(name, m, old)
			return m
		}
	}
	m := x.group.pick(nil, x.socket.plane.options.Rand)
	if m != nil {
		x.keep(name, m, mark{})
	}
	return m
}

// keep marks the answer at once; an application's cookie waits for the
// application to set its own.
func (x *exchange) keep(name string, m *member, old mark) {
	if name == cookieTarget {
		x.remember(name, mark{group: x.group.Name, target: m.ID}, old)
	}
}

// markApp follows the application's cookie.
func (x *exchange) markApp(res *http.Response) {
	a := &x.group.attributes
	if a.sticky != "app_cookie" || a.appCookie == "" {
		return
	}
	for _, c := range res.Cookies() {
		if c.Name == a.appCookie {
			x.remember(cookieApp, mark{group: x.group.Name, target: x.member.ID}, mark{})
			return
		}
	}
}
