package cli

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/lbmodel"
)

// question is a request that somebody asks about.
type question struct {
	scheme string // http, https, tls, tcp, udp
	port   int32  // 0 is any that speaks the scheme
	lbmodel.Request
}

// trace is who answers a question and why, from listener to endpoints.
type trace struct {
	Gateway  lbmodel.Source `json:"gateway"`
	Asked    string         `json:"asked"`
	Port     int32          `json:"port"`
	Listener *stop          `json:"listener,omitempty"`
	Refused  string         `json:"refused,omitzero"` // why the path may not be matched by any rule
	Tried    []tried        `json:"tried,omitempty"`  // rules that were asked before and did not match
	Rule     *stop          `json:"rule,omitempty"`
	Status   int            `json:"status,omitzero"`   // of an answer that the gateway gives itself
	Location string         `json:"location,omitzero"` // of a redirect
	Edits    []string       `json:"edits,omitempty"`
	Backends []traceBackend `json:"backends,omitempty"`
	Note     string         `json:"note,omitzero"` // what is surprising about it
}

// stop is one station of a request.
type stop struct {
	What   string         `json:"what"`
	Name   string         `json:"name,omitzero"`
	Number int            `json:"number,omitzero"` // of the rule within its listener, from 1
	Source lbmodel.Source `json:"source,omitzero"`
}

type tried struct {
	stop
	Failed string `json:"failed"`
}

// traceBackend is one share of the traffic and where it ends.
type traceBackend struct {
	Share     string             `json:"share"`
	Status    int                `json:"status,omitzero"` // the share is answered by the gateway
	Location  string             `json:"location,omitzero"`
	Why       string             `json:"why,omitzero"` // the gateway has no pool for it
	Pool      string             `json:"pool,omitzero"`
	Source    lbmodel.Source     `json:"source,omitzero"` // of the pool, or of the broken reference
	Protocol  string             `json:"protocol,omitzero"`
	TLS       lbmodel.TLSLevel   `json:"tls,omitzero"`
	Hop       []string           `json:"hop,omitempty"` // how the gateway protects it
	Path      string             `json:"path,omitzero"` // as the backend sees it
	Edits     []string           `json:"edits,omitempty"`
	Unknown   bool               `json:"unknown,omitzero"` // endpoints are known after apply
	Endpoints []lbmodel.Endpoint `json:"endpoints,omitempty"`
}

// parseQuestion reads METHOD and URL, or a URL alone.
func parseQuestion(args, headers []string, sni string) (question, error) {
	method, text := http.MethodGet, args[len(args)-1]
	if len(args) == 2 {
		method = strings.ToUpper(args[0])
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "tls", "tcp", "udp"}, u.Scheme) {
		return question{}, usagef("%q is no URL that can be asked about: want http://host[:port]/path, or https, tls, tcp, udp", text)
	}
	q := question{scheme: u.Scheme, Request: lbmodel.Request{
		Scheme: u.Scheme, Method: method, Host: u.Host, Path: cmp.Or(u.EscapedPath(), "/"), Query: u.RawQuery, Headers: map[string][]string{},
	}}
	if q.port, err = portOf(u); err != nil {
		return question{}, err
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return question{}, usagef("header %q: want 'Name: value'", h)
		}
		q.addHeader(http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value))
	}
	if u.Scheme == "https" || u.Scheme == "tls" {
		q.SNI = cmp.Or(sni, u.Hostname())
	}
	return q, nil
}

func (q *question) addHeader(name, value string) {
	if name == "Host" {
		q.Host = value
		return
	}
	q.Headers[name] = append(q.Headers[name], value)
}

func portOf(u *url.URL) (int32, error) {
	if u.Port() == "" {
		return 0, nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return 0, usagef("port %q: want 1 to 65535", u.Port())
	}
	return int32(port), nil
}

// speaks says whether a listener takes clients that use the scheme.
func (q question) speaks(p lbmodel.Protocol) bool {
	return strings.EqualFold(q.scheme, string(p))
}

// String is the request as it was asked.
func (q question) String() string {
	if q.scheme != "http" && q.scheme != "https" {
		return fmt.Sprintf("%s connection to %s", strings.ToUpper(q.scheme), q.Host)
	}
	target := url.URL{Scheme: q.scheme, Host: q.Host, Opaque: "//" + q.Host + q.Path, RawQuery: q.Query}
	return q.Method + " " + target.String()
}

