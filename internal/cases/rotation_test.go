package cases

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// mutualYAML is the gateway of the rotation cases: it shows Secret me to backends.
var mutualYAML = strings.TrimRight(gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`), "\n") + `
  tls: {backend: {clientCertificateRef: {name: me}}}
`

var mutualRoute = routeYAML("r", `
  rules:
  - {matches: [{path: {value: /one}}], backendRefs: [{name: one, port: 80}]}
  - {matches: [{path: {value: /two}}], backendRefs: [{name: two, port: 80}]}`)

// load asks both backends again and again.
type load struct {
	round chan struct{} // gives one after each round, to whoever waits
	stop  func()
	wrong []string // to be read after stop
}

func (h *harness) load() *load {
	l := &load{round: make(chan struct{})}
	end, done := make(chan struct{}), make(chan struct{})
	l.stop = sync.OnceFunc(func() { close(end); <-done })
	h.Cleanup(l.stop)
	c := h.client("edge")
	go func() {
		defer close(done)
		for {
			for _, name := range []string{"one", "two"} {
				if a, err := c.get("http://x.test/" + name); err != nil {
					l.wrong = append(l.wrong, err.Error())
				} else if a.String() != name {
					l.wrong = append(l.wrong, name+" is answered by "+a.String())
				}
			}
			select {
			case <-end:
				return
			case l.round <- struct{}{}:
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return l
}

// rounds waits until everything has been asked again, at least twice.
func (l *load) rounds() {
	for range 3 {
		<-l.round
	}
}

// TestC45 rotates a mesh's CA as it is published: the second root and a client
// certificate of it arrive at once. The root must be trusted before the
// certificate is shown, and while it cannot be, the old one is shown; nobody waits
// for either.
func TestC45(t *testing.T) {
	r1, r2 := newAuthority(t, "R1"), newAuthority(t, "R2")
	h := begin(t, mutualYAML, mutualRoute, policyYAML("one", "ConfigMap", "ca"), policyYAML("two", "ConfigMap", "ca"))
	old, next := r1.issue(t), r2.issue(t)
	one := h.tlsBackend("one", r1.issue(t, "one.internal.test"), r1)
	two := h.tlsBackend("two", r1.issue(t, "two.internal.test"), r1)
	h.put(h.configMap("ca", "ca.crt", r1.pem()), secretYAML("apps", "me", old))
	h.apply()
	load := h.load()
	load.rounds()

	one.set(r1.issue(t, "one.internal.test"), r1, r2)
	two.set(r1.issue(t, "two.internal.test"), r1, r2)
	h.put(h.configMap("ca", "ca.crt", r1.pem()+r2.pem()), secretYAML("apps", "me", next))
	h.refuse("UpdateTrust", "", cloud.AccessDenied)
	h.mark()
	h.apply()
	if !h.failedWith(lbmodel.CodeDenied) || slices.Contains(h.writes(), "UpdateCertificate") {
		t.Errorf("the roots could not be uploaded, and these calls were made: %v", h.writes())
	}
	load.rounds()
	h.heal()
	h.mark()
	h.apply()
	load.rounds()
	if got, want := h.writes(), []string{"UpdateTrust", "UpdateCertificate"}; !slices.Equal(got, want) {
		t.Errorf("step 2 makes calls %v, want %v", got, want)
	}
	two.set(r2.issue(t, "two.internal.test"), r1, r2)
	load.rounds()

	one.set(r2.issue(t, "one.internal.test"), r2)
	two.set(r2.issue(t, "two.internal.test"), r2)
	h.put(h.configMap("ca", "ca.crt", r2.pem()))
	h.mark()
	h.apply()
	if got, want := h.writes(), []string{"UpdateTrust"}; !slices.Equal(got, want) {
		t.Errorf("step 3 makes calls %v, want %v", got, want)
	}
	load.rounds()
	if load.stop(); len(load.wrong) > 0 {
		t.Errorf("%d requests failed, the first: %s", len(load.wrong), load.wrong[0])
	}
}

// TestC45Removal comes late: the old root is dropped in the same moment as the
// certificate of it is replaced. The switch is made first, and while it cannot be,
// the old root stays.
func TestC45Removal(t *testing.T) {
	r1, r2 := newAuthority(t, "R1"), newAuthority(t, "R2")
	h := begin(t, mutualYAML, mutualRoute, policyYAML("one", "ConfigMap", "ca"), policyYAML("two", "ConfigMap", "ca"))
	h.tlsBackend("one", r1.issue(t, "one.internal.test"), r1, r2)
	h.tlsBackend("two", r2.issue(t, "two.internal.test"), r1, r2)
	h.put(h.configMap("ca", "ca.crt", r1.pem()+r2.pem()), secretYAML("apps", "me", r1.issue(t)))
	h.apply()
	answers{"http://x.test/one": "one", "http://x.test/two": "two"}.check(h)

	h.put(h.configMap("ca", "ca.crt", r2.pem()), secretYAML("apps", "me", r2.issue(t)))
	h.refuse("UpdateCertificate", "", cloud.AccessDenied)
	h.mark()
	h.apply()
	if slices.Contains(h.writes(), "UpdateTrust") {
		t.Errorf("the old root went before the certificate of it: %v", h.writes())
	}
	h.heal()
	h.mark()
	h.apply()
	if got, want := h.writes(), []string{"UpdateCertificate", "UpdateTrust"}; !slices.Equal(got, want) {
		t.Errorf("calls are made in the order %v, want %v", got, want)
	}
	answers{"http://x.test/one": "502", "http://x.test/two": "two"}.check(h)
}
