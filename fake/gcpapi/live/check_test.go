package live_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	compute "google.golang.org/api/compute/v1"

	"gatehouse.dev/fake/gcpapi/live"
	"gatehouse.dev/fake/gcpapi/pki/pkitest"
	"gatehouse.dev/fake/gcpapi/serve"
)

// probed is a pod that answers health checks as told, over plain text or TLS.
func probed(t *testing.T, status *atomic.Int32) (plain, secure string) {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/grpc.health.v1.Health/Check":
			body, _ := io.ReadAll(r.Body)
			serving := byte(1)
			if status.Load() != http.StatusOK || string(body) != "\x00\x00\x00\x00\x06\x0a\x04shop" {
				serving = 2
			}
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = w.Write([]byte{0, 0, 0, 0, 2, 8, serving})
			w.Header().Set("Grpc-Status", "0")
		case r.UserAgent() == "GoogleHC/1.0":
			w.WriteHeader(int(status.Load()))
			_, _ = fmt.Fprintf(w, "%s %s ok", r.Host, r.URL.Path)
		}
	})
	plainServer, secureServer := httptest.NewUnstartedServer(handler), httptest.NewUnstartedServer(handler)
	plainServer.Config.Protocols = new(http.Protocols)
	plainServer.Config.Protocols.SetHTTP1(true)
	plainServer.Config.Protocols.SetUnencryptedHTTP2(true)
	secureServer.EnableHTTP2 = true
	secureServer.Config.ErrorLog = log.New(io.Discard, "", 0)
	plainServer.Start()
	secureServer.StartTLS()
	t.Cleanup(plainServer.Close)
	t.Cleanup(secureServer.Close)
	return plainServer.Listener.Addr().String(), secureServer.Listener.Addr().String()
}

// Why: every type of health check finds a pod healthy that is, and not one that is not;
// over TLS nothing is verified; a fixed port is another one than traffic's.
func TestHealthChecks(t *testing.T) {
	serving := "USE_SERVING_PORT"
	for _, c := range []struct {
		name   string
		check  *compute.HealthCheck
		secure bool
		fixed  bool // the check goes to port 15021
		always bool // the pod's answer does not matter
		never  bool // the check can't be passed
	}{
		{name: "TCP", check: &compute.HealthCheck{TcpHealthCheck: &compute.TCPHealthCheck{PortSpecification: serving}}, always: true},
		{name: "SSL", check: &compute.HealthCheck{SslHealthCheck: &compute.SSLHealthCheck{PortSpecification: serving}}, secure: true, always: true},
		{name: "HTTP", check: &compute.HealthCheck{HttpHealthCheck: &compute.HTTPHealthCheck{PortSpecification: serving, RequestPath: "/ready", Response: "10.9.0.1 /ready ok"}}},
		{name: "HTTP with a host", check: &compute.HealthCheck{HttpHealthCheck: &compute.HTTPHealthCheck{PortSpecification: serving, Host: "shop", Response: "shop / ok"}}},
		{name: "HTTP with another answer", check: &compute.HealthCheck{HttpHealthCheck: &compute.HTTPHealthCheck{PortSpecification: serving, Response: "fine"}}, never: true},
		{name: "HTTP on a fixed port", check: &compute.HealthCheck{HttpHealthCheck: &compute.HTTPHealthCheck{PortSpecification: "USE_FIXED_PORT", Port: 15021}}, fixed: true},
		{name: "HTTPS", check: &compute.HealthCheck{HttpsHealthCheck: &compute.HTTPSHealthCheck{PortSpecification: serving}}, secure: true},
		{name: "HTTP2", check: &compute.HealthCheck{Http2HealthCheck: &compute.HTTP2HealthCheck{PortSpecification: serving}}, secure: true},
		{name: "GRPC", check: &compute.HealthCheck{GrpcHealthCheck: &compute.GRPCHealthCheck{PortSpecification: serving, GrpcServiceName: "shop"}}},
		{name: "GRPC_WITH_TLS", check: &compute.HealthCheck{GrpcTlsHealthCheck: &compute.GRPCTLSHealthCheck{PortSpecification: serving, GrpcServiceName: "shop"}}, secure: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, live.Config{})
			var status atomic.Int32
			status.Store(http.StatusOK)
			plain, secure := probed(t, &status)
			at := plain
			if c.secure {
				at = secure
			}
			w.place("10.9.0.1:80", at)
			if c.fixed {
				w.place("10.9.0.1:80", "127.0.0.1:1")
				w.place("10.9.0.1:15021", at)
			}
			c.check.Name, c.check.HealthyThreshold, c.check.UnhealthyThreshold = "h", 1, 1
			c.check.Type = strings.SplitN(c.name, " ", 2)[0]
			w.do(w.compute.HealthChecks.Insert(project, c.check).Do)
			w.do(w.compute.NetworkEndpointGroups.Insert(project, zone, &compute.NetworkEndpointGroup{Name: "g", NetworkEndpointType: "NON_GCP_PRIVATE_IP_PORT"}).Do)
			w.attach("g", "10.9.0.1:80")
			w.do(w.compute.BackendServices.Insert(project, &compute.BackendService{Name: "b", LoadBalancingScheme: "EXTERNAL_MANAGED", Protocol: "HTTP", HealthChecks: []string{"global/healthChecks/h"},
				Backends: []*compute.Backend{{Group: "zones/" + zone + "/networkEndpointGroups/g", BalancingMode: "RATE", MaxRatePerEndpoint: 1}}}).Do)
			state := func(want string) func() bool {
				return func() bool { return w.health("b")["10.9.0.1:80"] == want }
			}
			if c.never {
				w.until("it is unhealthy", state("UNHEALTHY"))
				return
			}
			w.until("it is healthy", state("HEALTHY"))
			if !c.always {
				status.Store(http.StatusFound)
				w.until("it is unhealthy: 200 only", state("UNHEALTHY"))
			}
		})
	}
}

