package gcp

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/clock"
	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/internal/gcpcalls"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

const testProject = "my-project"

// projectWorld is an emulated project, reached without sockets.
type projectWorld struct {
	*gcpapi.Server
	keys providers.Keyring
	now  func() time.Time
	tb   testing.TB

	mu      sync.Mutex // one call at a time, so that a fault meets the call that it is meant for
	hook    providertest.Hook
	spoilt  []gcpapi.Fault // that the server does by itself; nil leaves faults to the hook
	serving *snapshot      // what is served; nil after a change
}

// clockOf is a project's clock that the suite moves.
type clockOf func() time.Time

// Now implements clock.Clock.
func (c clockOf) Now() time.Time { return c() }

// Wait implements clock.Clock: the clock stands still.
func (c clockOf) Wait(context.Context, time.Time) error { return nil }

var _ clock.Clock = clockOf(nil)

// Provider implements providertest.World.
func (w *projectWorld) Provider() providers.Provider { return w.client(w) }

// again tries at once again what was refused as one request too many: it is gcpcalls'
// transport without waits, since the tests' time does not pass.
type again struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a again) RoundTrip(r *http.Request) (out *http.Response, err error) {
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for range 5 {
		one := r.Clone(r.Context())
		one.Body = io.NopCloser(bytes.NewReader(body))
		out, err = a.RoundTripper.RoundTrip(one)
		if err != nil || out.StatusCode != http.StatusTooManyRequests && out.StatusCode != http.StatusForbidden {
			return out, err
		}
		text, _ := io.ReadAll(out.Body)
		out.Body = io.NopCloser(bytes.NewReader(text))
		if out.StatusCode == http.StatusForbidden && !bytes.Contains(text, []byte("rateLimitExceeded")) {
			return out, nil
		}
	}
	return out, err
}

// client is a provider whose requests go a way of their own.
func (w *projectWorld) client(way http.RoundTripper) *Provider {
	calls, err := gcpcalls.New(context.Background(), gcpcalls.Config{
		HTTP: &http.Client{Transport: again{way}}, Endpoint: "http://gcp.test", Seed: strconv.Itoa(int(seed.Add(1))), Patience: time.Millisecond,
	})
	if err != nil {
		w.tb.Fatal(err)
	}
	return &Provider{calls: calls, keys: w.keys, now: w.now, project: testProject, memory: newMemory()}
}

// Hook implements providertest.World.
func (w *projectWorld) Hook(h providertest.Hook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = h
}

// RoundTrip implements http.RoundTripper.
func (w *projectWorld) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	fault, call := providertest.Fault{}, callOf(r)
	if w.hook != nil {
		fault = w.hook.Before(call)
	}
	if fault.Kind == providertest.Hang {
		w.mu.Unlock()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	defer w.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if w.spoilt == nil {
		w.SetFaults(nativeFault(fault)...)
		defer w.SetFaults()
	}
	out, err := w.Server.RoundTrip(r)
	if call.Write {
		w.serving = nil
	}
	if w.hook != nil && fault.Kind != providertest.Refuse {
		w.hook.After(call)
	}
	return out, err
}

// callOf is a request as the suite sees it.
func callOf(r *http.Request) providertest.Call {
	_, name, _ := strings.Cut(gcpcalls.Name(r), ":")
	read := r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/listNetworkEndpoints") || strings.HasSuffix(r.URL.Path, "/wait")
	return providertest.Call{Name: name, Write: !read}
}

// nativeFault is a fault as the emulator does it.
func nativeFault(f providertest.Fault) []gcpapi.Fault {
	var one gcpapi.Fault
	switch f.Kind {
	case providertest.Works:
		return nil
	case providertest.LoseReply:
		one.Kind = gcpapi.CutAfter
	case providertest.Stale:
		one.Kind = gcpapi.Stale
	default:
		one = nativeRefusal(f.Code)
	}
	return []gcpapi.Fault{one}
}

func nativeRefusal(code lbmodel.Code) gcpapi.Fault {
	switch code {
	case lbmodel.CodeThrottled:
		return gcpapi.Fault{Kind: gcpapi.Throttle}
	case lbmodel.CodeDenied:
		return gcpapi.Fault{Kind: gcpapi.Refuse, Status: http.StatusForbidden, Reason: store.Forbidden, Message: "Required 'compute.x.y' permission for 'x'"}
	default:
		return gcpapi.Fault{Kind: gcpapi.Refuse}
	}
}

// Settle implements providertest.World: everything happens at once here.
func (w *projectWorld) Settle() {}

