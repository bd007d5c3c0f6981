package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"
)

// alikeRequest is one request as it is sent, without its last two headers.
type alikeRequest struct {
	name, why string
	status    int
	line      string   // method and target
	headers   []string // more than Host
	body      string
}

var alikeRequests = []alikeRequest{
	{"exact", "a path match of its own", 200, "GET /exact", nil, ""},
	{"exact and more", "an exact match is no prefix", 404, "GET /exact/more", nil, ""},
	{"rewrite", "the backend sees another host and path", 200, "GET /prefix/one?two=3", nil, ""},
	{"rewrite by element", "/prefixes is not below /prefix", 404, "GET /prefixes", nil, ""},
	{"by header", "the second backend", 200, "GET /match", []string{"X-Canary: yes"}, ""},
	{"by query", "likewise", 200, "GET /match?canary=1", nil, ""},
	{"by method", "the first backend, with a body", 200, "PUT /match", nil, "hello"},
	{"by nothing", "no rule is left", 404, "GET /match", nil, ""},
	{"headers", "set, added and removed on the way there, set on the way back", 200, "GET /headers", []string{"X-Set: old", "X-Add: one", "X-Remove: gone"}, ""},
	{"client's lies", "what a client says about itself is replaced", 200, "GET /exact", []string{"X-Forwarded-For: 192.0.2.9", "X-Forwarded-Proto: https"}, ""},
	{"redirect", "no port, another scheme and path", 308, "GET /moved?kept=1", nil, ""},
	{"preflight", "answered by the gateway", 204, "OPTIONS /cors", []string{"Origin: https://www.shop.test", "Access-Control-Request-Method: PUT"}, ""},
	{"foreign preflight", "nothing is allowed", 204, "OPTIONS /cors", []string{"Origin: https://www.evil.test", "Access-Control-Request-Method: PUT"}, ""},
	{"cors", "the answer is marked", 200, "GET /cors", []string{"Origin: https://www.shop.test"}, ""},
	{"in time", "the backend is quick enough", 200, "GET /slow", nil, ""},
	{"too late", "the backend is not", 504, "GET /slow?delay=2s", nil, ""},
	{"missing backend", "the rule answers for what is not there", 500, "GET /missing", nil, ""},
	{"weight", "all of it goes to the second backend", 200, "GET /all-to-b", nil, ""},
	{"head", "headers alone", 200, "HEAD /exact", nil, ""},
	{"spelling", "a host has no case and its dot means nothing", 200, "GET /exact", []string{"Host: SHOP.test."}, ""},
	{"other host", "nobody's", 404, "GET /exact", []string{"Host: other.test"}, ""},
}

func (r alikeRequest) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s HTTP/1.1\r\n", r.line)
	if len(r.headers) == 0 || !strings.HasPrefix(r.headers[0], "Host:") {
		out.WriteString("Host: shop.test\r\n")
	}
	for _, h := range r.headers {
		out.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&out, "Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(r.body), r.body)
	return out.String()
}

// theTime is the one thing in an answer that may differ.
var theTime = regexp.MustCompile(`(?m)^Date: .*\r$`)

// exchange sends a request from a fixed address and is all that comes back.
func exchange(t *testing.T, client, gateway netip.Addr, r alikeRequest) string {
	t.Helper()
	d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: client.AsSlice()}}
	conn, err := d.DialContext(t.Context(), "tcp", netip.AddrPortFrom(gateway, 80).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, r.text()); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%s from %s: %v after %q", r.name, gateway, err, answer)
	}
	return theTime.ReplaceAllString(string(answer), "Date: -\r")
}

// statusOf is an answer's status, 0 when it is none.
func statusOf(answer string) int {
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
