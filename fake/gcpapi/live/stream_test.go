package live_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	compute "google.golang.org/api/compute/v1"
	"google.golang.org/api/networkservices/v1"

	"gatehouse.dev/fake/gcpapi/live"
	"gatehouse.dev/fake/gcpapi/pki/pkitest"
)

// echo is a pod that answers with what custom headers told it.
func echo(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s|%s|%s", r.Header.Get("X-Verified"), r.Header.Get("X-Error"), r.Header.Get("X-Spiffe"))
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// lines is a TCP server that answers each line with its name.
func lines(t *testing.T, name string, wrap func(net.Conn) net.Conn) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				conn := wrap(conn)
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					_, _ = fmt.Fprintf(conn, "%s %s\n", name, in.Text())
				}
			}()
		}
	}()
	return l.Addr().String()
}

// says is the answer to one line; "" is none.
func says(t *testing.T, conn net.Conn, line string) string {
	t.Helper()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(conn, line+"\n")
	got, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(got)
}

func plain(c net.Conn) net.Conn { return c }

const region = "us-central1"

// regional is a service for streams in a region with one endpoint.
func (w *world) regional(s *compute.BackendService, endpoint string) {
	w.Helper()
	w.do(w.compute.RegionHealthChecks.Insert(project, region, &compute.HealthCheck{Name: s.Name, Type: "TCP", HealthyThreshold: 1, TcpHealthCheck: &compute.TCPHealthCheck{PortSpecification: "USE_SERVING_PORT"}}).Do)
	w.do(w.compute.NetworkEndpointGroups.Insert(project, zone, &compute.NetworkEndpointGroup{Name: s.Name, NetworkEndpointType: "NON_GCP_PRIVATE_IP_PORT"}).Do)
	w.attach(s.Name, endpoint)
	s.HealthChecks = []string{"regions/us-central1/healthChecks/" + s.Name}
	s.Backends = []*compute.Backend{{Group: "zones/" + zone + "/networkEndpointGroups/" + s.Name, BalancingMode: "CONNECTION", MaxConnectionsPerEndpoint: 1}}
	w.do(w.compute.RegionBackendServices.Insert(project, region, s).Do)
	w.until(s.Name+" is healthy", func() bool {
		h, err := w.compute.RegionBackendServices.GetHealth(project, region, s.Name, &compute.ResourceGroupReference{Group: s.Backends[0].Group}).Do()
		w.ok(err)
		return len(h.HealthStatus) > 0 && h.HealthStatus[0].HealthState == "HEALTHY"
	})
}

