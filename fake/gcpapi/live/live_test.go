package live_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	compute "google.golang.org/api/compute/v1"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/clock"
	"gatehouse.dev/fake/gcpapi/live"
	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/fake/gcpapi/store"
)

// Why: what is made with calls serves; probes come only through a firewall rule; health
// is what the API tells; and with the forwarding rule the listener is gone.
func TestCallsBecomeTraffic(t *testing.T) {
	w := newWorld(t, live.Config{})
	w.place("10.4.0.7:8080", pod(t, "a").Listener.Addr().String())
	w.do(w.compute.HealthChecks.Insert(project, &compute.HealthCheck{Name: "h", Type: "HTTP", HealthyThreshold: 1, UnhealthyThreshold: 1, HttpHealthCheck: &compute.HTTPHealthCheck{PortSpecification: "USE_SERVING_PORT"}}).Do)
	w.do(w.compute.NetworkEndpointGroups.Insert(project, zone, &compute.NetworkEndpointGroup{Name: "g", NetworkEndpointType: "GCE_VM_IP_PORT", Subnetwork: "regions/us-central1/subnetworks/default"}).Do)
	w.do(w.compute.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, "g", &compute.NetworkEndpointGroupsAttachEndpointsRequest{
		NetworkEndpoints: []*compute.NetworkEndpoint{{Instance: "node-a", IpAddress: "10.4.0.7", Port: 8080}}}).Do)
	w.do(w.compute.BackendServices.Insert(project, &compute.BackendService{Name: "b", LoadBalancingScheme: "EXTERNAL_MANAGED", Protocol: "HTTP", HealthChecks: []string{"global/healthChecks/h"},
		Backends: []*compute.Backend{{Group: "zones/" + zone + "/networkEndpointGroups/g", BalancingMode: "RATE", MaxRatePerEndpoint: 1}}}).Do)
	c := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/b"})
	if got, _ := c.get("http://shop/closed"); got != "503" {
		t.Errorf("without a firewall rule: %s", got)
	}
	if e := w.details("/closed"); e.Details != "failed_to_pick_backend" || e.Service != "global/backendServices/b" {
		t.Errorf("logged %+v", e)
	}
	open := &compute.Firewall{Name: "probes", Network: "global/networks/default", SourceRanges: []string{"35.191.0.0/16"}, TargetTags: []string{"node"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp", Ports: []string{"8000-9000"}}}}
	w.do(w.compute.Firewalls.Insert(project, open).Do)
	if got := w.health("b")["10.4.0.7:8080"]; got != "UNHEALTHY" {
		t.Errorf("with one of two ranges it is %s", got)
	}
	open.SourceRanges = append(open.SourceRanges, "130.211.0.0/22")
	w.do(w.compute.Firewalls.Patch(project, "probes", open).Do)
	w.until("the pod is healthy", func() bool { return w.health("b")["10.4.0.7:8080"] == "HEALTHY" })
	got, header := c.get("http://shop.example.com/a%2Fb?q=1", "X-Forwarded-For: 1.2.3.4")
	if got != "200 a GET shop.example.com/a%2Fb?q=1" || header.Get("Via") != "1.1 google" {
		t.Errorf("with it: %s %v", got, header)
	}
	w.do(w.compute.GlobalForwardingRules.Delete(project, "f").Do)
	if all := w.Listeners(); len(all) != 0 {
		t.Errorf("still served: %+v", all)
	}
}

// Why: a firewall rule of a higher priority denies, of another port or tag has no say.
func TestFirewalls(t *testing.T) {
	w := newWorld(t, live.Config{})
	w.place("10.4.0.7:8080", pod(t, "a").Listener.Addr().String())
	w.do(w.compute.HealthChecks.Insert(project, &compute.HealthCheck{Name: "h", Type: "TCP", HealthyThreshold: 1, UnhealthyThreshold: 1, TcpHealthCheck: &compute.TCPHealthCheck{PortSpecification: "USE_SERVING_PORT"}}).Do)
	w.do(w.compute.NetworkEndpointGroups.Insert(project, zone, &compute.NetworkEndpointGroup{Name: "g", NetworkEndpointType: "GCE_VM_IP_PORT", Subnetwork: "regions/us-central1/subnetworks/default"}).Do)
	w.do(w.compute.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, "g", &compute.NetworkEndpointGroupsAttachEndpointsRequest{
		NetworkEndpoints: []*compute.NetworkEndpoint{{Instance: "node-a", IpAddress: "10.4.0.7", Port: 8080}}}).Do)
	w.do(w.compute.BackendServices.Insert(project, &compute.BackendService{Name: "b", LoadBalancingScheme: "EXTERNAL_MANAGED", Protocol: "HTTP", HealthChecks: []string{"global/healthChecks/h"},
		Backends: []*compute.Backend{{Group: "zones/" + zone + "/networkEndpointGroups/g", BalancingMode: "RATE", MaxRatePerEndpoint: 1}}}).Do)
	both := []string{"35.191.0.0/16", "130.211.0.0/22"}
	all := []*compute.FirewallAllowed{{IPProtocol: "all"}}
	for _, c := range []struct {
		name  string
		rules []*compute.Firewall
		want  string
	}{
		{"everything", []*compute.Firewall{{SourceRanges: []string{"0.0.0.0/0"}, Allowed: all}}, "HEALTHY"},
		{"other port", []*compute.Firewall{{SourceRanges: both, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp", Ports: []string{"80"}}}}}, "UNHEALTHY"},
		{"other tag", []*compute.Firewall{{SourceRanges: both, TargetTags: []string{"web"}, Allowed: all}}, "UNHEALTHY"},
		{"disabled", []*compute.Firewall{{SourceRanges: both, Disabled: true, Allowed: all}}, "UNHEALTHY"},
		{"denied before", []*compute.Firewall{{SourceRanges: both, Allowed: all}, {SourceRanges: both, Priority: 10, Denied: []*compute.FirewallDenied{{IPProtocol: "tcp"}}}}, "UNHEALTHY"},
		{"allowed before", []*compute.Firewall{{SourceRanges: both, Priority: 5, Allowed: all}, {SourceRanges: both, Priority: 10, Denied: []*compute.FirewallDenied{{IPProtocol: "tcp"}}}}, "HEALTHY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, rule := range c.rules {
				rule.Name, rule.Network = fmt.Sprint("rule", i), "global/networks/default"
				w.do(w.compute.Firewalls.Insert(project, rule).Do)
			}
			w.until("it is "+c.want, func() bool { return w.health("b")["10.4.0.7:8080"] == c.want })
			for i := range c.rules {
				w.do(w.compute.Firewalls.Delete(project, fmt.Sprint("rule", i)).Do)
			}
			w.until("it is closed again", func() bool { return w.health("b")["10.4.0.7:8080"] == "UNHEALTHY" })
		})
	}
}

// Why: a URL map's action does to a real request what package serve says.
func TestActions(t *testing.T) {
	w := newWorld(t, live.Config{Switches: serve.Switches{WeightSpread: serve.Smooth}})
	w.place("10.9.0.1:80", pod(t, "a").Listener.Addr().String())
	w.place("10.9.0.2:80", pod(t, "b").Listener.Addr().String())
	w.hybrid(&compute.BackendService{Name: "a", Protocol: "HTTP"}, "10.9.0.1:80")
	w.hybrid(&compute.BackendService{Name: "b", Protocol: "HTTP"}, "10.9.0.2:80")
	prefix := func(p string) []*compute.HttpRouteRuleMatch {
		return []*compute.HttpRouteRuleMatch{{PrefixMatch: p}}
	}
	c := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/a", HostRules: []*compute.HostRule{{Hosts: []string{"*"}, PathMatcher: "m"}},
		PathMatchers: []*compute.PathMatcher{{Name: "m", DefaultService: "global/backendServices/a", RouteRules: []*compute.HttpRouteRule{
			{Priority: 1, MatchRules: prefix("/rewrite/"), Service: "global/backendServices/b", RouteAction: &compute.HttpRouteAction{UrlRewrite: &compute.UrlRewrite{PathPrefixRewrite: "/x/", HostRewrite: "other"}},
				HeaderAction: &compute.HttpHeaderAction{ResponseHeadersToAdd: []*compute.HttpHeaderOption{{HeaderName: "X-Added", HeaderValue: "1", Replace: true}}}},
			{Priority: 2, MatchRules: prefix("/redirect"), UrlRedirect: &compute.HttpRedirectAction{HostRedirect: "h", RedirectResponseCode: "FOUND"}},
			{Priority: 3, MatchRules: prefix("/gone"), Service: "global/backendServices/a", RouteAction: &compute.HttpRouteAction{FaultInjectionPolicy: &compute.HttpFaultInjection{Abort: &compute.HttpFaultAbort{HttpStatus: 404, Percentage: 100}}}},
			{Priority: 4, MatchRules: prefix("/split"), RouteAction: &compute.HttpRouteAction{WeightedBackendServices: []*compute.WeightedBackendService{
				{BackendService: "global/backendServices/a", Weight: 3}, {BackendService: "global/backendServices/b", Weight: 1}}}},
		}}}})
	if got, header := c.get("http://s/rewrite/y?q"); got != "200 b GET other/x/y?q" || header.Get("X-Added") != "1" {
		t.Errorf("rewrite: %s %v", got, header)
	}
	if got, header := c.get("http://s/redirect"); !strings.HasPrefix(got, "302") || header.Get("Location") != "http://h/redirect" {
		t.Errorf("redirect: %s %v", got, header)
	}
	if got, _ := c.get("http://s/gone"); got != "404" || w.details("/gone").Details != "fault_filter_abort" {
		t.Errorf("abort: %s", got)
	}
	counts := map[byte]int{}
	for range 40 {
		got, _ := c.get("http://s/split")
		counts[got[4]]++
	}
	if counts['a'] < 29 || counts['a'] > 31 || counts['b'] < 9 || counts['b'] > 11 {
		t.Errorf("3:1 is %v", counts)
	}
}