// choosePort is the port that a question without one means: the scheme's own, or
// the only one that speaks it.
func (q question) choosePort(gw lbmodel.Gateway) (int32, string) {
	if q.port != 0 {
		return q.port, ""
	}
	usual := map[string]int32{"http": 80, "https": 443, "tls": 443}[q.scheme]
	var ports []int32
	for _, l := range gw.Listeners {
		if q.speaks(l.Protocol) && !slices.Contains(ports, l.Port) {
			ports = append(ports, l.Port)
		}
	}
	switch {
	case len(ports) == 0:
		return 0, "" // noListener says so
	case slices.Contains(ports, usual):
		return usual, ""
	default:
		return ports[0], fmt.Sprintf("the URL names no port: port %d was asked", ports[0])
	}
}

// traceIn asks one gateway.
func (q question) traceIn(gw lbmodel.Gateway) trace {
	t := trace{Gateway: lbmodel.Source{Kind: gw.Owner.Kind, Namespace: gw.Owner.Namespace, Name: gw.Owner.Name}, Asked: q.String()}
	t.Port, t.Note = q.choosePort(gw)
	q.Port = t.Port
	switch q.scheme {
	case "http", "https":
		q.traceHTTP(gw, &t)
	case "tls":
		q.traceTLS(gw, &t)
	default:
		q.traceFlow(gw, &t)
	}
	return t
}

func listenerStop(l lbmodel.Listener) *stop {
	return &stop{Name: l.Name, Source: l.Source,
		What: words.Listener(l)}
}

func (q question) traceHTTP(gw lbmodel.Gateway, t *trace) {
	at := lbmodel.PickListener(gw.Listeners, q.Port, q.Host)
	if at < 0 || !q.speaks(gw.Listeners[at].Protocol) {
		q.noListener(gw, t, http.StatusNotFound)
		return
	}
	l := gw.Listeners[at]
	t.Listener = listenerStop(l)
	if q.SNI != "" && lbmodel.PickListener(gw.Listeners, q.Port, q.SNI) != at {
		t.Status, t.Refused = http.StatusMisdirectedRequest, "the TLS name "+q.SNI+" belongs to another listener than the host does"
		return
	}
	e := l.Explain(q.Request)
	for _, a := range e.Tried {
		t.Tried = append(t.Tried, tried{ruleStop(*a.Rule, a.Index), a.Failed})
	}
	switch {
	case e.Refused != "":
		t.Status, t.Refused = http.StatusBadRequest, e.Refused
	case e.Rule == nil:
		t.Status = http.StatusNotFound
	default:
		s := ruleStop(*e.Rule, e.Index)
		t.Rule = &s
		q.traceAction(gw, l, e.Answer, t)
	}
}

func ruleStop(r lbmodel.Rule, index int) stop {
	return stop{What: words.Match(r.Match) + " on " + words.Host(r.Hostname), Name: r.Name, Number: index + 1, Source: r.Source}
}

// noListener says what the port does with the request, and what else there is.
func (q question) noListener(gw lbmodel.Gateway, t *trace, status int) {
	var others, names []string
	for _, l := range gw.Listeners {
		others = append(others, fmt.Sprintf("%s (%s)", l.Name, words.Listener(l)))
		if l.Port == q.Port && q.speaks(l.Protocol) {
			names = append(names, words.Host(l.Hostname))
		}
	}
	switch {
	case len(names) > 0:
		t.Status, t.Note = status, fmt.Sprintf("port %d serves only %s", q.Port, strings.Join(names, ", "))
	case len(others) == 0:
		t.Note = "the gateway has no listener that works"
	case q.Port == 0:
		t.Note = fmt.Sprintf("no listener speaks %s; there is %s", strings.ToUpper(q.scheme), strings.Join(others, ", "))
	default:
		t.Note = fmt.Sprintf("nothing answers %s on port %d; there is %s", strings.ToUpper(q.scheme), q.Port, strings.Join(others, ", "))
	}
}

