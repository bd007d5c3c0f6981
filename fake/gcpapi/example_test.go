package gcpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/api/option"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/clock"
)

// A health check takes five seconds to be made, of a time that the test moves.
func Example() {
	moved := clock.NewManual(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))
	gcp := gcpapi.New(gcpapi.Config{Clock: moved, Times: gcpapi.Lifelike(), Rates: gcpapi.Rates()})
	api, err := discovery.NewService(context.Background(), option.WithHTTPClient(&http.Client{Transport: gcp}))
	if err != nil {
		fmt.Println(err)
		return
	}
	made, err := api.HealthChecks.Insert("test-project", &discovery.HealthCheck{Name: "web", Type: "TCP", TcpHealthCheck: &discovery.TCPHealthCheck{Port: 80}}).Do()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(made.Status)

	moved.Advance(5 * time.Second)
	seen, err := api.GlobalOperations.Get("test-project", made.Name).Do()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(seen.Status)
	fmt.Println(gcp.Count(gcpapi.Writes), gcp.Used())

	_, err = api.HealthChecks.Delete("test-project", "web").Do()
	fmt.Println(err, gcp.Dump() == gcpapi.Empty())
	// Output:
	// RUNNING
	// DONE
	// map[compute.healthChecks.insert:1] map[global_reads:1 global_writes:1]
	// <nil> true
}
