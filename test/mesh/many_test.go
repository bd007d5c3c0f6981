package mesh

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
	"gatehouse.dev/providers"
)

// The quotas of TestMany, in calls a second; both give as much at once.
const (
	issuerQuota = 20
	cloudQuota  = 100
)

// moments are when something was called.
type moments struct {
	mu  sync.Mutex
	all []time.Time
}

func (m *moments) note() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, time.Now())
}

// most is the greatest number in a second, and take forgets them all.
func (m *moments) take() (most, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := 0
	for i, at := range m.all {
		for !m.all[first].Add(time.Second).After(at) {
			first++
		}
		most = max(most, i-first+1)
	}
	n = len(m.all)
	m.all = nil
	return most, n
}

// paced notes the calls that a Pacer lets pass.
type paced struct {
	providers.Pacer
	calls *moments
}

// Wait implements providers.Pacer.
func (p paced) Wait(ctx context.Context, op string) error {
	err := p.Pacer.Wait(ctx, op)
	p.calls.note()
	return err
}

// many are gateways without sockets, in virtual time.
type many struct {
	*testing.T
	ca          *ca.CA
	bundle      []byte
	loop        *reconcile.Loop
	asked, call moments
	snapshot    translate.Snapshot
}

// Issue implements meshsync.Issuer.
func (m *many) Issue(_ context.Context, r meshsync.Request) (meshsync.Issued, error) {
	m.asked.note()
	csr, err := x509.ParseCertificateRequest(r.CSR)
	if err != nil {
		return meshsync.Issued{}, err
	}
	chain, err := m.ca.Sign(ca.Request{URIs: []string{r.Identity.SPIFFEID}, Life: r.Lifetime}, csr.PublicKey)
	return meshsync.Issued{Chain: chain}, err
}

// manyYAML are so many gateways that lead to one Service in the mesh.
func manyYAML(gateways int) string {
	var b strings.Builder
	b.WriteString(strings.Replace(fmt.Sprintf(gatewayYAML, "127.71.0.0/16", ""), "name: shop", "name: shop-0", 1))
	one := gatewayYAML[strings.LastIndex(gatewayYAML, "---"):]
	for i := 1; i < gateways; i++ {
		b.WriteString(strings.Replace(one, "name: shop", fmt.Sprint("name: shop-", i), 1))
	}
	for i := range gateways {
		fmt.Fprintf(&b, `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart-%d, namespace: apps}
spec:
  parentRefs: [{name: shop-%d, namespace: edge}]
  rules: [{backendRefs: [{name: cart, port: 80}]}]
`, i, i)
	}
	return b.String()
}

// load reads the objects of a folder; what meshes publish comes with the CA.
func (m *many) load(gateways int) {
	m.Helper()
	mesh := istioMesh()
	w := &world{T: m.T, mesh: mesh, ca: m.ca}
	w.pods = []*pod{{w: w, name: "cart-0", host: "127.72.0.1", role: mesh.member}}
	dir := m.TempDir()
	for name, text := range map[string]string{
		"gateways": manyYAML(gateways), "route": routeYAML, "binding": w.bindingYAML(), "mesh": mesh.objects,
		"pods": w.pods[0].yaml() + "---\n" + w.slice(), "roots": mesh.roots + indent(m.bundle, 4),
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			m.Fatal(err)
		}
	}
	options := translate.Options{Dialects: member.Dialects()}
	loaded, err := manifest.Load(context.Background(), manifest.Options{Paths: []string{dir}, Cluster: "test", Schemas: schemas, MeshKinds: options.Reads()})
	if err != nil || len(loaded.Problems) > 0 {
		m.Fatal(err, loaded.Problems)
	}
	m.snapshot = loaded.Snapshot
}

