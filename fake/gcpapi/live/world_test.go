package live_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	certmanager "cloud.google.com/go/certificatemanager/apiv1"
	cm "cloud.google.com/go/certificatemanager/apiv1/certificatemanagerpb"
	netsec "cloud.google.com/go/networksecurity/apiv1"
	ns "cloud.google.com/go/networksecurity/apiv1/networksecuritypb"
	"go.uber.org/goleak"
	compute "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/networkservices/v1"
	"google.golang.org/api/option"

	"gatehouse.dev/fake/gcpapi/live"
	"gatehouse.dev/fake/gcpapi/pki/pkitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	project = "test-project"
	global  = "projects/test-project/locations/global"
	zone    = "us-central1-a"
)

// world is a project that serves, with Google's clients.
type world struct {
	*testing.T
	*live.Live
	compute  *compute.Service
	certs    *certmanager.Client
	security *netsec.Client
	services *networkservices.Service

	mu    sync.Mutex
	where map[string]string // real addresses of endpoints
	log   []live.Entry
}

func newWorld(t *testing.T, c live.Config) *world {
	t.Helper()
	w := &world{T: t, where: map[string]string{}}
	c.Reach = w.reach
	c.Access = func(e live.Entry) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, e)
	}
	if c.CheckEvery == 0 {
		c.CheckEvery = 5 * time.Millisecond
	}
	c.Every = 5 * time.Millisecond
	w.Live = live.Start(t.Context(), c)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := w.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	through := option.WithHTTPClient(&http.Client{Transport: w.Server})
	var errs [4]error
	w.compute, errs[0] = compute.NewService(t.Context(), through)
	w.certs, errs[1] = certmanager.NewRESTClient(t.Context(), through)
	w.security, errs[2] = netsec.NewRESTClient(t.Context(), through)
	w.services, errs[3] = networkservices.NewService(t.Context(), through)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) reach(host string, port int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to, ok := w.where[fmt.Sprintf("%s:%d", host, port)]; ok {
		return to
	}
	return "127.0.0.1:1" // nobody listens there
}

// place says where an endpoint really is.
func (w *world) place(endpoint, at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.where[endpoint] = at
}

// do is a change that must end well.
func (w *world) do(call func(...googleapi.CallOption) (*compute.Operation, error)) {
	w.Helper()
	op, err := call()
	if err != nil || op.Error != nil {
		w.Fatalf("%v, %+v", err, op)
	}
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pod is an HTTP server that answers with its name and what it was asked.
func pod(t *testing.T, name string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s%s %s", name, r.Method, r.Host, r.RequestURI, body)
	}))
	t.Cleanup(s.Close)
	return s
}

// hybrid is a service with endpoints outside of the network, which no firewall is before.
func (w *world) hybrid(s *compute.BackendService, endpoints ...string) {
	w.Helper()
	w.do(w.compute.HealthChecks.Insert(project, &compute.HealthCheck{Name: s.Name, Type: "TCP", HealthyThreshold: 1, UnhealthyThreshold: 3, TcpHealthCheck: &compute.TCPHealthCheck{PortSpecification: "USE_SERVING_PORT"}}).Do)
	w.do(w.compute.NetworkEndpointGroups.Insert(project, zone, &compute.NetworkEndpointGroup{Name: s.Name, NetworkEndpointType: "NON_GCP_PRIVATE_IP_PORT"}).Do)
	if len(endpoints) > 0 {
		w.attach(s.Name, endpoints...)
	}
	if s.LoadBalancingScheme == "" {
		s.LoadBalancingScheme = "EXTERNAL_MANAGED"
	}
	s.HealthChecks = []string{"projects/test-project/global/healthChecks/" + s.Name}
	s.Backends = []*compute.Backend{{Group: "projects/test-project/zones/" + zone + "/networkEndpointGroups/" + s.Name, BalancingMode: "RATE", MaxRatePerEndpoint: 1}}
	w.do(w.compute.BackendServices.Insert(project, s).Do)
	for _, e := range endpoints {
		w.until(s.Name+" is healthy at "+e, func() bool { return w.health(s.Name)[e] == "HEALTHY" })
	}
}

func (w *world) attach(group string, endpoints ...string) {
	w.Helper()
	w.do(w.compute.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, group, &compute.NetworkEndpointGroupsAttachEndpointsRequest{NetworkEndpoints: endpointsOf(endpoints)}).Do)
}

func (w *world) detach(group string, endpoints ...string) {
	w.Helper()
	w.do(w.compute.NetworkEndpointGroups.DetachNetworkEndpoints(project, zone, group, &compute.NetworkEndpointGroupsDetachEndpointsRequest{NetworkEndpoints: endpointsOf(endpoints)}).Do)
}

func endpointsOf(all []string) []*compute.NetworkEndpoint {
	var out []*compute.NetworkEndpoint
	for _, e := range all {
		host, port, _ := strings.Cut(e, ":")
		one := &compute.NetworkEndpoint{IpAddress: host}
		_, _ = fmt.Sscan(port, &one.Port)
		out = append(out, one)
	}
	return out
}

