package rootsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/consul"
	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/roots"
)

// endpoint starts a bundle endpoint of a CA, and says how a binding names it.
func endpoint(t *testing.T, m *ca.CA, profile spiffe.Profile) (*spiffe.Endpoint, v1alpha1.TrustBundleReference) {
	t.Helper()
	web := newCA(t, ca.Config{})
	e, err := spiffe.StartEndpoint(spiffe.EndpointConfig{CA: m, Web: web, Profile: profile, RefreshHint: 5 * time.Minute})
	do(t, err)
	t.Cleanup(func() { e.Close() })
	ref := v1alpha1.TrustBundleReference{Kind: meshsync.RootsSPIFFE, Name: "example.org", URL: e.URL(), Profile: string(profile), ServerRoots: string(web.Bundle())}
	if profile == spiffe.SPIFFE {
		ref.SPIFFEID, ref.ServerRoots = "spiffe://example.org/spire/server", string(m.Bundle())
	}
	return e, ref
}

// TestPlaces: each kind of place is followed through a rotation, and there is a bundle
// for it before anything is read.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(*testing.T, *ca.CA) v1alpha1.TrustBundleReference
	}{
		{"https_web", func(t *testing.T, m *ca.CA) v1alpha1.TrustBundleReference {
			_, ref := endpoint(t, m, spiffe.Web)
			return ref
		}},
		{"https_spiffe", func(t *testing.T, m *ca.CA) v1alpha1.TrustBundleReference {
			_, ref := endpoint(t, m, spiffe.SPIFFE)
			return ref
		}},
		{"an agent", func(t *testing.T, m *ca.CA) v1alpha1.TrustBundleReference {
			a, err := spiffe.StartAgent(spiffe.AgentConfig{CA: m, Entries: []spiffe.Entry{{Path: "/gatehouse"}}, Socket: filepath.Join(t.TempDir(), "s")})
			do(t, err)
			t.Cleanup(func() { a.Close() })
			a.Federate("other.org", newCA(t, ca.Config{}).Roots()) // whose roots are never merged
			return v1alpha1.TrustBundleReference{Kind: meshsync.RootsWorkload, Name: "example.org", URL: a.Addr()}
		}},
		{"Consul by HTTP", func(t *testing.T, m *ca.CA) v1alpha1.TrustBundleReference {
			s := startConsul(t, m)
			return v1alpha1.TrustBundleReference{Kind: meshsync.RootsConsul, Name: s.Config().TrustDomain, URL: "http://" + s.HTTPAddr()}
		}},
		{"Consul by gRPC", func(t *testing.T, m *ca.CA) v1alpha1.TrustBundleReference {
			s := startConsul(t, m)
			return v1alpha1.TrustBundleReference{Kind: meshsync.RootsConsul, Name: s.Config().TrustDomain, URL: "grpc://" + s.GRPCAddr()}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newCA(t, ca.Config{})
			w := newWorld(t, newClock(), Config{})
			w.Want([]translate.Bound{bound("mesh", c.start(t, m))})
			if b := w.only(); b.Problem == "" && len(b.Roots) == 0 {
				t.Errorf("before anything is read: %+v", b)
			}
			w.until("the first roots", has(m))
			do(t, m.Add(ca.Root{Name: "b"}))
			w.until("the new root", has(m))
			do(t, m.SignBy("b"), m.Drop("a"))
			w.until("the old one to go", has(m))
			if f := w.Figures(); len(f) != 1 || f[0].Binding != "mesh" || f[0].Rotations < 2 || f[0].Failing {
				t.Errorf("figures %+v", f)
			}
			w.Want(nil)
			if change := w.take(); len(change.Delete) != 1 || len(w.known) != 0 {
				t.Errorf("when nobody names it any more: %+v", change)
			}
		})
	}
}

