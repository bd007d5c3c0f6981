package gcpapi_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/protobuf/proto"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/clock"
	"gatehouse.dev/fake/gcpapi/schema"
)

const (
	project = "test-project"
	region  = "us-central1"
	zone    = "us-central1-a"
)

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// world is a project with both of Google's clients, in the same process.
type world struct {
	*testing.T
	*gcpapi.Server
	clock *clock.Manual
	api   *discovery.Service
}

func newWorld(t *testing.T, config gcpapi.Config) *world {
	t.Helper()
	w := &world{T: t, clock: clock.NewManual(start)}
	if config.Clock == nil {
		config.Clock = w.clock
	}
	w.Server = gcpapi.New(config)
	var err error
	if w.api, err = discovery.NewService(t.Context(), w.options()...); err != nil {
		t.Fatal(err)
	}
	return w
}

// options are those of clients that need no socket.
func (w *world) options() []option.ClientOption {
	return []option.ClientOption{option.WithHTTPClient(&http.Client{Transport: conforming{w}})}
}

// conforming sees that every answer is what Google's definitions say.
type conforming struct{ *world }

// RoundTrip implements http.RoundTripper.
func (c conforming) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.Server.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	target, ok := schema.Compute().Find(r.Method, strings.TrimPrefix(r.URL.Path, schema.Compute().Base))
	if !ok || target.Method.Response == "" {
		return response, nil
	}
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		c.Error(err)
	}
	if err := schema.Compute().Conforms(target.Method.Response, body); err != nil {
		c.Errorf("%s answers what Google's definitions don't have: %v", target.Method.ID, err)
	}
	return response, nil
}

// client makes one of the compute/apiv1 clients.
func client[C interface{ Close() error }](w *world, make func(context.Context, ...option.ClientOption) (C, error)) C {
	w.Helper()
	c, err := make(w.Context(), w.options()...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	return c
}

// do is a call by which the world must not fail.
func do[T any](w *world, call func(...googleapi.CallOption) (T, error)) T {
	w.Helper()
	out, err := call()
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// done is a change by the discovery client that must end well.
func (w *world) done(call func(...googleapi.CallOption) (*discovery.Operation, error)) *discovery.Operation {
	w.Helper()
	op := do(w, call)
	if op.Status != "DONE" || op.Error != nil {
		w.Fatalf("operation: %s %+v", op.Status, op.Error)
	}
	return op
}

// refused is the reason and message of a call that must be refused.
func refused[T any](w *world, call func(...googleapi.CallOption) (T, error)) (reason, message string) {
	w.Helper()
	_, err := call()
	return reasonOf(err)
}

func reasonOf(err error) (reason, message string) {
	var refused *googleapi.Error
	if !errors.As(err, &refused) {
		if err != nil {
			return "?", err.Error()
		}
		return "", ""
	}
	if len(refused.Errors) == 0 {
		return "?", refused.Message
	}
	return refused.Errors[0].Reason, refused.Message
}

func global(collection, name string) string {
	return "https://www.googleapis.com/compute/v1/projects/" + project + "/global/" + collection + "/" + name
}

// healthCheck makes a health check over TCP.
func (w *world) healthCheck(name string) string {
	w.Helper()
	w.done(w.api.HealthChecks.Insert(project, &discovery.HealthCheck{Name: name, Type: "TCP", TcpHealthCheck: &discovery.TCPHealthCheck{Port: 8080}}).Do)
	return global("healthChecks", name)
}

// group makes a zonal group for hybrid endpoints.
func (w *world) group(name string) string {
	w.Helper()
	w.done(w.api.NetworkEndpointGroups.Insert(project, zone, &discovery.NetworkEndpointGroup{Name: name, NetworkEndpointType: "NON_GCP_PRIVATE_IP_PORT"}).Do)
	return "projects/" + project + "/zones/" + zone + "/networkEndpointGroups/" + name
}

// backend makes a global backend service with a group and a health check of its name.
func (w *world) backend(name string) string {
	w.Helper()
	w.done(w.api.BackendServices.Insert(project, w.backendOf(name)).Do)
	return global("backendServices", name)
}

func (w *world) backendOf(name string) *discovery.BackendService {
	w.Helper()
	return &discovery.BackendService{
		Name: name, LoadBalancingScheme: "EXTERNAL_MANAGED", Protocol: "HTTPS", HealthChecks: []string{w.healthCheck(name)},
		Backends: []*discovery.Backend{{Group: w.group(name), BalancingMode: "RATE", MaxRatePerEndpoint: 100}},
	}
}

// urlMap makes a URL map for one backend service.
func (w *world) urlMap(name, backend string) string {
	w.Helper()
	w.done(w.api.UrlMaps.Insert(project, &discovery.UrlMap{Name: name, DefaultService: backend}).Do)
	return global("urlMaps", name)
}

// A whole global load balancer is made, read and deleted by both clients.
func TestBothClients(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	urlMap := w.urlMap("shop", w.backend("web"))
	proxies := client(w, compute.NewTargetHttpProxiesRESTClient)
	op, err := proxies.Insert(t.Context(), &computepb.InsertTargetHttpProxyRequest{Project: project,
		TargetHttpProxyResource: &computepb.TargetHttpProxy{Name: proto.String("shop"), UrlMap: proto.String(urlMap)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	rules := client(w, compute.NewGlobalForwardingRulesRESTClient)
	op, err = rules.Insert(t.Context(), &computepb.InsertGlobalForwardingRuleRequest{Project: project, ForwardingRuleResource: &computepb.ForwardingRule{
		Name: proto.String("shop"), Target: proto.String(global("targetHttpProxies", "shop")), PortRange: proto.String("80"),
		LoadBalancingScheme: proto.String("EXTERNAL_MANAGED")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	rule, err := rules.Get(t.Context(), &computepb.GetGlobalForwardingRuleRequest{Project: project, ForwardingRule: "shop"})
	if err != nil || rule.GetIPAddress() == "" || rule.GetPortRange() != "80-80" || rule.GetId() == 0 {
		t.Errorf("rule %v: %v", rule, err)
	}
	for _, call := range []func(...googleapi.CallOption) (*discovery.Operation, error){
		w.api.GlobalForwardingRules.Delete(project, "shop").Do, w.api.TargetHttpProxies.Delete(project, "shop").Do, w.api.UrlMaps.Delete(project, "shop").Do,
		w.api.BackendServices.Delete(project, "web").Do, w.api.HealthChecks.Delete(project, "web").Do, w.api.NetworkEndpointGroups.Delete(project, zone, "web").Do,
	} {
		w.done(call)
	}
	if w.Dump() != gcpapi.Empty() {
		t.Errorf("something is left: %s", w.Dump())
	}
	for _, c := range w.Calls() {
		if c.Status != http.StatusOK || !strings.Contains(c.Target, project) {
			t.Errorf("call %+v", c)
		}
	}
}
