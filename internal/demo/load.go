package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// load sends requests at a steady pace until it is stopped, and remembers how
// each one went.
type load struct {
	client  *http.Client
	every   time.Duration // of one worker
	workers int

	mu        sync.Mutex
	latencies []time.Duration
	failures  map[string]int
}

// loadReport is what a load saw. Latencies are in milliseconds.
type loadReport struct {
	Requests int            `json:"requests"`
	Failed   int            `json:"failed"`
	P50      float64        `json:"p50ms"`
	P99      float64        `json:"p99ms"`
	Failures map[string]int `json:"failures,omitempty"` // by what went wrong
}

// run sends requests to url until ctx is done. Requests in flight
// then are finished and count.
func (l *load) run(ctx context.Context, url string) {
	var wg sync.WaitGroup
	for range l.workers {
		wg.Go(func() {
			tick := time.NewTicker(l.every)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					l.one(context.WithoutCancel(ctx), url)
				}
			}
		})
	}
	wg.Wait()
}

func (l *load) one(ctx context.Context, url string) {
	start := time.Now()
	problem := get(ctx, l.client, url)
	took := time.Since(start)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latencies = append(l.latencies, took)
	if problem != "" {
		l.failures[problem]++
	}
}

func get(ctx context.Context, client *http.Client, url string) (problem string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	res, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err.Error()
	case res.StatusCode != http.StatusOK:
		return fmt.Sprintf("%d %s", res.StatusCode, body)
	default:
		return ""
	}
}

func (l *load) report() loadReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := loadReport{Requests: len(l.latencies), Failures: l.failures}
	for _, n := range l.failures {
		r.Failed += n
	}
	slices.Sort(l.latencies)
	r.P50, r.P99 = percentile(l.latencies, 50), percentile(l.latencies, 99)
	return r
}

func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(len(sorted)*p/100, len(sorted)-1)].Microseconds()) / 1000
}

func newLoad(client *http.Client) *load {
	return &load{client: client, workers: 16, every: 20 * time.Millisecond, failures: map[string]int{}}
}
