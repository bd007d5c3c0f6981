package remote

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// raw sends a request that no client of ours would.
func raw(tb testing.TB, s *running, method, path string, body io.Reader) (int, string) {
	tb.Helper()
	c, err := newClient(Config{Address: s.Address()})
	if err != nil {
		tb.Fatal(err)
	}
	defer c.http.CloseIdleConnections()
	token, err := readToken(s.TokenFile())
	if err != nil {
		tb.Fatal(err)
	}
	request, err := http.NewRequestWithContext(tb.Context(), method, "http://cloud"+path, body)
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := c.http.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// Why: a server is not brought down by a caller, and never repeats a key in what it
// says is wrong.
func TestGarbage(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t)})
	marker := base64.StdEncoding.EncodeToString([]byte("this would be a key"))
	deep := strings.Repeat("[", 100_000)
	cases := []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"no such path", "POST", "/v1/explode", "{}", 404, ""},
		{"no path", "POST", "/", "{}", 404, ""},
		{"another method", "GET", pathList, "", 405, ""},
		{"nothing", "POST", pathList, "", 400, "InvalidArgument"},
		{"no JSON", "POST", pathList, "\x00\xff\x00", 400, "not one JSON value"},
		{"two values", "POST", pathList, "{}{}", 400, "InvalidArgument"},
		{"too deep", "POST", pathCreate, `{"body":` + deep, 400, "not one JSON value"},
		{"unknown field", "POST", pathList, `{"limit":1}`, 400, "field /limit is not of this API"},
		{"wrong type", "POST", pathList, `{"after":"` + marker + `"}`, 400, "field /after"},
		{"key is no base64", "POST", pathCreate, `{"kind":"Certificate","key":{"pkcs8":"` + marker + `!"}}`, 400, "field /key/pkcs8"},
		{"key is no key", "POST", pathCreate, `{"kind":"Certificate","key":{"pkcs8":"` + marker + `"}}`, 400, "not a private key"},
		{"no such kind", "POST", pathCreate, `{"kind":"Moon","location":"local","name":"m","body":{}}`, 400, "InvalidArgument"},
		{"no body", "POST", pathCreate, `{"kind":"Rule","location":"local","name":"m"}`, 400, "InvalidArgument"},
		{"no such object", "POST", pathGet, `{"handle":"../../etc/passwd"}`, 404, "NotFound"},
		{"update of nothing", "POST", pathUpdate, `{"handle":"fake/local/Rule/99","body":null}`, 404, "NotFound"},
		{"delete of nothing", "POST", pathDelete, `{"handle":""}`, 404, "NotFound"},
		{"a negative page", "POST", pathList, `{"after":-5}`, 200, ""},
		{"a huge page", "POST", pathList, `{"after":9223372036854775807}`, 200, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, text := raw(t, s, c.method, c.path, strings.NewReader(c.body))
			if status != c.status || !strings.Contains(text, c.want) {
				t.Errorf("HTTP %d %.200s, want %d with %q", status, text, c.status, c.want)
			}
			if strings.Contains(text, marker) {
				t.Errorf("the answer repeats what was sent: %s", text)
			}
		})
	}
	if err := observe(t, open(t, Config{Address: s.Address()})); err != nil {
		t.Errorf("the server is not well: %v", err)
	}
}

// Why: what a caller sends is read to a bound, and no further.
func TestOversize(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t)})
	body := io.MultiReader(strings.NewReader(`{"name":"`), bytes.NewReader(bytes.Repeat([]byte("x"), maxRequest)), strings.NewReader(`"}`))
	if status, text := raw(t, s, "POST", pathCreate, body); status != 413 || !strings.Contains(text, "InvalidArgument") {
		t.Errorf("a body that is too large: HTTP %d %s", status, text)
	}
	path := pathList + "?" + strings.Repeat("x", 64<<10)
	if status, _ := raw(t, s, "POST", path, strings.NewReader("{}")); status != 431 {
		t.Errorf("a line that is too long: HTTP %d", status)
	}
	if err := observe(t, open(t, Config{Address: s.Address()})); err != nil {
		t.Errorf("the server is not well: %v", err)
	}
}

// Why: who has no token costs nothing: what they send is not read.
func TestNoToken(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t)})
	conn := dial(t, s)
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: cloud\r\nContent-Length: 1000000000\r\n\r\n", pathCreate)
	answer := make([]byte, 12)
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 401" {
		t.Errorf("%q, %v", answer, err)
	}
}

func dial(tb testing.TB, s *running) net.Conn {
	tb.Helper()
	conn, err := net.Dial("unix", strings.TrimPrefix(s.Address(), scheme))
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

// Why: callers that are slow, silent or mad keep nobody else waiting, and do not
// keep the process from ending.
func TestSlowClients(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t)})
	token, err := os.ReadFile(s.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 4096)
	_, _ = rand.Read(noise)
	for range 50 {
		silent, half, mad := dial(t, s), dial(t, s), dial(t, s)
		defer silent.Close()
		defer half.Close()
		defer mad.Close()
		fmt.Fprintf(half, "POST %s HTTP/1.1\r\nHost: cloud\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", pathCreate, bytes.TrimSpace(token))
		_, _ = mad.Write(noise)
	}
	a, gw := account(open(t, Config{Address: s.Address()})), gateway("g", backend(t))
	began := time.Now()
	apply(t, a, gw)
	eventually(t, "traffic", says(s.Bound, "g"))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("an apply took %s", took)
	}
	began = time.Now()
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the end took %s", took)
	}
}

// Why: more calls than can be served are told to come again, not queued without an
// end.
func TestTooManyCalls(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t), Faults: true})
	admin, r := openAdmin(t, s.Address()), open(t, Config{Address: s.Address()})
	if err := admin.Spoil(t.Context(), Fault{Kind: Hang, Call: "Get"}); err != nil {
		t.Fatal(err)
	}
	hung := make(chan error, maxCalls)
	for range maxCalls {
		go func() {
			_, err := r.client.Get(t.Context(), "fake/local/Rule/1")
			hung <- err
		}()
	}
	eventually(t, "the next call", func() error {
		if err := observe(t, r); lbmodel.CodeOf(err) != lbmodel.CodeThrottled {
			return fmt.Errorf("want it Throttled: %w", err)
		}
		return nil
	})
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	for range maxCalls {
		if err := <-hung; err == nil {
			t.Error("a call that hung has succeeded")
		}
	}
}

// Why: however somebody prints a request, the key in it is not printed.
func TestSecretsDoNotPrint(t *testing.T) {
	keys := newRing(t)
	s, err := secretOf(&keys.pair)
	if err != nil {
		t.Fatal(err)
	}
	request := createRequest{Kind: "Certificate", Key: s}
	part := s.PKCS8[20:30]
	inHex, inDecimal := hex.EncodeToString(part), strings.Trim(fmt.Sprintf("%d", part), "[]")
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q"} {
		text := fmt.Sprintf(format, request) + fmt.Sprintf(format, s) + fmt.Sprintf(format, *s)
		if strings.Contains(text, inHex) || strings.Contains(text, inDecimal) {
			t.Errorf("%s prints the key: %s", format, text)
		}
	}
}
