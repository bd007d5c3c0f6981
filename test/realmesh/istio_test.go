//go:build e2e

package realmesh

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/test/cluster"
)

// TestIstio has a gateway outside of the cluster be a member of a real Istio's mesh:
// istiod knows it by a token of its ServiceAccount, as the API server confirms.
func TestIstio(t *testing.T) {
	w := newWorld(t, usual)
	w.part("mesh check before anybody joins", func() { w.meshCheck("no MeshBinding binds it") })
	w.cluster.Apply(t, fmt.Sprintf(binding, "24h"))
	m := w.manager(10268)
	w.url()
	w.part("the pods know the gateway", w.known)
	w.part("mesh check", func() { w.meshCheck("joined by shop/edge", "Direct") })
	m = w.anew("Istio", m, 10269)
	url := w.url()
	m.Signal(t, stopSignal)

	stop := w.controller()
	w.settle()
	w.part("rotation", func() { w.rotate(url) })
	stop()
}

// TestIstioRevision is the same of an Istio that is installed under the name of a
// revision, with a trust domain of its own: there is no ConfigMap istio.
func TestIstioRevision(t *testing.T) {
	w := newWorld(t, installation{revision: "blue", config: "istio-blue", domain: "blue.test"})
	w.cluster.Apply(t, fmt.Sprintf(binding, "24h"))
	w.manager(10273)
	w.url()
	w.part("the pods know the gateway", w.known)
	w.part("mesh check", func() { w.meshCheck("joined by shop/edge", "Direct") })
}

// part runs a part of the test under its own name.
func (w *world) part(name string, do func()) {
	outer := w.T
	defer func() { w.T, w.istiod.T = outer, outer }()
	outer.Run(name, func(t *testing.T) {
		w.T, w.istiod.T = t, t
		do()
	})
}

// known wants each pod to have seen this gateway, and nobody else.
func (w *world) known() {
	w.Helper()
	for _, at := range w.stats(w.Context()) {
		eventually(w.T, func(ctx context.Context) error {
			if err := get(ctx, clientOnce(), w.url()); err != nil {
				return err
			}
			s, err := ask(ctx, at)
			if err == nil && (len(s.Clients) != 1 || s.Clients[w.account] == 0) {
				err = fmt.Errorf("%s saw %v, want %s", at, s.Clients, w.account)
			}
			return err
		})
	}
}

// rotate changes istiod's plugged in CA as Istio's operators do (istio #30947), with a
// restart of istiod each time, and renews by the clock at the end.
func (w *world) rotate(url string) {
	w.Helper()
	a, b := w.istiod.roots["a"].id, w.istiod.roots["b"].id
	stats := w.stats(w.Context())
	r := run{
		tb: w, name: "Istio", url: url, stats: stats, unverified: w.unverified,
		changes: func() map[string]int { return w.cloud.Changes(w.T) },
		issued:  func() int { return int(w.issued.Load()) },
	}
	plug := func(signer string, bundle ...string) {
		w.istiod.plug(signer, bundle...)
		w.istiod.restart()
	}
	r.under([]phase{
		{name: "nothing changes", do: func() {}},
		{name: "A+B, signed by A", want: map[string]int{"UpdateTrust": 1}, do: func() {
			plug("a", "a", "b")
			w.wantRoots("istio", 2)
		}},
		{name: "A+B+B, signed by B", do: func() {
			plug("b", "a", "b", "b")
			w.podsHave(stats, 3) // by the first of the second root
		}},
		{name: "B", want: map[string]int{"UpdateTrust": 2, "UpdateCertificate": 1}, do: func() {
			plug("b", "b")
			w.shows(stats, b)
			w.wantRoots("istio", 1)
		}},
		{name: "two thirds of the certificate's life pass", want: map[string]int{"UpdateCertificate": 1}, do: func() {
			issued := w.issued.Load()
			w.skew.Store(int64(17 * time.Hour))
			// The next one lives longer, or it would be due at once by this clock.
			w.cluster.Apply(w, fmt.Sprintf(binding, "72h"))
			eventually(w.T, func(context.Context) error {
				if w.issued.Load() == issued {
					return fmt.Errorf("nothing was issued")
				}
				return nil
			})
		}},
	})
	for _, at := range stats {
		s, err := ask(w.Context(), at)
		if err != nil {
			w.Fatal(err)
		}
		if s.Authorities[a] == 0 || s.Authorities[b] == 0 || len(s.Clients) != 1 {
			w.Errorf("%s saw clients %v of authorities %v, want one of %s and %s", at, s.Clients, s.Authorities, a, b)
		}
	}
}

// podsHave waits until each pod has so many certificates of the root that signs last.
func (w *world) podsHave(stats []string, n int) {
	w.Helper()
	for _, at := range stats {
		eventually(w.T, func(ctx context.Context) error {
			s, err := ask(ctx, at)
			if err == nil && (len(s.Own) < 2 || s.Own[w.istiod.roots["b"].signer] < n) {
				err = fmt.Errorf("%s has certificates of %v", at, s.Own)
			}
			return err
		})
	}
}

// shows waits until each pod has seen the gateway with a certificate of a root.
func (w *world) shows(stats []string, root string) {
	w.Helper()
	for _, at := range stats {
		eventually(w.T, func(ctx context.Context) error {
			s, err := ask(ctx, at)
			if err == nil && s.Authorities[root] == 0 {
				err = fmt.Errorf("%s saw %v, want %s", at, s.Authorities, root)
			}
			return err
		})
	}
}

// meshCheck wants the command to find what istiod made, and to say more of it.
func (w *world) meshCheck(says ...string) {
	w.Helper()
	program := filepath.Join(w.TempDir(), "gatehouse")
	if err := cluster.Build(w.Context(), "gatehouse.dev/cmd/gatehouse", program); err != nil {
		w.Fatal(err)
	}
	cmd := exec.CommandContext(w.Context(), program, "mesh", "check", "--all", "--context", "test")
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+w.cluster.Kubeconfig())
	out, err := cmd.CombinedOutput()
	w.Logf("gatehouse mesh check: %v\n%s", err, out)
	if err != nil {
		w.Error(err)
	}
	for _, want := range append(says, "istio.io/istio", "STRICT", "trust domain "+w.istiod.install.domain, "1 root", "shop/api:80") {
		if !strings.Contains(string(out), want) {
			w.Errorf("it does not say %s", want)
		}
	}
}