// Why: an attempt that fails is made again elsewhere, if a policy or the default says so.
func TestRetries(t *testing.T) {
	w := newWorld(t, live.Config{})
	failing, good := pod(t, "failing"), pod(t, "good")
	failing.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	w.place("10.9.0.1:80", failing.Listener.Addr().String())
	w.place("10.9.0.2:80", good.Listener.Addr().String())
	w.hybrid(&compute.BackendService{Name: "b", Protocol: "HTTP"}, "10.9.0.1:80", "10.9.0.2:80")
	slow := pod(t, "slow")
	stuck := make(chan struct{})
	slow.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stuck:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(stuck) })
	w.place("10.9.0.3:80", slow.Listener.Addr().String())
	w.hybrid(&compute.BackendService{Name: "s", Protocol: "HTTP"}, "10.9.0.3:80")
	c := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/b", HostRules: []*compute.HostRule{{Hosts: []string{"slow"}, PathMatcher: "m"}},
		PathMatchers: []*compute.PathMatcher{{Name: "m", DefaultService: "global/backendServices/s", DefaultRouteAction: &compute.HttpRouteAction{Timeout: &compute.Duration{Nanos: 20_000_000}}}}})
	for range 6 {
		if got, _ := c.get("http://s/"); !strings.HasPrefix(got, "200 good") {
			t.Errorf("a request without a body: %s", got)
		}
	}
	failures := 0
	for range 6 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://s/", strings.NewReader("body"))
		w.ok(err)
		if got, _ := c.send(r); strings.HasPrefix(got, "503") {
			failures++
		}
	}
	if failures != 3 {
		t.Errorf("%d of 6 requests with a body fail, want 3: they are not sent again", failures)
	}
	if got, _ := c.get("http://slow/late"); got != "504" || w.details("/late").Details != "backend_timeout" {
		t.Errorf("timeout: %s %+v", got, w.details("/late"))
	}
}