// Why: a group with a capacity of 0 takes nothing, and a copy goes to the service that it
// is for, with -shadow in its name, while the client is answered by another one.
func TestCapacityAndMirrors(t *testing.T) {
	w := newWorld(t, live.Config{})
	seen := make(chan string, 1)
	shadow := pod(t, "shadow")
	shadow.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- fmt.Sprintf("%s %s%s %s", r.Method, r.Host, r.RequestURI, body)
	})
	w.place("10.9.0.1:80", pod(t, "a").Listener.Addr().String())
	w.place("10.9.0.2:80", shadow.Listener.Addr().String())
	w.hybrid(&compute.BackendService{Name: "a", Protocol: "HTTP"}, "10.9.0.1:80")
	w.hybrid(&compute.BackendService{Name: "shadow", Protocol: "HTTP"}, "10.9.0.2:80")
	c := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/a", DefaultRouteAction: &compute.HttpRouteAction{RequestMirrorPolicy: &compute.RequestMirrorPolicy{BackendService: "global/backendServices/shadow"}}})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://shop/x?q=1", strings.NewReader("body"))
	w.ok(err)
	if got, _ := c.send(r); got != "200 a POST shop/x?q=1 body" {
		t.Errorf("the request: %s", got)
	}
	if got := <-seen; got != "POST shop-shadow/x?q=1 body" {
		t.Errorf("the copy: %s", got)
	}
	service, err := w.compute.BackendServices.Get(project, "a").Do()
	w.ok(err)
	service.Backends[0].CapacityScaler = 0
	service.Backends[0].ForceSendFields = []string{"CapacityScaler"}
	group := *service.Backends[0]
	w.do(w.compute.NetworkEndpointGroups.Insert(project, zone, &compute.NetworkEndpointGroup{Name: "spare", NetworkEndpointType: "NON_GCP_PRIVATE_IP_PORT"}).Do)
	group.Group, group.CapacityScaler = "zones/"+zone+"/networkEndpointGroups/spare", 1
	service.Backends = append(service.Backends, &group)
	w.do(w.compute.BackendServices.Patch(project, "a", service).Do)
	if got, _ := c.get("http://shop/none"); got != "503" {
		t.Errorf("with a capacity of 0: %s", got)
	}
}

// Why: the statuses of failures stand as the switches say, with Google's names.
func TestFailures(t *testing.T) {
	other := serve.Switches{NoBackendStatus: serve.BadGateway, ConnectStatus: serve.BadGateway, TLSStatus: serve.Unavailable}
	leaf := pkitest.New(t, "root").Leaf(t, []string{"a"})
	for _, c := range []struct {
		name     string
		switches serve.Switches
		want     map[string]string // by host
	}{
		{"first positions", serve.Switches{}, map[string]string{"none": "503 failed_to_pick_backend", "refused": "503 failed_to_connect_to_backend", "tls": "502 ssl_certificate_san_verification_failed", "alpn": "502 failed_to_negotiate_alpn", "cut": "503 backend_connection_closed_before_data_sent_to_client"}},
		{"others", other, map[string]string{"none": "502 failed_to_pick_backend", "refused": "502 failed_to_connect_to_backend", "tls": "503 ssl_certificate_san_verification_failed", "alpn": "502 failed_to_negotiate_alpn", "cut": "502 backend_connection_closed_before_data_sent_to_client"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, live.Config{Switches: c.switches})
			secure, _ := meshed(t, leaf)
			old := httptest.NewUnstartedServer(http.NotFoundHandler()) // HTTP/1.1 only
			old.Config.ErrorLog = log.New(io.Discard, "", 0)
			old.StartTLS()
			t.Cleanup(old.Close)
			cut := pod(t, "cut")
			cut.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
			gone := pod(t, "gone")
			for endpoint, server := range map[string]*httptest.Server{"10.9.0.2:80": gone, "10.9.0.3:80": secure, "10.9.0.4:80": old, "10.9.0.5:80": cut} {
				w.place(endpoint, server.Listener.Addr().String())
			}
			w.hybrid(&compute.BackendService{Name: "none", Protocol: "HTTP"})
			w.hybrid(&compute.BackendService{Name: "refused", Protocol: "HTTP"}, "10.9.0.2:80")
			w.hybrid(&compute.BackendService{Name: "tls", Protocol: "HTTPS", TlsSettings: &compute.BackendServiceTlsSettings{Sni: "other"}}, "10.9.0.3:80")
			w.hybrid(&compute.BackendService{Name: "alpn", Protocol: "HTTP2"}, "10.9.0.4:80")
			w.hybrid(&compute.BackendService{Name: "cut", Protocol: "HTTP"}, "10.9.0.5:80")
			u := &compute.UrlMap{Name: "f", DefaultService: "global/backendServices/none"}
			for name := range c.want {
				u.HostRules = append(u.HostRules, &compute.HostRule{Hosts: []string{name}, PathMatcher: name})
				u.PathMatchers = append(u.PathMatchers, &compute.PathMatcher{Name: name, DefaultService: "global/backendServices/" + name})
			}
			front := w.front(u)
			// The check that finds it gone must not come first.
			w.do(w.compute.HealthChecks.Patch(project, "refused", &compute.HealthCheck{UnhealthyThreshold: 10, CheckIntervalSec: 300}).Do)
			gone.Close()
			for name, want := range c.want {
				status, _ := front.get("http://" + name + "/" + name)
				if got := status + " " + w.details("/"+name).Details; got != want && (name != "refused" || got != want[:4]+"failed_to_pick_backend") {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
		})
	}
}
