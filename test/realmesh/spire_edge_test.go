//go:build e2e

package realmesh

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	fakelocal "gatehouse.dev/fake/local"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
	"gatehouse.dev/meshsync/issue/spiffeca"
	"gatehouse.dev/meshsync/roots"
	"gatehouse.dev/providers"
)

const (
	spireBinding = "MeshBinding/spire"
	workloadAPI  = "agent" // the Hub's name of the source
	// overlap is how long a root stays that the mesh has dropped: the life of its
	// leaves, an hour, would be too long for a test.
	overlap = 3 * time.Second
	passes  = 100 * time.Millisecond
)

// edge is a gateway whose roots and certificate come from a real SPIFFE agent, by
// Gatehouse's own source, keyring and provider; what it should be is written here.
type edge struct {
	*testing.T
	agent     string
	backends  []netip.AddrPort
	local     *fakelocal.Local
	account   *providers.Account
	hub       *roots.Hub
	published issue.Published
	held      atomic.Pointer[lbmodel.Held] // what the agent has now

	mu   sync.Mutex
	last string // what the last pass said
}

func startEdge(t *testing.T, agent string, backends []netip.AddrPort) *edge {
	t.Helper()
	e := &edge{T: t, agent: agent, backends: backends, hub: roots.NewHub(roots.Config{})}
	t.Cleanup(e.hub.Close)
	e.hub.Set(map[string]roots.Source{workloadAPI: roots.Workload{Socket: agent, TrustDomain: domain}})
	ring := issue.Keyring(issue.Config{
		Issuers: func(lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) {
			return spiffeca.New(agent), meshsync.Account{}, nil
		},
		Roots: func(string) []lbmodel.Root { return e.roots() },
		Live:  func(lbmodel.Identity) (*lbmodel.Leaf, error) { return e.leaf(), nil },
		// An agent tells its workloads of a root within a second.
		Trusted: e.published.Trusted(func(string) time.Duration { return 2 * time.Second }),
	})
	var err error
	if e.local, err = fakelocal.Open(fakelocal.Config{Keyring: ring, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}); err != nil {
		t.Fatal(err)
	}
	if err := e.local.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.account = providers.NewAccount(providers.Config{Provider: e.local.Provider, Cluster: "real", Patience: e.local.Patience()})
	e.run()
	return e
}

// run makes a pass every moment until the test ends.
func (e *edge) run() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			said := ""
			if err := e.pass(ctx); err != nil {
				said = err.Error()
			}
			e.mu.Lock()
			e.last = said
			e.mu.Unlock()
			time.Sleep(passes)
		}
	})
	running.Go(func() { // of a tainted authority the agent has nothing any more, and its bundle has it still
		spiffeca.New(e.agent).Watch(ctx, func(all map[string]lbmodel.Held) {
			if h, is := all[gatewayID]; is {
				e.held.Store(&h)
			}
		})
	})
	e.Cleanup(func() {
		cancel()
		running.Wait()
		end, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		if err := e.local.Shutdown(end); err != nil {
			e.Log(err)
		}
	})
}

func (e *edge) pass(ctx context.Context) error {
	e.published.See(spireBinding, e.roots(), time.Now())
	gw := e.gateway()
	e.account.Want(gw)
	plan, err := e.account.Plan(ctx, []lbmodel.Owner{gw.Owner})
	if err != nil {
		return err
	}
	out := e.account.Apply(ctx, plan, nil)
	return out.Err()
}

// said is what the last pass could not do.
func (e *edge) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// roots are those that the agent tells of now.
func (e *edge) roots() []lbmodel.Root {
	for _, b := range e.hub.Of(workloadAPI) {
		if b.Name == domain {
			return b.Roots
		}
	}
	return nil
}

// leaf is what the gateway shows now.
func (e *edge) leaf() *lbmodel.Leaf {
	for _, o := range e.local.Cloud.Dump() {
		if o.Leaf != nil {
			return o.Leaf
		}
	}
	return nil
}

// trusts are the roots that the gateway's cloud holds.
func (e *edge) trusts() int {
	for _, g := range e.local.Cloud.Serving() {
		for _, t := range g.Gateway.Trust {
			return len(t.Roots)
		}
	}
	return 0
}

func (e *edge) gateway() lbmodel.Gateway {
	id := lbmodel.Identity{Name: spireBinding, Issuer: spireBinding, KeyType: issue.KeyType, SPIFFEID: gatewayID}
	id.Renew.Held = e.held.Load()
	trust := lbmodel.Trust{Name: spireBinding, Roots: e.roots(), Overlap: lbmodel.Duration(overlap)}
	trust.Unknown = len(trust.Roots) == 0
	pool := lbmodel.Pool{Name: "cart", Group: "apps/cart:80", Protocol: lbmodel.PoolHTTP1, TLS: &lbmodel.BackendTLS{
		SNI: "cart.apps.svc", SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: cartID}},
		Trust: spireBinding, Identity: spireBinding, Floor: lbmodel.TLSClientAndServer,
	}}
	for _, b := range e.backends {
		pool.Endpoints = append(pool.Endpoints, lbmodel.Endpoint{Address: b.Addr().String(), Port: int32(b.Port()), Ready: true})
	}
	return lbmodel.Gateway{
		Owner:      lbmodel.Owner{Cluster: "real", Kind: "Gateway", Namespace: "edge", Name: "edge", UID: "1"},
		Settings:   []byte(`{"addressPool": ["198.18.0.0/16"]}`),
		Identities: []lbmodel.Identity{id}, Trust: []lbmodel.Trust{trust}, Pools: []lbmodel.Pool{pool},
		Listeners: []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP,
			Rules: []lbmodel.Rule{{Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "cart", Weight: 1}}}}}}}},
	}
}

// url is where the gateway answers.
func (e *edge) url() string {
	e.Helper()
	var url string
	eventually(e.T, func(context.Context) error {
		bound := e.local.Bound()
		if len(bound) == 0 || e.leaf() == nil {
			return fmt.Errorf("the gateway does not serve yet: %s", e.said())
		}
		url = "http://" + bound[0].Addr.String() + "/"
		return nil
	})
	return url
}

// changesOf are the calls so far that changed the cloud.
func changesOf(l *fakelocal.Local) map[string]int {
	out := map[string]int{}
	for name, n := range l.Cloud.Calls() {
		if !slices.ContainsFunc([]string{"List", "Get", "Find"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out[name] = n
		}
	}
	return out
}

// unverifiedOf counts TLS with backends that no root was found for.
func unverifiedOf(l *fakelocal.Local) (n int) {
	for _, h := range l.Counters().Handshakes {
		if h.Root == "" {
			n += int(h.Count)
		}
	}
	return n
}
