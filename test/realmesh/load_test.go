//go:build e2e

package realmesh

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// load sends requests at a steady rate until it is stopped.
type load struct {
	client *http.Client
	url    string
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu           sync.Mutex
	sent, failed int
	first        error // of those that failed
}

// loadWorkers send at the same time.
const loadWorkers = 10

func startLoad(tb testing.TB, url string) *load {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadWorkers}}, url: url, cancel: cancel}
	for range loadWorkers {
		l.done.Go(func() { l.work(ctx) })
	}
	tb.Cleanup(l.stop)
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
			err := get(context.WithoutCancel(ctx), l.client, l.url)
			l.mu.Lock()
			if l.sent++; err != nil {
				if l.failed++; l.first == nil {
					l.first = err
				}
			}
			l.mu.Unlock()
		}
	}
}

// counts are what was sent so far, and what of it failed.
func (l *load) counts() (sent, failed int, first error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent, l.failed, l.first
}

// stop waits for the requests under way.
func (l *load) stop() {
	l.cancel()
	l.done.Wait()
	l.client.CloseIdleConnections()
}

// get is nil for an answer of the application.
func get(ctx context.Context, client *http.Client, url string) error {
	_, err := read(ctx, client, url)
	return err
}

func read(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", answer.StatusCode, body)
	}
	return body, err
}

// saw is what a workload tells: see its command.
type saw struct {
	Clients, Authorities, Refused, Own map[string]int
}

func ask(ctx context.Context, stats string) (s saw, err error) {
	body, err := read(ctx, http.DefaultClient, "http://"+stats+"/")
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	return s, err
}

// abandoned are handshakes that the gateway had no use for any more.
func abandoned(why string) bool {
	return why == "EOF" || len(why) > 24 && why[len(why)-24:] == "connection reset by peer"
}

// refused are the handshakes that workloads refused, and why.
func refused(tb testing.TB, stats []string) (n int, why []string) {
	tb.Helper()
	for _, at := range stats {
		s, err := ask(tb.Context(), at)
		if err != nil {
			tb.Fatal(err)
		}
		for reason, count := range s.Refused {
			if !abandoned(reason) {
				n += count
				why = append(why, reason)
			}
		}
	}
	return n, why
}

// clientOnce keeps no connection.
func clientOnce() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}
