package cases

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// backend is a real HTTP server at an address of the site. It answers with its
// name and what it was asked.
type backend struct {
	name     string
	addr     net.Addr
	requests atomic.Int64
}

// answer is what a client got. The part that backends write is empty when the
// gateway answered by itself.
type answer struct {
	Status   int         `json:"-"`
	Location string      `json:"-"`
	Backend  string      `json:"backend"`
	Method   string      `json:"method"`
	URI      string      `json:"uri"`
	Host     string      `json:"host"`
	Protocol string      `json:"protocol"`
	Header   http.Header `json:"header"`
}

// String is short enough to compare: the backend, or the status.
func (a answer) String() string {
	if a.Status == http.StatusOK && a.Backend != "" {
		return a.Backend
	}
	return strconv.Itoa(a.Status)
}

// backend starts one at an address of its own, and puts its Service.
func (h *harness) backend(name string) *backend {
	h.Helper()
	return h.serve(name, h.listen(), new(http.Server))
}

// listen takes the site's next backend address.
func (h *harness) listen() net.Listener {
	h.Helper()
	h.hosts++
	l, err := net.Listen("tcp", h.site.address(h.hosts+1)+":8080")
	if err != nil {
		h.Fatal(err)
	}
	return l
}

// serve answers on a listener until the test ends, and puts the Service that
// leads there.
func (h *harness) serve(name string, l net.Listener, server *http.Server) *backend {
	h.Helper()
	b := &backend{name: name, addr: l.Addr()}
	server.Handler = b
	server.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what some cases are about
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(l) }()
	h.Cleanup(func() { server.Close(); <-done })
	h.put(serviceYAML(name, ""), sliceYAML(name, b.host()))
	return b
}

func (b *backend) host() string { host, _, _ := net.SplitHostPort(b.addr.String()); return host }

// ServeHTTP implements http.Handler.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == "PRI" { // the preface of HTTP/2, which this server does not speak
		w.WriteHeader(http.StatusHTTPVersionNotSupported)
		return
	}
	b.requests.Add(1)
	text, err := json.Marshal(answer{Backend: b.name, Method: r.Method, URI: r.RequestURI, Host: r.Host, Protocol: r.Proto, Header: r.Header})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Write(text)
}

// serviceYAML is a Service of apps with port 80; port is more of the port, in
// flow style, such as ", appProtocol: http".
func serviceYAML(name, port string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: apps}
spec: {ports: [{name: http, port: 80, targetPort: 8080%s}]}
`, name, port)
}

// sliceYAML are a Service's endpoints, all ready.
func sliceYAML(service string, addresses ...string) string {
	var endpoints []string
	for _, a := range addresses {
		endpoints = append(endpoints, "{addresses: ["+a+"], conditions: {ready: true}}")
	}
	return fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %s, namespace: apps, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [%s]
`, service, strings.Join(endpoints, ", "))
}

// get asks gateway edge. The host of the URL is what the client says; its port
// picks the listener. Headers are "Name: value"; redirects are not followed.
func (h *harness) get(url string, headers ...string) answer {
	h.Helper()
	return h.ask("edge", url, headers...)
}

func (h *harness) ask(gateway, url string, headers ...string) answer {
	h.Helper()
	a, err := h.client(gateway).get(url, headers...)
	if err != nil {
		h.Fatal(err)
	}
	return a
}

// client is a Go client whose every host is a gateway. Each request has a
// connection of its own, so that what is served now answers it.
type client struct{ http.Client }

func (h *harness) client(gateway string) client {
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // who answers is what handshake is for
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			n, err := strconv.ParseInt(port, 10, 32)
			if err != nil {
				return nil, err
			}
			real, err := h.stack.Address(gateway, int32(n))
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, real.String())
		},
	}
	return client{http.Client{
		Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (c client) get(url string, headers ...string) (answer, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	res, err := c.Do(req)
	if err != nil {
		return answer{}, err
	}
	return answerOf(res)
}

func answerOf(res *http.Response) (answer, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{}
	if res.StatusCode == http.StatusOK {
		if err := json.Unmarshal(body, &a); err != nil {
			return answer{}, fmt.Errorf("%w: %s", err, body)
		}
	}
	a.Status, a.Location = res.StatusCode, res.Header.Get("Location")
	return a, nil
}

// raw asks with a request line and a Host that no client library would send.
func (h *harness) raw(port int32, target, host string) answer {
	h.Helper()
	conn, err := net.Dial("tcp", h.address("edge", port).String())
	if err != nil {
		h.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, host)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		h.Fatalf("Host %s: %v", host, err)
	}
	a, err := answerOf(res)
	if err != nil {
		h.Fatalf("Host %s: %v", host, err)
	}
	return a
}

// answers are what answers some URLs: a backend by name, or a status.
type answers map[string]string

func (want answers) check(h *harness) {
	h.Helper()
	for target, who := range want {
		if got := h.get(target); got.String() != who {
			h.Errorf("%s is answered by %s, want %s", target, got, who)
		}
	}
}
