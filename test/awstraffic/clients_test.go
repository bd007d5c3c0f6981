package awstraffic

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// clients ask for a path all the time, some over connections that they keep, some with
// a new one for each request, at one of the addresses that are published.
type clients struct {
	w       *world
	scheme  string
	path    string
	answers []string // of pods, any of which is right
	tls     func() *tls.Config

	stop context.CancelFunc
	done sync.WaitGroup

	mu    sync.Mutex
	asked int
	lost  map[string]int // by what was heard instead
}

const (
	keeping = 3                    // clients with connections that stay
	fresh   = 2                    // with new ones
	after   = 25                   // requests of all between two changes
	breath  = 3 * time.Millisecond // between two requests of a client, in real time
)

// traffic begins when the first request is answered well, and ends with end.
func (w *world) traffic(c *clients) *clients {
	w.Helper()
	c.w, c.lost = w, map[string]int{}
	if c.scheme == "" {
		c.scheme = "http"
	}
	if c.tls == nil {
		c.tls = func() *tls.Config { return nil }
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := c.ask(w.Context(), c.client(true))
		if err == nil {
			break
		}
		if time.Since(began) > 10*time.Second {
			w.Fatalf("%s is never answered: %v", c.path, err)
		}
	}
	ctx, stop := context.WithCancel(w.Context())
	c.stop = stop
	for range keeping {
		c.done.Go(func() { c.loop(ctx, false) })
	}
	for range fresh {
		c.done.Go(func() { c.loop(ctx, true) })
	}
	return c
}

// client is one with a transport of its own.
func (c *clients) client(anew bool) *http.Client {
	return &http.Client{Timeout: 5 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DialContext: c.w.dial, TLSClientConfig: c.tls(), DisableKeepAlives: anew, MaxIdleConnsPerHost: 1}}
}

func (c *clients) loop(ctx context.Context, anew bool) {
	client := c.client(anew)
	defer func() { client.CloseIdleConnections() }()
	for ctx.Err() == nil {
		if anew {
			client.CloseIdleConnections()
			client = c.client(anew) // with the certificate of now
		}
		err := c.ask(context.WithoutCancel(ctx), client)
		c.mu.Lock()
		c.asked++
		if err != nil {
			c.lost[err.Error()]++
		}
		c.mu.Unlock()
		time.Sleep(breath)
	}
}

// ask is one request at one of the addresses; an error says what came of it.
func (c *clients) ask(ctx context.Context, client *http.Client) error {
	names := *c.w.published.Load()
	if len(names) == 0 {
		return fmt.Errorf("no address is published")
	}
	c.mu.Lock()
	name := names[c.asked%len(names)]
	c.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.scheme+"://"+name+c.path, nil)
	if err != nil {
		return err
	}
	req.Host = "shop.example.com"
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 200))
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	for _, a := range c.answers {
		if string(body) == a {
			return nil
		}
	}
	return fmt.Errorf("answered by %s, want %s", body, strings.Join(c.answers, " or "))
}

// more waits until the clients have asked so many more requests: what a change breaks
// must be seen.
func (c *clients) more(n int) {
	c.w.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.asked
	}
	from := count()
	for began := time.Now(); count() < from+n; time.Sleep(breath) {
		if time.Since(began) > 20*time.Second {
			c.w.Fatalf("only %d requests to %s in 20 s", count()-from, c.path)
		}
	}
}

// end stops the clients and says how many of their requests were lost.
func (c *clients) end(during string) {
	c.w.Helper()
	c.more(after)
	c.stop()
	c.done.Wait()
	c.w.Logf("%s: %s %s: %d requests, %d lost", during, c.scheme, c.path, c.asked, total(c.lost))
	for why, n := range c.lost {
		c.w.Errorf("%s: %d of %d requests to %s lost: %s", during, n, c.asked, c.path, why)
	}
}

func total(of map[string]int) (n int) {
	for _, one := range of {
		n += one
	}
	return n
}
