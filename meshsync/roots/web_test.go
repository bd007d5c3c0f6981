package roots

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestForGood: what a server that was reached will say again is told at once, and what
// may pass is not.
func TestForGood(t *testing.T) {
	respond := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	to := func(place string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, place, http.StatusFound) }
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusOK)
	}
	for _, tt := range []struct {
		name, why string
		handler   http.HandlerFunc
		stranger  bool // the server's certificate is not of the roots
		want      bool
		says      string
	}{
		{"redirected to clear text", "no bundle is read there", to("http://localhost/"), false, true, "redirected to where no bundle is read"},
		{"redirected for ever", "", to("/"), false, true, "redirected more than 5 times"},
		{"another's certificate", "", respond(200), true, true, "certificate"},
		{"not allowed", "", respond(403), false, true, "status 403"},
		{"not there", "", respond(404), false, true, "status 404"},
		{"too large", "", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxBody+1)) }, false, true, "more than"},
		{"busy", "it passes", respond(429), false, false, "status 429"},
		{"broken", "it passes", respond(500), false, false, "status 500"},
		{"in the middle", "", cut, false, false, "broke off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewTLSServer(tt.handler)
			defer server.Close()
			config := &tls.Config{RootCAs: x509.NewCertPool()}
			if !tt.stranger {
				config.RootCAs.AddCert(server.Certificate())
			}
			at, err := url.Parse(server.URL)
			do(t, err)
			w := newWeb(Start{Clock: Clock{Now: time.Now}}, config, soon, redirectHTTPS)
			_, err = w.get(t.Context(), at, nil)
			if err == nil || errors.As(err, new(refusal)) != tt.want || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %q, for good: %t; %s", err, tt.says, tt.want, tt.why)
			}
		})
	}
}