func startConsul(t *testing.T, m *ca.CA) *consul.Server {
	t.Helper()
	s, err := consul.Start(consul.Config{CA: m})
	do(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestAwayForADay: last good roots stay, nobody is told at first, and after a day it is
// told since when. What comes back with an older sequence is refused.
func TestAwayForADay(t *testing.T) {
	m := newCA(t, ca.Config{})
	e, ref := endpoint(t, m, spiffe.Web)
	w := newWorld(t, newClock(), Config{})
	w.Want([]translate.Bound{bound("mesh", ref)})
	do(t, m.Add(ca.Root{Name: "b"}))
	w.until("the roots", has(m))
	e.Break(spiffe.Overload, 0)
	w.until("an attempt that fails", func(translate.Bundle) bool { return w.Figures()[0].Failing })
	since := w.Figures()[0].Since
	stale := w.until("somebody to be told", func(b translate.Bundle) bool { return b.Problem != "" })
	says(t, stale, "could not be read since "+since.UTC().Format(time.RFC3339), "status 503")
	if away := w.clock.Now().Sub(since); away < 24*time.Hour || away > 26*time.Hour {
		t.Errorf("it was told after %s, want a day", away)
	}
	if !roots.SameRoots(stale.Roots, parsed(m)) {
		t.Error("the last good roots are gone")
	}
	sequence := w.Figures()[0].Sequence
	e.Break("", 0)
	w.until("it to come back", has(m))
	last := map[string][]roots.Bundle{}
	for name, list := range w.Remember() {
		list[0].Sequence = sequence + 1000
		last[name] = list
	}
	next := newWorld(t, w.clock, Config{})
	next.Recall(last)
	next.Want([]translate.Bound{bound("mesh", ref)})
	if b := next.only(); b.Problem != "" || !roots.SameRoots(b.Roots, parsed(m)) {
		t.Errorf("after a restart, before anything was read: %d roots, problem %q", len(b.Roots), b.Problem)
	}
	old := parsed(m)
	do(t, m.Add(ca.Root{Name: "c"}))
	next.until("a refusal", func(translate.Bundle) bool { return next.Figures()[0].Failing })
	if b := next.only(); !roots.SameRoots(b.Roots, old) {
		t.Errorf("an older sequence was taken: %d roots", len(b.Roots))
	}
}

const secretToken = "5b0e4a3c-consul-token"

// TestToken: Consul is told the token of the Secret, a new one when that changes, and it
// comes up nowhere else.
func TestToken(t *testing.T) {
	m := newCA(t, ca.Config{})
	s := startConsul(t, m)
	var wanted, held atomic.Value
	wanted.Store(secretToken)
	held.Store("")
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.HTTPAddr()})
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("X-Consul-Token"); got != wanted.Load() {
			http.Error(rw, "Permission denied: token "+got+" is unknown", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(web.Close)
	w := newWorld(t, newClock(), Config{Token: func(_ context.Context, secret string) (string, error) {
		if text := held.Load().(string); secret == "consul" && text != "" {
			return text, nil
		}
		return "", errors.New("it is not there")
	}})
	w.Want([]translate.Bound{bound("mesh", v1alpha1.TrustBundleReference{
		Kind: meshsync.RootsConsul, Name: s.Config().TrustDomain, URL: web.URL, TokenSecret: "consul",
	})})
	none := w.until("it to be refused", func(b translate.Bundle) bool { return strings.Contains(b.Problem, "403") })
	says(t, none, "Secret consul: it is not there")
	held.Store("wrong-" + secretToken)
	wrong := w.until("the wrong one to be refused", func(b translate.Bundle) bool { return !strings.Contains(b.Problem, "is not there") })
	held.Store(secretToken)
	w.until("the roots", has(m))
	wanted.Store("next")
	held.Store("next")
	do(t, m.Add(ca.Root{Name: "b"}))
	w.until("the new token to be used", has(m))
	if all := fmt.Sprintf("%+v %+v %+v %+v %#v", none, wrong, w.known, w.Figures(), w.tokens); strings.Contains(all, secretToken) {
		t.Errorf("the token is told: %s", all)
	}
}

// TestWhoCannotBeAsked: what is named without saying where it is stays with translation;
// two ways to ask one place are two places, and one way for two bindings is one.
func TestWhoCannotBeAsked(t *testing.T) {
	mesh := func(name string, at meshsync.RootsAt) translate.Bound {
		b := bound(name)
		b.Mesh.Roots = []meshsync.RootsAt{at}
		return b
	}
	agent := meshsync.RootsAt{Kind: meshsync.RootsWorkload, Name: "example.org"}
	closed := v1alpha1.TrustBundleReference{Kind: meshsync.RootsSPIFFE, Name: "a", URL: "https://127.0.0.1:1/"}
	other := closed
	other.ServerRoots = string(newCA(t, ca.Config{}).Bundle())
	for _, c := range []struct {
		name, why, socket string
		bounds            []translate.Bound
		want              int
	}{
		{"a mesh's agent", "this process has none", "", []translate.Bound{mesh("m", agent)}, 0},
		{"a mesh's agent, and ours", "", "unix:///nowhere", []translate.Bound{mesh("m", agent)}, 1},
		{"a Consul", "its address is in no object", "", []translate.Bound{mesh("m", meshsync.RootsAt{Kind: meshsync.RootsConsul, Namespace: "consul"})}, 0},
		{"a ConfigMap", "translation reads it", "", []translate.Bound{mesh("m", meshsync.RootsAt{Kind: "ConfigMap", Name: "x"})}, 0},
		{"for two bindings", "", "", []translate.Bound{bound("m", closed), bound("n", closed)}, 1},
		{"in two ways", "nobody knows whether they say the same", "", []translate.Bound{bound("m", closed), bound("n", other)}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, newClock(), Config{Socket: c.socket})
			w.Want(c.bounds)
			if change := w.take(); len(change.Put) != c.want {
				t.Errorf("%s: %d bundles, want %d", c.why, len(change.Put), c.want)
			}
		})
	}
}

// TestAwait: who reads once waits for every place, and not for one that hangs.
func TestAwait(t *testing.T) {
	m := newCA(t, ca.Config{})
	_, ref := endpoint(t, m, spiffe.Web)
	w := newWorld(t, newClock(), Config{})
	w.Want([]translate.Bound{bound("mesh", ref)})
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if left := w.Await(ctx); len(left) > 0 || !has(m)(w.only()) {
		t.Errorf("left %v, bundle %+v", left, w.only())
	}
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	w.Want([]translate.Bound{bound("mesh", ref, v1alpha1.TrustBundleReference{Kind: meshsync.RootsConsul, Name: "c", URL: hangs.URL})})
	brief, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	if left := w.Await(brief); len(left) != 1 || !strings.Contains(left[0], "Consul at 127.0.0.1") {
		t.Errorf("left %v, want the one that hangs", left)
	}
	w.Want(nil)
}
