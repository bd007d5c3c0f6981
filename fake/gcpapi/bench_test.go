package gcpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/api/option"

	"gatehouse.dev/fake/gcpapi"
)

// BenchmarkCalls is what a call costs here, client and JSON included, in a project that
// holds many load balancers: nobody's figures should be the emulator's.
func BenchmarkCalls(b *testing.B) {
	for _, held := range []int{10, 1000} {
		s := gcpapi.New(gcpapi.Config{})
		api, err := discovery.NewService(b.Context(), option.WithHTTPClient(&http.Client{Transport: s}))
		if err != nil {
			b.Fatal(err)
		}
		for i := range held {
			if _, err := api.BackendServices.Insert(project, &discovery.BackendService{Name: fmt.Sprint("b", i), LoadBalancingScheme: "EXTERNAL_MANAGED"}).Do(); err != nil {
				b.Fatal(err)
			}
			if _, err := api.UrlMaps.Insert(project, &discovery.UrlMap{Name: fmt.Sprint("u", i), DefaultService: fmt.Sprint("global/backendServices/b", i)}).Do(); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("get/%d", held), func(b *testing.B) {
			for b.Loop() {
				if _, err := api.UrlMaps.Get(project, "u1").Do(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("insert and delete/%d", held), func(b *testing.B) {
			for b.Loop() {
				if _, err := api.UrlMaps.Insert(project, &discovery.UrlMap{Name: "x", DefaultService: "global/backendServices/b1"}).Do(); err != nil {
					b.Fatal(err)
				}
				if _, err := api.UrlMaps.Delete(project, "x").Do(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("aggregated list/%d", held), func(b *testing.B) {
			for b.Loop() {
				if _, err := api.BackendServices.AggregatedList(project).Do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEndpoints is attaching 500 endpoints to a group of up to 10,000.
func BenchmarkEndpoints(b *testing.B) {
	s := gcpapi.New(gcpapi.Config{})
	api, err := discovery.NewService(b.Context(), option.WithHTTPClient(&http.Client{Transport: s}))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := api.NetworkEndpointGroups.Insert(project, zone, &discovery.NetworkEndpointGroup{Name: "web", NetworkEndpointType: "NON_GCP_PRIVATE_IP_PORT"}).Do(); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := api.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, "web", endpoints(500, i%20*500)).Do(); err != nil {
			b.Fatal(err)
		}
	}
}
