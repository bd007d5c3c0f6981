//go:build e2e

package soak

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// answer is what came of a request.
type answer struct {
	status int    // or refused, or cut
	mark   string // the last edit, where the route tells
	app    string // who answered, where somebody did
	leaf   string // the first name of the certificate, with TLS
}

// What there is in place of a status where there is no answer.
const (
	refused = -1 // nobody listens
	cut     = -2 // somebody does, and hangs up
)

func (a answer) String() string {
	switch a.status {
	case refused:
		return "connection refused"
	case cut:
		return "connection cut"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s %s %s", a.status, a.mark, a.app, a.leaf))
}

// state is what a target's answers are to be, since an edit.
type state struct {
	edit   string // that asked for it
	status int
	mark   string
	apps   []string // any of them; none is whoever
	leaf   string
	// meanwhile are answers that are right too until traffic has followed the edit, and
	// why each is.
	meanwhile map[int]string
}

func (s state) fits(a answer) bool {
	if s.status != a.status {
		return false
	}
	return s.status != http.StatusOK || s.mark == a.mark && s.leaf == a.leaf && (len(s.apps) == 0 || slices.Contains(s.apps, a.app))
}

func (s state) String() string {
	return fmt.Sprintf("%s (%s)", answer{s.status, s.mark, strings.Join(s.apps, "|"), s.leaf}, s.edit)
}

// target is something that is asked all the time, by one client, one request after
// the other. Before an edit its answers are to be as they were; once an answer has
// shown the edit, no later one may be as before.
type target struct {
	name string
	host string
	url  string
	kept bool // the connection is
	j    *journal

	mu      sync.Mutex
	is      state
	coming  *state
	arrived chan struct{} // closed when coming is there
}

// expect says that an edit is about to be made. It returns what is closed when
// traffic has followed it.
func (t *target) expect(next state) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.coming, t.arrived = &next, make(chan struct{})
	return t.arrived
}

// judge compares an answer with what is to be.
func (t *target) judge(a answer, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil && t.coming != nil && t.coming.fits(a):
		t.is, t.coming = *t.coming, nil
		close(t.arrived)
	case err == nil && t.is.fits(a):
	case err == nil && t.coming != nil && t.coming.meanwhile[a.status] != "":
		t.j.answered(fmt.Sprintf("%s: %s", a, t.coming.meanwhile[a.status]))
		return
	default:
		got, wants := a.String(), t.is.String()
		if err != nil {
			got = err.Error()
		}
		if t.coming != nil {
			wants += " or " + t.coming.String()
		}
		t.j.failed(t.name, got, wants)
		return
	}
	t.j.answered(counted(t.is))
}

func counted(s state) string {
	if s.status == http.StatusOK {
		return "200"
	}
	return fmt.Sprintf("%s: %s", answer{status: s.status}, s.edit)
}

// pace is how long a target is left alone between two requests.
const pace = 25 * time.Millisecond

// load asks until ctx ends.
func (t *target) load(ctx context.Context) {
	client := t.client()
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		t.judge(t.ask(client))
		time.Sleep(pace)
	}
}

func (t *target) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: !t.kept,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, ServerName: t.host}, // which certificate it is, is what is looked at
	}}
}

// check says why an answer is not as it is to be.
func (t *target) check(client *http.Client) error {
	a, err := t.ask(client)
	if err == nil && !t.is.fits(a) {
		err = fmt.Errorf("%s got %s, want %s", t.name, a, t.is)
	}
	return err
}

// patience is how long a client waits for an answer.
const patience = 10 * time.Second

func (t *target) ask(client *http.Client) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return answer{}, err
	}
	req.Host = t.host
	resp, err := client.Do(req)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return answer{status: refused}, nil
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), err != nil && strings.HasSuffix(err.Error(), "server closed idle connection"):
		return answer{status: cut}, nil
	case err != nil:
		return answer{}, fmt.Errorf("%w%s", err, timeoutOf(err))
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, mark: resp.Header.Get("X-Edit")}
	if resp.TLS != nil {
		a.leaf = resp.TLS.PeerCertificates[0].DNSNames[0]
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || a.status != http.StatusOK {
		return a, err
	}
	var who struct{ Pod string }
	if err := json.Unmarshal(text, &who); err != nil {
		return a, fmt.Errorf("%q: %w", text, err)
	}
	a.app, _, _ = strings.Cut(who.Pod, "-") // the Deployment's name
	return a, nil
}

func timeoutOf(err error) string {
	if e, is := errors.AsType[net.Error](err); is && e.Timeout() {
		return " (after " + patience.String() + ")"
	}
	return ""
}