// Dump implements providertest.World.
func (w *projectWorld) Dump() []providertest.Object {
	var all map[string]map[string]any
	if err := json.Unmarshal([]byte(w.Server.Dump()), &all); err != nil {
		return []providertest.Object{{Name: "dump", Text: err.Error()}}
	}
	var out []providertest.Object
	for name, fields := range all {
		delete(fields, "usedBy") // who uses it is nothing of its own
		text, _ := json.Marshal(fields, json.Deterministic(true))
		one := providertest.Object{Name: name, Text: string(text)}
		description, _ := fields["description"].(string)
		if own, _ := ownershipOf(description); own.Cluster != "laws" {
			one.Foreign = one.Text
		}
		out = append(out, one)
	}
	return out
}

// snapshot is what is served at a time, with what was computed of it.
type snapshot struct {
	fronts []servedPort
}

// servedPort is one port of an address.
type servedPort struct {
	owner   lbmodel.Owner
	port    int32
	matcher *serve.Matcher
	targets map[string][]lbmodel.Target // by backend service
}

// Answer implements providertest.World: by the rules of the emulator, and not by what
// we think they mean.
func (w *projectWorld) Answer(p providertest.Probe) []lbmodel.Target {
	if w.serving == nil { // the prober asks in the midst of a call, which has the lock
		w.serving = w.look()
	}
	s := w.serving
	var out []lbmodel.Target
	for _, f := range s.fronts {
		if f.owner != p.Owner || f.port != p.Port {
			continue
		}
		a := f.matcher.Answer(serve.Request{Method: http.MethodGet, Host: p.Host, Path: p.Path})
		if a.Forward == nil || a.Forward.Abort != nil && a.Forward.Abort.Percentage == 100 {
			continue
		}
		for _, share := range a.Forward.Shares {
			if share.Weight > 0 {
				out = append(out, f.targets[share.Service]...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// look reads what is served off the project.
func (w *projectWorld) look() *snapshot {
	out := &snapshot{}
	w.Look(func(v store.View) {
		for _, n := range v.List(computeHost, "forwardingRules", "projects/"+testProject) {
			rule := v.Get(n)
			own, ours := ownershipOf(store.Text(rule, "description"))
			target := v.Get(nameOf(store.Text(rule, "target")))
			urls := v.Get(nameOf(store.Text(target, "urlMap")))
			if !ours || urls == nil || target["sslCertificates"] == nil && target["certificateMap"] == nil && strings.Contains(store.Text(rule, "target"), "HttpsProx") {
				continue
			}
			port, _, _ := strings.Cut(store.Text(rule, "portRange"), "-")
			number, _ := strconv.Atoi(port)
			f := servedPort{owner: own.owner(), port: int32(number), targets: map[string][]lbmodel.Target{}}
			f.matcher = w.matcher(v, n, rule, urls, &f)
			out.fronts = append(out.fronts, f)
		}
	})
	return out
}

const computeHost = "compute.googleapis.com"

func nameOf(link string) store.Name {
	_, path, _ := strings.Cut(link, "/compute/v1/")
	return store.NameOf(computeHost, path)
}

func (w *projectWorld) matcher(v store.View, n store.Name, rule, urls store.Object, f *servedPort) *serve.Matcher {
	region := n.Location()
	if region == global {
		region = ""
	}
	flavour, _ := serve.FlavourOf(store.Text(rule, "loadBalancingScheme"), region)
	c := serve.Config{Flavour: flavour, Scheme: "http", Port: f.port, Services: map[string]serve.BackendService{}}
	if f.port == 443 {
		c.Scheme = "https"
	}
	if err := store.Decode(urls, &c.URLMap); err != nil {
		panic(err)
	}
	for _, to := range v.Store().Refers(nameOf(store.Text(urls, "selfLink")), urls) {
		backend := v.Get(to)
		ref := serve.Ref(to.Path())
		var spec serve.BackendService
		if err := store.Decode(backend, &spec); err != nil {
			panic(err)
		}
		c.Services[ref] = spec
		for _, b := range store.List(backend, "backends") {
			one, _ := b.(store.Object)
			group := v.Get(nameOf(store.Text(one, "group")))
			for _, e := range store.List(group, "@endpoints") {
				at, _ := e.(store.Object)
				f.targets[ref] = append(f.targets[ref], lbmodel.Target(fmt.Sprintf("%s:%v", store.Text(at, "ipAddress"), at["port"])))
			}
		}
	}
	m, err := serve.New(c, serve.Switches{})
	if err != nil {
		panic(err)
	}
	return m
}

// must is a value that a test cannot go on without.
func must[T any](tb testing.TB, v T, err error) T {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// request is a plain one, as an operator's tools make it.
func (s *shop) request(method, path, body string) string {
	s.Helper()
	r := must2(http.NewRequestWithContext(s.Context(), method, "http://gcp.test"+path, strings.NewReader(body)))(s)
	answer := must2(s.Server.RoundTrip(r))(s)
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		s.Fatalf("%s %s: %s", method, path, text)
	}
	return string(text)
}