// health is what the API says of a service's endpoints.
func (w *world) health(service string) map[string]string {
	w.Helper()
	out := map[string]string{}
	s, err := w.compute.BackendServices.Get(project, service).Do()
	w.ok(err)
	for _, b := range s.Backends {
		h, err := w.compute.BackendServices.GetHealth(project, service, &compute.ResourceGroupReference{Group: b.Group}).Do()
		w.ok(err)
		for _, one := range h.HealthStatus {
			out[fmt.Sprintf("%s:%d", one.IpAddress, one.Port)] = one.HealthState
		}
	}
	return out
}

// until waits for something that happens by itself.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.Fatalf("it never came that %s; the log ends with %+v", what, w.log[max(0, len(w.log)-3):])
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// front is a URL map with a proxy and a forwarding rule, all of one name, and a client
// that reaches it.
func (w *world) front(u *compute.UrlMap) *client {
	w.Helper()
	w.do(w.compute.UrlMaps.Insert(project, u).Do)
	w.do(w.compute.TargetHttpProxies.Insert(project, &compute.TargetHttpProxy{Name: u.Name, UrlMap: "global/urlMaps/" + u.Name}).Do)
	w.do(w.compute.GlobalForwardingRules.Insert(project, &compute.ForwardingRule{Name: u.Name, LoadBalancingScheme: "EXTERNAL_MANAGED", PortRange: "80", Target: "global/targetHttpProxies/" + u.Name}).Do)
	return w.client(u.Name, nil)
}

// at is where a forwarding rule really is.
func (w *world) at(rule string) string {
	w.Helper()
	for _, b := range w.Listeners() {
		if strings.HasSuffix(b.Rule, "/"+rule) {
			return b.Addr.String()
		}
	}
	w.Fatalf("%s is not served: %+v", rule, w.Listeners())
	return ""
}

// client reaches one forwarding rule, whatever a URL's host is.
type client struct {
	*world
	http *http.Client
}

func (w *world) client(rule string, config *tls.Config) *client {
	w.Helper()
	at := w.at(rule)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", at)
		},
		TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true,
	}
	w.Cleanup(transport.CloseIdleConnections)
	return &client{w, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// get is status and body; headers are lines.
func (c *client) get(url string, headers ...string) (string, http.Header) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, url, nil)
	c.ok(err)
	return c.send(r, headers...)
}

func (c *client) send(r *http.Request, headers ...string) (string, http.Header) {
	c.Helper()
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return "error: " + err.Error(), nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "error: " + err.Error(), nil
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, body)), response.Header
}

// details waits for what the load balancers logged of a path.
func (w *world) details(path string) live.Entry {
	w.Helper()
	var found live.Entry
	w.until("the log has "+path, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range w.log {
			if e.Path == path {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

func trust(roots ...*pkitest.Pair) *cm.TrustConfig {
	one := &cm.TrustConfig_TrustStore{}
	for _, r := range roots {
		one.TrustAnchors = append(one.TrustAnchors, &cm.TrustConfig_TrustAnchor{Kind: &cm.TrustConfig_TrustAnchor_PemCertificate{PemCertificate: r.PEM()}})
	}
	return &cm.TrustConfig{TrustStores: []*cm.TrustConfig_TrustStore{one}}
}

// trusts makes a trust config.
func (w *world) trusts(id string, roots ...*pkitest.Pair) string {
	w.Helper()
	_, err := w.certs.CreateTrustConfig(w.Context(), &cm.CreateTrustConfigRequest{Parent: global, TrustConfigId: id, TrustConfig: trust(roots...)})
	w.ok(err)
	return global + "/trustConfigs/" + id
}

func identity(t *testing.T, scope cm.Certificate_Scope, leaf *pkitest.Pair) *cm.Certificate {
	t.Helper()
	return &cm.Certificate{Scope: scope, Type: &cm.Certificate_SelfManaged{SelfManaged: &cm.Certificate_SelfManagedCertificate{PemCertificate: leaf.PEM(), PemPrivateKey: leaf.KeyPEM(t)}}}
}

func (w *world) certifies(id string, scope cm.Certificate_Scope, leaf *pkitest.Pair) string {
	w.Helper()
	_, err := w.certs.CreateCertificate(w.Context(), &cm.CreateCertificateRequest{Parent: global, CertificateId: id, Certificate: identity(w.T, scope, leaf)})
	w.ok(err)
	return global + "/certificates/" + id
}

func (w *world) authenticates(id string, c *ns.BackendAuthenticationConfig) string {
	w.Helper()
	_, err := w.security.CreateBackendAuthenticationConfig(w.Context(), &ns.CreateBackendAuthenticationConfigRequest{Parent: global, BackendAuthenticationConfigId: id, BackendAuthenticationConfig: c})
	w.ok(err)
	return "//networksecurity.googleapis.com/" + global + "/backendAuthenticationConfigs/" + id
}
