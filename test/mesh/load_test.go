package mesh

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"
)

// load sends requests at a steady rate until it is stopped, and remembers how each
// one went.
type load struct {
	client *http.Client
	url    string
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	sent   int
	failed map[string]int // by what went wrong
}

// loadWorkers send at the same time.
const loadWorkers = 10

func startLoad(url string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadWorkers}},
		url:    url, cancel: cancel, failed: map[string]int{},
	}
	for range loadWorkers {
		l.done.Go(func() { l.work(ctx) })
	}
	return l
}

func (l *load) work(ctx context.Context) {
	tick := time.NewTicker(loadWorkers * time.Second / time.Duration(*rate))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			problem := get(l.client, l.url)
			l.mu.Lock()
			l.sent++
			if problem != "" {
				l.failed[problem]++
			}
			l.mu.Unlock()
		}
	}
}

// get is "" for an answer of the application, and else what came in its place.
func get(client *http.Client, url string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	res, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err.Error()
	case res.StatusCode != http.StatusOK:
		return fmt.Sprintf("%d %.80s", res.StatusCode, body)
	}
	return ""
}

// counts are what was sent so far, and what of it failed.
func (l *load) counts() (sent int, failed map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent, maps.Clone(l.failed)
}

// stop waits for the requests under way.
func (l *load) stop() (sent int, failed map[string]int) {
	l.cancel()
	l.done.Wait()
	l.client.CloseIdleConnections()
	return l.counts()
}