// Why: a TCP proxy carries bytes to its one service; with TlsRoutes it goes by the name
// in the ClientHello, and never decrypts.
func TestTCPProxies(t *testing.T) {
	w := newWorld(t, live.Config{})
	root := pkitest.New(t, "root")
	secure := func(name string) func(net.Conn) net.Conn {
		certificate := root.Leaf(t, []string{name}).TLS()
		return func(c net.Conn) net.Conn {
			return tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}})
		}
	}
	w.place("10.9.0.1:1", lines(t, "plain", plain))
	w.place("10.9.0.2:1", lines(t, "a", secure("a.example.com")))
	w.place("10.9.0.3:1", lines(t, "wild", secure("b.example.com")))
	for i, name := range []string{"plain", "a", "wild"} {
		w.regional(&compute.BackendService{Name: name, Protocol: "TCP", LoadBalancingScheme: "EXTERNAL_MANAGED"}, fmt.Sprintf("10.9.0.%d:1", i+1))
	}
	for name, service := range map[string]string{"plain": "regions/us-central1/backendServices/plain", "routed": "", "both": "regions/us-central1/backendServices/plain"} {
		proxy := &compute.TargetTcpProxy{Name: name, Service: service}
		if service == "" {
			proxy.LoadBalancingScheme = "EXTERNAL_MANAGED"
		}
		w.do(w.compute.RegionTargetTcpProxies.Insert(project, region, proxy).Do)
		w.do(w.compute.ForwardingRules.Insert(project, region, &compute.ForwardingRule{Name: name, LoadBalancingScheme: "EXTERNAL_MANAGED", PortRange: "443", Target: "regions/us-central1/targetTcpProxies/" + name, Network: "global/networks/default"}).Do)
	}
	const parent = "projects/test-project/locations/us-central1"
	to := func(host, service string) *networkservices.TlsRouteRouteRule {
		return &networkservices.TlsRouteRouteRule{Matches: []*networkservices.TlsRouteRouteMatch{{SniHost: []string{host}}},
			Action: &networkservices.TlsRouteRouteAction{Destinations: []*networkservices.TlsRouteRouteDestination{{ServiceName: parent + "/backendServices/" + service}}}}
	}
	_, err := w.services.Projects.Locations.TlsRoutes.Create(parent, &networkservices.TlsRoute{TargetProxies: []string{parent + "/targetTcpProxies/routed", parent + "/targetTcpProxies/both"},
		Rules: []*networkservices.TlsRouteRouteRule{to("a.example.com", "a"), to("*.example.com", "wild")}}).TlsRouteId("r").Do()
	w.ok(err)
	for _, proxy := range []string{"plain", "both"} { // a service takes what no route does
		conn, err := net.Dial("tcp", w.at(proxy))
		w.ok(err)
		if got := says(t, conn, "hello"); got != "plain hello" {
			t.Errorf("%s: %q", proxy, got)
		}
	}
	for name, want := range map[string]string{"a.example.com": "a hi", "b.example.com": "wild hi", "b.org": ""} {
		conn, err := tls.Dial("tcp", w.at("routed"), &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := conn.ConnectionState().PeerCertificates[0].DNSNames[0]; got != name {
			t.Errorf("%s: the certificate is of %s", name, got)
		}
		if got := says(t, conn, "hi"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Why: datagrams and connections pass through to the endpoints of a service.
func TestPassthrough(t *testing.T) {
	w := newWorld(t, live.Config{})
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	w.ok(err)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(append([]byte("echo "), buffer[:n]...), from)
		}
	}()
	w.place("10.128.0.10:8080", lines(t, "ready", plain)) // for the check
	w.place("10.128.0.10:53", server.LocalAddr().String())
	w.do(w.compute.Firewalls.Insert(project, &compute.Firewall{Name: "probes", Network: "global/networks/default", SourceRanges: []string{"35.191.0.0/16", "130.211.0.0/22"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "all"}}}).Do)
	w.do(w.compute.RegionHealthChecks.Insert(project, region, &compute.HealthCheck{Name: "h", Type: "TCP", HealthyThreshold: 1, TcpHealthCheck: &compute.TCPHealthCheck{Port: 8080}}).Do)
	w.do(w.compute.NetworkEndpointGroups.Insert(project, zone, &compute.NetworkEndpointGroup{Name: "g", NetworkEndpointType: "GCE_VM_IP", Subnetwork: "regions/us-central1/subnetworks/default"}).Do)
	w.do(w.compute.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, "g", &compute.NetworkEndpointGroupsAttachEndpointsRequest{NetworkEndpoints: []*compute.NetworkEndpoint{{Instance: "node-a"}}}).Do)
	w.do(w.compute.RegionBackendServices.Insert(project, region, &compute.BackendService{Name: "b", Protocol: "UDP", LoadBalancingScheme: "EXTERNAL", HealthChecks: []string{"regions/us-central1/healthChecks/h"},
		Backends: []*compute.Backend{{Group: "zones/" + zone + "/networkEndpointGroups/g", BalancingMode: "CONNECTION"}}}).Do)
	w.do(w.compute.ForwardingRules.Insert(project, region, &compute.ForwardingRule{Name: "dns", LoadBalancingScheme: "EXTERNAL", IPProtocol: "UDP", Ports: []string{"53"}, BackendService: "regions/us-central1/backendServices/b"}).Do)
	conn, err := net.Dial("udp", w.at("dns"))
	w.ok(err)
	defer conn.Close()
	w.until("a datagram is answered", func() bool {
		_, _ = conn.Write([]byte("ping"))
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		buffer := make([]byte, 64)
		n, err := conn.Read(buffer)
		return err == nil && string(buffer[:n]) == "echo ping"
	})
}

// Why: upgraded connections stay open both ways, and H2C reaches a backend that speaks
// nothing else.
func TestProtocols(t *testing.T) {
	w := newWorld(t, live.Config{})
	upgrading := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Upgrade", r.Header.Get("Upgrade"))
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, io, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		line, _ := io.ReadString('\n')
		_, _ = conn.Write([]byte("ws " + line))
	}))
	t.Cleanup(upgrading.Close)
	h2c := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
		_ = http.NewResponseController(w).Flush() // else there is a Content-Length, and HTTP/1.1 has no trailer
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "7")
	}))
	h2c.Config.Protocols = new(http.Protocols)
	h2c.Config.Protocols.SetUnencryptedHTTP2(true)
	h2c.Start()
	t.Cleanup(h2c.Close)
	w.place("10.9.0.1:80", upgrading.Listener.Addr().String())
	w.place("10.9.0.2:80", h2c.Listener.Addr().String())
	w.hybrid(&compute.BackendService{Name: "ws", Protocol: "HTTP"}, "10.9.0.1:80")
	w.hybrid(&compute.BackendService{Name: "h2c", Protocol: "H2C"}, "10.9.0.2:80")
	c := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/ws", HostRules: []*compute.HostRule{{Hosts: []string{"h2c"}, PathMatcher: "m"}},
		PathMatchers: []*compute.PathMatcher{{Name: "m", DefaultService: "global/backendServices/h2c"}}})
	if got, _ := c.get("http://h2c/"); got != "200 HTTP/2.0" {
		t.Errorf("H2C: %s", got)
	}
	trailing, err := c.http.Get("http://h2c/")
	w.ok(err)
	_, _ = io.Copy(io.Discard, trailing.Body)
	trailing.Body.Close()
	if got := trailing.Trailer.Get("Grpc-Status"); got != "7" {
		t.Errorf("the trailer is %q", got)
	}
	conn, err := net.Dial("tcp", w.at("f"))
	w.ok(err)
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	w.ok(err)
	_, _ = io.WriteString(conn, "hello\n")
	line, _ := in.ReadString('\n')
	if response.StatusCode != http.StatusSwitchingProtocols || line != "ws hello\n" {
		t.Errorf("WebSocket: %s %q", response.Status, line)
	}
	conn.Close()
}
