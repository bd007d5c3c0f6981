package gcptraffic

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
)

// client asks a gateway.
type client struct {
	*world
	base string // scheme, address and port
	http *http.Client
}

// client is one of a gateway's port; with a TLS configuration it speaks HTTPS.
func (w *world) client(owner lbmodel.Owner, port int, config *tls.Config) *client {
	w.Helper()
	scheme := "http://"
	if config != nil {
		scheme = "https://"
	}
	transport := &http.Transport{DialContext: w.dial, TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8}
	w.Cleanup(transport.CloseIdleConnections)
	return &client{w, scheme + net.JoinHostPort(w.address(owner), fmt.Sprint(port)),
		&http.Client{Transport: transport, Timeout: 5 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// answer is what came back: its status, its Location if there is one, and its body.
type answer struct {
	text   string
	header http.Header
}

// ask is one request for a path; headers are lines.
func (c *client) ask(ctx context.Context, method, path string, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return answer{}, err
	}
	r.Host = host
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{strings.TrimSpace(fmt.Sprintf("%d %s %s", response.StatusCode, response.Header.Get("Location"), body)), response.Header}, err
}

// answers waits until a path is answered as wanted: endpoints must be found healthy
// first. want begins what is answered.
func (c *client) answers(path, want string, headers ...string) answer {
	c.Helper()
	var got answer
	var err error
	c.until(func() string { return fmt.Sprintf("%s is answered %q: it is %q, %v", path, want, got.text, err) }, func() bool {
		got, err = c.ask(c.Context(), http.MethodGet, path, headers...)
		return err == nil && strings.HasPrefix(strings.Join(strings.Fields(got.text), " "), want)
	})
	return got
}

// load asks for a path all the time, some over connections that they keep and some with
// new ones, and counts what is not answered 200.
type load struct {
	c    *client
	stop context.CancelFunc
	done sync.WaitGroup

	mu    sync.Mutex
	asked int
	lost  map[string]int // by what was heard instead
}

const (
	askers = 4
	after  = 60 // requests between two changes
)

// under starts the load.
func (c *client) under(path string) *load {
	ctx, stop := context.WithCancel(c.Context())
	l := &load{c: c, stop: stop, lost: map[string]int{}}
	for i := range askers {
		headers := []string{"X-Asker: " + fmt.Sprint(i)}
		if i%2 == 0 {
			headers = append(headers, "Connection: close")
		}
		l.done.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(4 * time.Millisecond) {
				got, err := c.ask(context.WithoutCancel(ctx), http.MethodGet, path, headers...)
				l.count(got, err)
			}
		})
	}
	return l
}

func (l *load) count(got answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	switch {
	case err != nil:
		l.lost[err.Error()]++
	case !strings.HasPrefix(got.text, "200 "):
		l.lost[got.text]++
	}
}

func (l *load) soFar() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// more waits until so many more requests were made: what a change breaks must be seen.
func (l *load) more() {
	l.c.Helper()
	from := l.soFar()
	l.c.until(func() string { return "requests are made" }, func() bool { return l.soFar() >= from+after })
}

// end stops it, and no request may have been lost.
func (l *load) end() {
	l.c.Helper()
	l.more()
	l.stop()
	l.done.Wait()
	l.c.Logf("%d requests", l.asked)
	for why, n := range l.lost {
		l.c.Errorf("%d of %d requests lost: %s; the load balancers logged %v", n, l.asked, why, l.c.details())
	}
}
