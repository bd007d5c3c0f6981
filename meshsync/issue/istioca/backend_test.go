package istioca

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/meshsync/issue"
)

// backend is a pod in strict mode, with a client certificate of the mesh's CA.
func (w *world) backend() *inbound.Pod {
	w.Helper()
	leaf, err := w.ca.Issue(ca.Request{URIs: []string{"spiffe://cluster.local/ns/apps/sa/cart"}, Life: 240 * time.Hour})
	w.do(err)
	pod, err := inbound.Start(inbound.Config{
		Proxy: inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP}, Leaf: leaf, Roots: w.ca.Roots(),
		App: inbound.App{Kind: inbound.Both, Name: "cart"}, Now: w.theirs.now,
	})
	w.do(err)
	w.Cleanup(func() { pod.Close() })
	return pod
}

// accepted says whether a backend takes a client certificate, by a request over a
// connection of its own.
func (w *world) accepted(pod *inbound.Pod, pair tls.Certificate) bool {
	w.Helper()
	// Whom the gateway speaks to is not what is tried here.
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Time: w.ours.now, NextProtos: []string{"http/1.1"},
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }},
	}}
	answer, err := client.Get("https://" + pod.Addr() + "/")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// TestBackendsNeverRefuse: two pods, of which one takes new roots nine minutes later
// than the other, take the gateway's certificate at every minute of a rotation. By
// the same script a certificate that is not held back is refused.
func TestBackendsNeverRefuse(t *testing.T) {
	for _, tc := range []struct {
		name, why   string
		propagation time.Duration
		refusals    bool
	}{
		{name: "gate", why: "R2", propagation: 10 * time.Minute},
		{name: "no gate", why: "the script finds what the gate prevents", refusals: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			var published issue.Published
			w.trusted = published.Trusted(func(string) time.Duration { return tc.propagation })
			w.start()
			pods := []*inbound.Pod{w.backend(), w.backend()}
			live, refused, switched := tls.Certificate{}, 0, 0
			for minute := range 40 {
				switch minute {
				case 2:
					w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b")) // too soon, as operators do it
					pods[0].Trust(w.ca.Roots())
				case 11:
					pods[1].Trust(w.ca.Roots())
				case 30:
					w.do(w.ca.Drop("a"))
					pods[0].Trust(w.ca.Roots())
				case 39:
					pods[1].Trust(w.ca.Roots())
				}
				published.See(binding, w.roots(), w.ours.now())
				if pair, err := w.ring(t.Context(), id); err == nil { // a provider renews at every look
					live = pair
					switched++
					w.use(pair)
				}
				for _, pod := range pods {
					if !w.accepted(pod, live) {
						refused++
					}
				}
				w.ours.pass(time.Minute)
				w.theirs.pass(time.Minute)
			}
			if refused > 0 != tc.refusals || switched < 20 {
				t.Errorf("%d refusals with %d certificates: %s", refused, switched, tc.why)
			}
			t.Logf("%d refusals, %d certificates", refused, switched)
		})
	}
}