func (q question) traceAction(gw lbmodel.Gateway, l lbmodel.Listener, answer lbmodel.Answer, t *trace) {
	action := answer.Rule.Action
	t.Edits = words.Edits(action)
	switch {
	case action.Fixed != nil:
		t.Status = action.Fixed.Status
	case action.Redirect != nil:
		t.Status = action.Redirect.Status
		t.Location = action.Redirect.Location(&q.Request, l.Port, l.Protocol, answer.Prefix)
	default:
		q.traceForward(gw, action, answer.Prefix, t)
	}
}

func (q question) traceForward(gw lbmodel.Gateway, action lbmodel.Action, prefix string, t *trace) {
	f := action.Forward
	total := words.Total(f)
	if total == 0 {
		t.Status, t.Note = http.StatusInternalServerError, "no backend has a weight"
		return
	}
	for _, b := range f.Backends {
		out := traceBackend{Share: cmp.Or(words.Share(b, total), "100%"), Source: b.Source, Edits: words.BackendEdits(b)}
		switch {
		case b.Fixed != nil:
			out.Status = b.Fixed.Status
		case b.Redirect != nil:
			out.Status = b.Redirect.Status
			out.Location = b.Redirect.Location(&q.Request, q.Port, lbmodel.Protocol(strings.ToUpper(q.scheme)), prefix)
		default:
			out.pool(gw, b, lbmodel.BackendPath(action.Edits.Rewrite, b.Edits.Rewrite, q.Path, prefix))
		}
		t.Backends = append(t.Backends, out)
	}
	if only := t.Backends[0]; len(t.Backends) == 1 && only.Pool == "" {
		t.Status, t.Location = only.Status, only.Location
	}
}

func (out *traceBackend) pool(gw lbmodel.Gateway, b lbmodel.Backend, path string) {
	at := slices.IndexFunc(gw.Pools, func(p lbmodel.Pool) bool { return p.Name == b.Pool })
	if at < 0 {
		out.Pool = b.Pool
		return
	}
	p := gw.Pools[at]
	out.Pool, out.Source, out.Path = p.Name, p.Source, path
	out.Protocol, out.TLS, out.Hop = words.Protocol(p.Protocol), p.TLS.Level(), words.Hop(p.TLS)
	out.Unknown, out.Endpoints = p.Endpoints == nil, p.Endpoints
}

func (q question) traceTLS(gw lbmodel.Gateway, t *trace) {
	at := lbmodel.PickListener(gw.Listeners, q.Port, q.SNI)
	if at < 0 || !q.speaks(gw.Listeners[at].Protocol) {
		q.noListener(gw, t, 0)
		return
	}
	l := gw.Listeners[at]
	t.Listener = listenerStop(l)
	for i, s := range l.SNI {
		here := stop{What: "SNI " + words.Host(s.Hostname), Number: i + 1, Source: s.Source}
		if lbmodel.HostMatches(s.Hostname, lbmodel.CanonicalHost(q.SNI)) {
			t.Rule = &here
			q.traceForward(gw, lbmodel.Action{Forward: &s.Forward}, "", t)
			return
		}
		t.Tried = append(t.Tried, tried{here, fmt.Sprintf("the name %s does not match %s", q.SNI, s.Hostname)})
	}
	t.Note = "no route takes the name: the connection is closed"
}

func (q question) traceFlow(gw lbmodel.Gateway, t *trace) {
	for _, l := range gw.Listeners {
		if l.Port != q.Port || !q.speaks(l.Protocol) {
			continue
		}
		t.Listener = listenerStop(l)
		if l.Forward == nil {
			t.Note = "no route is attached: the connection is closed"
			return
		}
		t.Rule = &stop{What: "every connection", Number: 1, Source: l.Route}
		q.traceForward(gw, lbmodel.Action{Forward: l.Forward}, "", t)
		return
	}
	q.noListener(gw, t, 0)
}

// because says of shares that the gateway answers itself what is wrong with them.
func (t *trace) because(findings []lbmodel.Finding) {
	for i := range t.Backends {
		b := &t.Backends[i]
		for _, f := range findings {
			if b.Pool == "" && b.Status >= http.StatusInternalServerError && f.About == b.Source && severityOf(f) == mistake {
				b.Why = f.Reason + ": " + f.Detail
				break
			}
		}
	}
}

// hostPort is where a person would point curl.
func hostPort(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