// Why: what was detached finishes what it has and gets nothing new.
func TestDraining(t *testing.T) {
	w := newWorld(t, live.Config{})
	arrived, release := make(chan bool, 1), make(chan bool)
	slow := pod(t, "slow")
	slow.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- true
		<-release
		_, _ = w.Write([]byte("done"))
	})
	w.place("10.9.0.1:80", slow.Listener.Addr().String())
	w.hybrid(&compute.BackendService{Name: "b", Protocol: "HTTP", ConnectionDraining: &compute.ConnectionDraining{DrainingTimeoutSec: 60}}, "10.9.0.1:80")
	c := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/b"})
	answer := make(chan string, 1)
	go func() {
		got, _ := c.get("http://s/")
		answer <- got
	}()
	<-arrived
	w.detach("b", "10.9.0.1:80")
	if got, _ := c.get("http://s/new"); got != "503" {
		t.Errorf("a new request: %s", got)
	}
	close(release)
	if got := <-answer; got != "200 done" {
		t.Errorf("the old request: %s", got)
	}
}

// Why: a change is served only after the propagation's time, by the project's clock.
func TestPropagation(t *testing.T) {
	hands := clock.NewManual(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))
	w := newWorld(t, live.Config{API: gcpapi.Config{Clock: hands, Times: store.Times{Propagation: 30 * time.Second}}})
	w.place("10.9.0.1:80", pod(t, "a").Listener.Addr().String())
	w.do(w.compute.NetworkEndpointGroups.Insert(project, zone, &compute.NetworkEndpointGroup{Name: "g", NetworkEndpointType: "NON_GCP_PRIVATE_IP_PORT"}).Do)
	w.attach("g", "10.9.0.1:80")
	w.do(w.compute.HealthChecks.Insert(project, &compute.HealthCheck{Name: "h", Type: "TCP", TcpHealthCheck: &compute.TCPHealthCheck{PortSpecification: "USE_SERVING_PORT"}}).Do)
	w.do(w.compute.BackendServices.Insert(project, &compute.BackendService{Name: "b", LoadBalancingScheme: "EXTERNAL_MANAGED", Protocol: "HTTP", HealthChecks: []string{"global/healthChecks/h"},
		Backends: []*compute.Backend{{Group: "zones/" + zone + "/networkEndpointGroups/g", BalancingMode: "RATE", MaxRatePerEndpoint: 1}}}).Do)
	w.do(w.compute.UrlMaps.Insert(project, &compute.UrlMap{Name: "f", DefaultService: "global/backendServices/b"}).Do)
	w.do(w.compute.TargetHttpProxies.Insert(project, &compute.TargetHttpProxy{Name: "f", UrlMap: "global/urlMaps/f"}).Do)
	w.do(w.compute.GlobalForwardingRules.Insert(project, &compute.ForwardingRule{Name: "f", LoadBalancingScheme: "EXTERNAL_MANAGED", PortRange: "80", Target: "global/targetHttpProxies/f"}).Do)
	if all := w.Listeners(); len(all) != 0 {
		t.Errorf("served at once: %+v", all)
	}
	hands.Advance(30 * time.Second)
	w.until("it is served", func() bool { return len(w.Listeners()) == 1 })
}

