package gcp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/internal/gcpcalls"
	"gatehouse.dev/providers"
)

// TestGroupsAreGoogles compares the group of each request with the emulator's, which
// were written down apart, and so the numbers.
func TestGroupsAreGoogles(t *testing.T) {
	for group, n := range gcpapi.Rates() {
		if perMinute[group] != n {
			t.Errorf("group %s has %d a minute, want %d", group, perMinute[group], n)
		}
	}
	server := gcpapi.New(gcpapi.Config{})
	for _, request := range []string{
		"GET compute/v1/projects/test-project", "GET compute/v1/projects/test-project/regions", "GET compute/v1/projects/test-project/regions/us-central1",
		"GET compute/v1/projects/test-project/aggregated/urlMaps", "GET compute/v1/projects/test-project/global/urlMaps", "GET compute/v1/projects/test-project/global/urlMaps/m",
		"POST compute/v1/projects/test-project/global/urlMaps", "PATCH compute/v1/projects/test-project/global/urlMaps/m", "DELETE compute/v1/projects/test-project/global/urlMaps/m",
		"POST compute/v1/projects/test-project/regions/us-central1/urlMaps", "GET compute/v1/projects/test-project/regions/us-central1/urlMaps/m",
		"POST compute/v1/projects/test-project/regions/us-central1/forwardingRules/r/setTarget",
		"POST compute/v1/projects/test-project/zones/us-central1-a/networkEndpointGroups", "GET compute/v1/projects/test-project/zones/us-central1-a/networkEndpointGroups/g",
		"POST compute/v1/projects/test-project/zones/us-central1-a/networkEndpointGroups/g/attachNetworkEndpoints",
		"POST compute/v1/projects/test-project/zones/us-central1-a/networkEndpointGroups/g/listNetworkEndpoints",
		"POST compute/v1/projects/test-project/regions/us-central1/networkEndpointGroups/g/detachNetworkEndpoints",
		"POST compute/v1/projects/test-project/global/networkEndpointGroups/g/listNetworkEndpoints", "POST compute/v1/projects/test-project/global/networkEndpointGroups/g/attachNetworkEndpoints",
		"POST compute/v1/projects/test-project/global/operations/o/wait", "POST compute/v1/projects/test-project/regions/us-central1/operations/o/wait",
		"POST compute/v1/projects/test-project/zones/us-central1-a/operations/o/wait", "GET v1/projects/test-project/locations/-/trustConfigs",
		"PATCH v1/projects/test-project/locations/global/certificates/c", "GET v1/projects/test-project/locations/global/certificateMaps/m/certificateMapEntries",
		"GET v1/projects/test-project/locations/global/serverTlsPolicies", "POST v1/projects/test-project/locations/global/tlsRoutes",
	} {
		method, path, _ := cut(request)
		r := must2(http.NewRequestWithContext(t.Context(), method, "https://gcp.test/"+path, http.NoBody))(t)
		server.Forget()
		if answer, err := server.RoundTrip(r); err == nil {
			_ = answer.Body.Close()
		}
		want := server.Calls()[0].Group
		group, place := bucketOf(gcpcalls.Name(r))
		if place != "" {
			group += "/" + place
		}
		if group != want {
			t.Errorf("%s (%s) takes of %q, want %q", request, gcpcalls.Name(r), group, want)
		}
	}
}

func cut(request string) (method, path string, ok bool) {
	for i := range request {
		if request[i] == ' ' {
			return request[:i], request[i+1:], true
		}
	}
	return request, "", false
}

// TestPacedRequestsAreNeverRefused makes more than a minute's at once, by a clock that
// stands in the middle of a minute: what does not fit waits for the next one.
func TestPacedRequestsAreNeverRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(90 * time.Second)))
		p := NewPacer(providers.Clock{})
		began := time.Now()
		took := map[time.Duration]int{}
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 2*perMinute[groupCertificates] + 1 {
			all.Go(func() {
				if err := p.Wait(t.Context(), "certificatemanager:patch/trustConfigs"); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				took[time.Since(began).Round(time.Second)]++
			})
		}
		all.Wait()
		if took[0] != 300 || took[30*time.Second] != 300 || took[90*time.Second] != 1 {
			t.Errorf("requests went at %v, want 300 at once, 300 with the next minute, and one with the one after", took)
		}
	})
}

// TestLooksGiveWayToEdits: nobody waits for the background, so it leaves half.
func TestLooksGiveWayToEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(providers.Clock{})
		ctx, stop := context.WithTimeout(providers.InBackground(t.Context()), time.Second)
		defer stop()
		looked := 0
		for p.Wait(ctx, "compute:list/urlMaps/global") == nil {
			looked++
		}
		if looked != 750 {
			t.Errorf("%d looks, want 750 of 1500", looked)
		}
		if err := p.Wait(t.Context(), "compute:get/urlMaps/global"); err != nil {
			t.Error(err)
		}
		p.Throttled("compute:get/urlMaps/global")
		began := time.Now()
		if err := p.Wait(t.Context(), "compute:get/urlMaps/global"); err != nil || time.Since(began) == 0 {
			t.Errorf("after a refusal it waits for the next minute: %v after %s", err, time.Since(began))
		}
		late, stop := context.WithTimeout(t.Context(), 0)
		defer stop()
		p.Throttled("compute:get/urlMaps/global")
		if err := p.Wait(late, "compute:get/urlMaps/global"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who cannot wait: %v", err)
		}
	})
}
