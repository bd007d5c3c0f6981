//go:build e2e

package realmesh

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/roots"
	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/certs"
	"gatehouse.dev/test/cluster/programs"
)

// stopSignal ends a server as its operators do.
const stopSignal = syscall.SIGTERM

func eventually(tb testing.TB, ask func(context.Context) error) {
	tb.Helper()
	cluster.Eventually(tb, time.Minute, ask)
}

// TestSPIRE has a gateway lead to workloads of a real SPIRE while its root is
// rotated as SPIRE's documentation tells: prepare, activate, taint, revoke.
func TestSPIRE(t *testing.T) {
	s := startSPIRE(t)
	program := buildWorkload(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.register(gatewayID, self)
	backends, stats := s.carts(program, gatewayID)
	e := startEdge(t, s.agent(), backends)
	b := s.watchEndpoint(e)
	url := e.url()
	eventually(t, func(ctx context.Context) error {
		_, err := read(ctx, clientOnce(), url)
		return err
	})
	s.part("rotation", func() { s.rotate(e, b, url, stats) })
	s.part("bundle endpoint of profile https_web", func() { s.overWeb(e) })
}

// carts starts three workloads that the agent knows, and lets one client in.
func (s *spire) carts(program, client string) (backends []netip.AddrPort, stats []string) {
	s.Helper()
	s.register(cartID, program)
	for n := range 3 {
		at := netip.MustParseAddr(fmt.Sprintf("198.19.3.%d", n+1))
		if err := cluster.AddAddress(at); err != nil {
			s.Fatal(err)
		}
		b, told := netip.AddrPortFrom(at, 8080), netip.AddrPortFrom(at, 8081).String()
		programs.Run(s.T, fmt.Sprintf("cart-%d", n), program, "-agent", s.agent(), "-listen", b.String(), "-stats", told, "-clients", client)
		backends, stats = append(backends, b), append(stats, told)
	}
	for _, at := range stats {
		eventually(s.T, func(ctx context.Context) error { _, err := ask(ctx, at); return err })
	}
	return backends, stats
}

// part runs a part of the test under its own name.
func (s *spire) part(name string, do func()) {
	outer := s.T
	defer func() { s.T = outer }()
	outer.Run(name, func(t *testing.T) {
		s.T = t
		do()
	})
}

// rotate does it under load. The least is one change of the roots to add one, one to
// drop the other, and one of the certificate; that a root was dropped is written down
// too.
func (s *spire) rotate(e *edge, b *bundle, url string, stats []string) {
	s.Helper()
	first := s.authorities().Active.ID
	var second string
	r := run{
		tb: s, name: "SPIRE", url: url, stats: stats,
		changes:    func() map[string]int { return changesOf(e.local) },
		unverified: func() int { return unverifiedOf(e.local) },
		issued:     func() int { c := changesOf(e.local); return c["CreateCertificate"] + c["UpdateCertificate"] },
	}
	r.under([]phase{
		{name: "nothing changes", do: func() {}},
		{name: "prepare B", want: map[string]int{"UpdateTrust": 1}, do: func() {
			s.local("prepare", "")
			second = s.authorities().Prepared.ID
			e.wantRoots(s.T, 2)
			b.wantRoots(s.T, 2)
		}},
		{name: "activate B", do: func() { s.local("activate", second) }},
		{name: "taint A: the agent renews", want: map[string]int{"UpdateCertificate": 1}, do: func() {
			s.local("taint", first)
			eventually(s.T, func(ctx context.Context) error { return movedTo(ctx, e, second, stats) })
		}},
		{name: "revoke A", want: map[string]int{"UpdateTrust": 2}, do: func() {
			s.local("revoke", first)
			b.wantRoots(s.T, 1)
			e.wantRoots(s.T, 1)
		}},
	})
	for _, at := range stats {
		saw, err := ask(s.Context(), at)
		if err != nil {
			s.Fatal(err)
		}
		if saw.Authorities[first] == 0 || saw.Authorities[second] == 0 || len(saw.Authorities) != 2 || len(saw.Clients) != 1 || saw.Clients[gatewayID] == 0 {
			s.Errorf("%s saw clients %v of authorities %v, want %s of %s and %s", at, saw.Clients, saw.Authorities, gatewayID, first, second)
		}
	}
}

// movedTo says who does not use an authority yet.
func movedTo(ctx context.Context, e *edge, authority string, stats []string) error {
	if leaf := e.leaf(); leaf == nil || leaf.Authority != authority {
		return fmt.Errorf("the gateway shows %+v, want one of authority %s: %s", leaf, authority, e.said())
	}
	for _, at := range stats {
		saw, err := ask(ctx, at)
		if err != nil {
			return err
		}
		if saw.Own[authority] == 0 || saw.Authorities[authority] == 0 {
			return fmt.Errorf("%s has certificates of %v and clients of %v, want %s", at, saw.Own, saw.Authorities, authority)
		}
	}
	return nil
}

// wantRoots waits until the gateway's cloud has as many.
func (e *edge) wantRoots(t *testing.T, n int) {
	t.Helper()
	eventually(t, func(context.Context) error {
		if got := e.trusts(); got != n {
			return fmt.Errorf("the gateway trusts %d roots, want %d: %s", got, n, e.said())
		}
		return nil
	})
}

// bundle is the server's bundle endpoint, as Gatehouse reads it.
type bundle struct{ hub *roots.Hub }

// quick looks all the time; an endpoint is looked at every minute at most.
func quick() roots.Clock {
	return roots.Clock{Now: time.Now, After: func(d time.Duration) <-chan time.Time { return time.After(min(d, 200*time.Millisecond)) }}
}

// watchEndpoint reads the bundle endpoint of profile https_spiffe, beginning with the
// roots that the agent tells of.
func (s *spire) watchEndpoint(e *edge) *bundle {
	s.Helper()
	eventually(s.T, func(context.Context) error {
		if len(e.roots()) == 0 {
			return fmt.Errorf("the agent tells of no roots: %+v", e.hub.Of(workloadAPI))
		}
		return nil
	})
	b := &bundle{hub: roots.NewHub(roots.Config{Clock: quick()})}
	s.Cleanup(b.hub.Close)
	b.hub.Set(map[string]roots.Source{"": roots.Endpoint{
		TrustDomain: domain, URL: "https://" + bundleServer, Profile: roots.SPIFFE,
		ID: "spiffe://example.org/spire/server", Bootstrap: textOf(e.roots()),
	}})
	b.wantRoots(s.T, 1)
	return b
}

func textOf(all []lbmodel.Root) string { return roots.Bundle{Roots: all}.PEM() }

// wantRoots waits until the endpoint tells of as many.
func (b *bundle) wantRoots(t *testing.T, n int) {
	t.Helper()
	eventually(t, func(context.Context) error {
		for _, got := range b.hub.Of("") {
			if len(got.Roots) == n && got.Problem == "" {
				t.Logf("the bundle endpoint has %d roots, sequence %d", n, got.Sequence)
				return nil
			}
		}
		return fmt.Errorf("the bundle endpoint tells of %+v, want %d roots", b.hub.Of(""), n)
	})
}

// overWeb restarts the server with a web server's certificate at its bundle endpoint.
func (s *spire) overWeb(e *edge) {
	s.Helper()
	ca, err := certs.NewAuthority("web")
	if err != nil {
		s.Fatal(err)
	}
	pair, err := ca.Server([]netip.Addr{netip.MustParseAddr("127.0.0.1")}, "bundle.example.org")
	if err != nil {
		s.Fatal(err)
	}
	for name, data := range map[string][]byte{"web.crt": pair.Cert, "web.key": pair.Key} {
		write(s, filepath.Join(s.dir, name), "%s", data)
	}
	s.serve(profileWeb)
	b := &bundle{hub: roots.NewHub(roots.Config{Clock: quick()})}
	s.Cleanup(b.hub.Close)
	b.hub.Set(map[string]roots.Source{"": roots.Endpoint{TrustDomain: domain, URL: "https://" + bundleServer, Profile: roots.Web, WebRoots: string(ca.PEM)}})
	b.wantRoots(s.T, 1)
	if got := b.hub.Of("")[0]; !roots.SameRoots(got.Roots, e.roots()) {
		s.Errorf("the bundle endpoint tells of other roots than the agent: %+v", got)
	}
}