// Why: sessions stay by cookie, and without one endpoints take turns.
func TestAffinity(t *testing.T) {
	w := newWorld(t, live.Config{})
	for i, name := range []string{"a", "b", "c"} {
		w.place(fmt.Sprintf("10.9.0.%d:80", i+1), pod(t, name).Listener.Addr().String())
	}
	w.hybrid(&compute.BackendService{Name: "b", Protocol: "HTTP", SessionAffinity: "GENERATED_COOKIE"}, "10.9.0.1:80", "10.9.0.2:80", "10.9.0.3:80")
	w.hybrid(&compute.BackendService{Name: "n", Protocol: "HTTP"}, "10.9.0.1:80", "10.9.0.2:80", "10.9.0.3:80")
	c := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/b", HostRules: []*compute.HostRule{{Hosts: []string{"none"}, PathMatcher: "m"}},
		PathMatchers: []*compute.PathMatcher{{Name: "m", DefaultService: "global/backendServices/n"}}})
	first, header := c.get("http://s/")
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	if !strings.HasPrefix(cookie, "GCLB=") {
		t.Fatalf("cookie %q", cookie)
	}
	for range 6 {
		if got, h := c.get("http://s/", "Cookie: "+cookie); got != first || h.Get("Set-Cookie") != "" {
			t.Errorf("with the cookie %s, want %s", got, first)
		}
	}
	seen := map[byte]int{}
	for range 9 {
		got, _ := c.get("http://none/")
		seen[got[4]]++
	}
	if len(seen) != 3 || seen['a'] != 3 {
		t.Errorf("turns: %v", seen)
	}
}

// Why: what is added to requests, and a path that cannot be decoded passes as it is.
func TestForwardedHeaders(t *testing.T) {
	w := newWorld(t, live.Config{})
	server := pod(t, "a")
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s|%s|%s|%t|%s", r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Proto"), r.Header.Get("Via"), r.Header.Get("X-Cloud-Trace-Context") != "", r.Header.Get("X-Gone"))
	})
	w.place("10.9.0.1:80", server.Listener.Addr().String())
	w.hybrid(&compute.BackendService{Name: "b", Protocol: "HTTP"}, "10.9.0.1:80")
	c := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/b"})
	ip := w.Listeners()[0].IP
	if got, _ := c.get("http://s/", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Proto: https", "Connection: X-Gone", "X-Gone: 1"); got != "200 1.2.3.4,127.0.0.1,"+ip+"|http|1.1 google|true|" {
		t.Errorf("the backend got %s", got)
	}
}