// start makes everything that has a clock.
func (m *many) start() {
	service, err := cloud.New(cloud.Options{})
	if err != nil {
		m.Fatal(err)
	}
	ring := issue.Keyring(issue.Config{
		Issuers: func(lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) { return m, meshsync.Account{}, nil },
		Roots:   m.roots, Live: m.live, Quota: issue.Quota{PerSecond: issuerQuota, Burst: issuerQuota},
	})
	provider := cloud.NewProvider(service, ring)
	account := providers.NewAccount(providers.Config{
		Provider: provider, Cluster: "test", Name: "fake",
		Pacer: paced{providers.NewBuckets(map[string]providers.Quota{"all": {PerSecond: cloudQuota, Burst: cloudQuota}}, func(string) string { return "all" }), &m.call},
	})
	index := translate.New(m.snapshot, translate.Options{
		Controllers: map[string]string{"gatehouse.dev/fake": "fake"}, Dialects: member.Dialects(),
		Offers: func(_ string, settings json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
			return provider.Offers(settings)
		},
		AllowLoopback: func(string, json.RawMessage) bool { return true },
	})
	m.loop = reconcile.New(index, map[string]*providers.Account{"fake": account})
}

func (m *many) roots(string) []lbmodel.Root {
	b, _ := m.loop.Index().Bound("mesh")
	return b.Trust.Roots
}

func (m *many) live(id lbmodel.Identity) (*lbmodel.Leaf, error) {
	for _, g := range m.loop.Gateways() {
		for _, own := range g.Result.Gateway.Identities {
			if own.SPIFFEID != id.SPIFFEID {
				continue
			}
			if leaf, ok := m.loop.Leaves(g)[id.Name]; ok {
				return &leaf, nil
			}
		}
	}
	return nil, nil
}

// settle passes until everything is there.
func (m *many) settle() (took time.Duration) {
	m.Helper()
	began := time.Now()
	for range 50 {
		planned, err := m.loop.Plan(m.Context(), m.loop.Index().Gateways())
		if err != nil {
			m.Fatal(err)
		}
		if m.loop.Apply(m.Context(), planned, nil).Settled() {
			return time.Since(began)
		}
		time.Sleep(time.Second)
	}
	m.Fatal("it does not settle")
	return 0
}

// newAuthority has the mesh publish another root, and only that, so that every
// certificate is worth nothing at once.
func (m *many) newAuthority() {
	m.Helper()
	for _, err := range []error{m.ca.Add(ca.Root{Name: "b"}), m.ca.SignBy("b"), m.ca.Drop("a")} {
		if err != nil {
			m.Fatal(err)
		}
	}
	for _, c := range m.snapshot.ConfigMaps {
		if c.Name == "istio-ca-root-cert" {
			c = c.DeepCopy()
			c.Data["root-cert.pem"] = string(m.ca.Bundle())
			m.loop.Change(translate.Change{Put: []any{c}})
		}
	}
}

// check wants neither quota exceeded.
func (m *many) check(what string, gateways, certificates int, took time.Duration) {
	m.Helper()
	asked, n := m.asked.take()
	calls, _ := m.call.take()
	if n != certificates {
		m.Errorf("%s: %d certificates were asked for, want %d", what, n, certificates)
	}
	// A bucket that was full gives its burst beside what flows in.
	if asked > 2*issuerQuota || calls > 2*cloudQuota {
		m.Errorf("%s: in a second the issuer was asked %d times, and the cloud called %d times; allowed are %d and %d",
			what, asked, calls, 2*issuerQuota, 2*cloudQuota)
	}
	figures.add(headMany, what, gateways, took.Round(time.Second), asked, 2*issuerQuota, calls, 2*cloudQuota)
}

// TestMany has very many gateways join at once, renew when it is time, and change
// their authority at once. Neither their CA nor their provider is asked faster than
// they allow. Time is virtual.
func TestMany(t *testing.T) {
	m := &many{T: t}
	var err error
	if m.ca, err = ca.New(ca.Config{RootKey: ca.ECDSA}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		m.T = t
		if m.ca, err = ca.New(ca.Config{RootKey: ca.ECDSA}); err != nil {
			t.Fatal(err)
		}
		m.bundle = m.ca.Bundle()
		m.load(*gatewaysFor)
		m.start()
		took := m.settle()
		m.check("join at once", *gatewaysFor, *gatewaysFor, took)
		time.Sleep(14 * time.Hour)
		for range 3 * 60 / 5 {
			time.Sleep(5 * time.Minute)
			m.settle()
		}
		m.check("renew on schedule, within three hours", *gatewaysFor, *gatewaysFor, 3*time.Hour)
		m.newAuthority()
		took = m.settle()
		m.check("leave an authority at once", *gatewaysFor, *gatewaysFor, took)
	})
}
