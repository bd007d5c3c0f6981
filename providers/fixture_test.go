package providers_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/internal/memcloud"
	"gatehouse.dev/providers/providertest"
)

// house is a cloud and an Account on it.
type house struct {
	t       *testing.T
	cloud   *memcloud.Service
	account *providers.Account
	issued  atomic.Int32
	gate    time.Duration // for which the keyring says that a leaf waits
}

// newHouse makes a cloud and an Account on it; edit may be nil.
func newHouse(t *testing.T, edit func(*providers.Config)) *house {
	t.Helper()
	h := &house{t: t}
	h.cloud = memcloud.New(providertest.Env{Keyring: h.keyring, Now: time.Now}, memcloud.None)
	h.restart(edit)
	return h
}

// restart is the process starting again.
func (h *house) restart(edit func(*providers.Config)) {
	config := providers.Config{Provider: h.cloud.NewProvider(), Cluster: "test", Rand: func() float64 { return 1 }}
	if edit != nil {
		edit(&config)
	}
	h.account = providers.NewAccount(config)
}

func (h *house) keyring(context.Context, lbmodel.Identity) (tls.Certificate, error) {
	h.issued.Add(1)
	if h.gate > 0 {
		return tls.Certificate{}, &lbmodel.Error{Code: lbmodel.CodePending, RetryAfter: h.gate, Err: errors.New("backends do not trust it yet")}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(int64(h.issued.Load()))}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func owner(name string) lbmodel.Owner {
	return lbmodel.Owner{Cluster: "test", Kind: "Gateway", Namespace: "apps", Name: name}
}

// gateway is one with a client certificate, a pool behind TLS and two rules.
func gateway(name string, edits ...func(*lbmodel.Gateway)) lbmodel.Gateway {
	forward := lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "a", Weight: 1}}}}
	gw := lbmodel.Gateway{
		Owner:    owner(name),
		Settings: json.RawMessage(`{"location":"east"}`),
		Identities: []lbmodel.Identity{{Name: "client", Issuer: "Mesh",
			Renew: lbmodel.RenewRule{Lifetime: lbmodel.Duration(24 * time.Hour), Before: lbmodel.Duration(8 * time.Hour)}}},
		Trust: []lbmodel.Trust{{Name: "mesh", Roots: []lbmodel.Root{{SHA256: "r1"}}}},
		Pools: []lbmodel.Pool{pool("10.0.0.1")},
		Listeners: []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Rules: []lbmodel.Rule{
			{Source: lbmodel.Source{Name: "one"}, Match: path("/one"), Action: forward},
			{Source: lbmodel.Source{Name: "two"}, Match: path("/two"), Action: forward},
		}}},
	}
	for _, edit := range edits {
		edit(&gw)
	}
	return gw
}

func path(prefix string) lbmodel.Match {
	return lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: prefix}}
}

// pool is the pool of every gateway here, with these endpoints.
func pool(addresses ...string) lbmodel.Pool {
	p := lbmodel.Pool{
		Name: "a", Group: "apps/a:80", Protocol: lbmodel.PoolHTTP1, Endpoints: []lbmodel.Endpoint{},
		TLS: &lbmodel.BackendTLS{SNI: "a.test", Trust: "mesh", Identity: "client"},
	}
	for _, a := range addresses {
		p.Endpoints = append(p.Endpoints, lbmodel.Endpoint{Address: a, Port: 8080, Ready: true})
	}
	return p
}

// plan plans some gateways.
func (h *house) plan(gateways ...lbmodel.Gateway) providers.Plan {
	h.t.Helper()
	owners := make([]lbmodel.Owner, len(gateways))
	for i, gw := range gateways {
		owners[i] = gw.Owner
		if findings := h.account.Want(gw); len(findings) > 0 {
			h.t.Fatalf("Want(%s): %+v", gw.Owner, findings)
		}
	}
	return h.planOwners(owners...)
}

func (h *house) planOwners(owners ...lbmodel.Owner) providers.Plan {
	h.t.Helper()
	plan, err := h.account.Plan(h.t.Context(), owners)
	if err != nil {
		h.t.Fatalf("Plan: %v", err)
	}
	return plan
}

// build plans and applies some gateways, and expects that all goes well.
func (h *house) build(gateways ...lbmodel.Gateway) {
	h.t.Helper()
	h.mustApply(h.plan(gateways...))
}

func (h *house) mustApply(plan providers.Plan) lbmodel.Outcome {
	h.t.Helper()
	out := h.account.Apply(h.t.Context(), plan, nil)
	if out.Err() != nil || len(out.Blocked) > 0 {
		h.t.Fatalf("Apply: %v, blocked %v", out.Err(), out.Blocked)
	}
	return out
}

// expectNothing expects that planning these gateways finds nothing to do.
func (h *house) expectNothing(gateways ...lbmodel.Gateway) {
	h.t.Helper()
	if plan := h.plan(gateways...); !plan.Empty() || len(plan.Waiting()) > 0 {
		h.t.Errorf("a plan has %v and waits for %v, want nothing", stepsOf(plan), plan.Waiting())
	}
}

// stepsOf are a plan's steps in short: verb and kind.
func stepsOf(plan providers.Plan) []string {
	var out []string
	for _, s := range plan.Steps {
		out = append(out, string(s.Verb)+s.ID.Kind)
	}
	return out
}

// hook is a providertest.Hook of functions, of which any may be nil.
type hook struct {
	before func(providertest.Call) providertest.Fault
	after  func(providertest.Call)
}

func (k hook) Before(c providertest.Call) providertest.Fault {
	if k.before == nil {
		return providertest.Fault{}
	}
	return k.before(c)
}

func (k hook) After(c providertest.Call) {
	if k.after != nil {
		k.after(c)
	}
}

// failing lets calls of a name fail with a code, n times (-1 for ever).
func failing(name string, code lbmodel.Code, n int) hook {
	var mu sync.Mutex
	return hook{before: func(c providertest.Call) providertest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if c.Name != name || n == 0 {
			return providertest.Fault{}
		}
		n--
		return providertest.Fault{Kind: providertest.Refuse, Code: code}
	}}
}

// recording notes the calls that write.
func recording() (hook, func() []string) {
	var mu sync.Mutex
	var calls []string
	h := hook{after: func(c providertest.Call) {
		mu.Lock()
		defer mu.Unlock()
		if c.Write {
			calls = append(calls, c.Name)
		}
	}}
	return h, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(calls)
	}
}

func kindsOf(ids []lbmodel.ID) string {
	kinds := map[string]int{}
	for _, id := range ids {
		kinds[id.Kind]++
	}
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, fmt.Sprintf("%s %d", kind, kinds[kind]))
	}
	return fmt.Sprint(out)
}
