package gcp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/clock"
	"gatehouse.dev/fake/gcpapi/compute"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// vault keeps certificates, and issues some.
type vault struct {
	now func() time.Time

	mu     sync.Mutex
	pairs  map[string]tls.Certificate // by leaf
	issued int
}

// key implements providers.Keyring.
func (v *vault) key(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id.Leaf == nil {
		v.issued++
		return v.pair("issued"), nil
	}
	pair, ok := v.pairs[id.Leaf.SHA256]
	if !ok {
		return pair, lbmodel.Errorf(lbmodel.CodeUnresolved, "Keyring", lbmodel.ID{}, "no key of leaf %s", id.Leaf.SHA256)
	}
	return pair, nil
}

// pair makes a certificate that signs itself, valid for a day; a CA's for names of roots.
func (v *vault) pair(names ...string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // no machine for any test
	}
	ca := strings.HasPrefix(names[0], "root")
	template := &x509.Certificate{SerialNumber: big.NewInt(int64(len(v.pairs) + 1)), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: v.now().Add(-time.Hour), NotAfter: v.now().Add(24 * time.Hour), IsCA: ca, BasicConstraintsValid: true}
	if !ca {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	out := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	v.pairs[leafIn(out).SHA256] = out
	return out
}

func leafIn(pair tls.Certificate) *lbmodel.Leaf {
	leaf, err := providers.LeafOf(pair)
	if err != nil {
		panic(err)
	}
	return leaf
}

// root is a CA root as the model has it.
func (v *vault) root(name string) lbmodel.Root {
	roots, err := lbmodel.ParseRoots(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.pair("root-" + name).Certificate[0]}))
	if err != nil {
		panic(err)
	}
	return roots[0]
}

// shop is a project with an account of ours.
type shop struct {
	*testing.T
	*projectWorld
	clock   *clock.Manual
	vault   *vault
	account *providers.Account
}

// ground is a network for the golden gateways.
func ground() compute.World {
	w := compute.World{Regions: map[string][]string{"europe-west1": {"europe-west1-b", "europe-west1-c"}, "us-east1": {"us-east1-c"}}, Networks: []string{"default", "prod", "shared"}}
	for i, network := range w.Networks {
		for j, region := range []string{"europe-west1", "us-east1"} {
			for k, purpose := range []string{"PRIVATE", "REGIONAL_MANAGED_PROXY", "GLOBAL_MANAGED_PROXY"} {
				w.Subnetworks = append(w.Subnetworks, compute.Subnetwork{Name: fmt.Sprintf("s-%d-%d-%d", i, j, k), Region: region, Network: network, Range: fmt.Sprintf("10.%d.%d.0/24", 100+10*i+j, k), Purpose: purpose})
			}
		}
	}
	w.Subnetworks = append(w.Subnetworks,
		compute.Subnetwork{Name: "default", Region: "europe-west1", Network: "default", Range: "10.200.0.0/24"}, compute.Subnetwork{Name: "lb", Region: "europe-west1", Network: "prod", Range: "10.1.0.0/16"},
		compute.Subnetwork{Name: "eu", Region: "europe-west1", Network: "prod", Range: "10.201.0.0/24"}, compute.Subnetwork{Name: "us", Region: "us-east1", Network: "prod", Range: "10.202.0.0/24"})
	w.Instances = []compute.Instance{
		{Name: "node-1", Zone: "europe-west1-b", IP: "10.200.0.2", Aliases: []string{"10.0.0.0/24"}},
		{Name: "node-2", Zone: "europe-west1-c", IP: "10.200.0.3", Aliases: []string{"10.0.1.0/24"}},
		{Name: "node-3", Zone: "us-east1-c", IP: "10.202.0.3", Aliases: []string{"10.0.2.0/24"}},
	}
	return w
}

func newShop(t *testing.T, c gcpapi.Config) *shop {
	t.Helper()
	moved := clock.NewManual(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	v := &vault{now: moved.Now, pairs: map[string]tls.Certificate{}}
	c.Clock, c.World, c.Projects = clockOf(moved.Now), ground(), []store.Project{{ID: testProject, Number: "123456789012"}}
	s := &shop{T: t, clock: moved, vault: v, projectWorld: &projectWorld{Server: gcpapi.New(c), keys: v.key, now: moved.Now, tb: t}}
	s.byHand(map[string]string{
		"projects/my-project/global/sslPolicies/modern":                    `{"profile":"MODERN"}`,
		"projects/my-project/regions/europe-west1/addresses/edge-ip":       `{"description":"theirs"}`,
		"projects/my-project/regions/europe-west1/addresses/by-value":      `{"address":"203.0.113.7"}`,
		"projects/my-project/regions/europe-west1/backendServices/by-hand": `{"loadBalancingScheme":"INTERNAL_MANAGED","protocol":"HTTP","description":"theirs","timeoutSec":7}`,
	})
	s.clock.Advance(2 * time.Minute)
	s.restart()
	return s
}

// byHand makes things as an operator does, by plain requests.
func (s *shop) byHand(things map[string]string) {
	s.Helper()
	for path, body := range things {
		at := strings.LastIndexByte(path, '/')
		body = strings.Replace(body, "{", fmt.Sprintf(`{"name":%q,`, path[at+1:]), 1)
		s.request("POST", "/compute/v1/"+path[:at], strings.Replace(body, ",}", "}", 1))
	}
}

// restart is a process that knows nothing of the one before.
func (s *shop) restart() {
	s.account = providers.NewAccount(providers.Config{Provider: s.client(s.projectWorld), Cluster: "c1", Parallel: 8, Rand: func() float64 { return 0.5 },
		Clock: providers.Clock{Now: s.clock.Now, After: func(d time.Duration) <-chan time.Time {
			out := make(chan time.Time, 1)
			out <- s.clock.Advance(d)
			return out
		}}})
}

// live is a golden gateway with the names of the project's own things, and with
// certificates that are some.
func (s *shop) live(path string) lbmodel.Gateway {
	s.Helper()
	gw := readGateway(s.T, path)
	gw.Settings = json.RawMessage(strings.ReplaceAll(string(gw.Settings), "projects/host/", "projects/my-project/"))
	for i := range gw.Identities {
		if id := &gw.Identities[i]; id.Leaf != nil {
			id.Leaf = leafIn(s.vault.pair(id.Leaf.DNSNames...))
		}
		gw.Identities[i].Renew.Authorities = nil
	}
	for i := range gw.Trust {
		if !gw.Trust[i].System {
			gw.Trust[i].Roots = []lbmodel.Root{s.vault.root("one")}
		}
	}
	return gw
}

// converge repeats passes until one finds nothing to do.
func (s *shop) converge(owner lbmodel.Owner) {
	s.Helper()
	last := ""
	for range 8 {
		plan, err := s.account.Plan(s.Context(), []lbmodel.Owner{owner})
		if err == nil && plan.Empty() && len(plan.Waiting()) == 0 {
			return
		}
		out := s.account.Apply(s.Context(), plan, nil)
		last = fmt.Sprint(err, " ", out.Err(), "\n", plan.Waiting())
		s.clock.Advance(time.Minute)
	}
	s.Fatalf("still not done: %s", last)
}

// bring makes a gateway what it should be, and tells the writes that it took.
func (s *shop) bring(gw lbmodel.Gateway) map[string]int {
	s.Helper()
	s.Forget()
	s.account.Want(gw)
	s.converge(gw.Owner)
	return s.Count(func(c gcpapi.Call) string {
		return strings.NewReplacer("compute.", "", "projects.locations.", "").Replace(gcpapi.Writes(c))
	})
}

// quiet expects a plan with nothing in it, and no write.
func (s *shop) quiet(when string, owner lbmodel.Owner) {
	s.Helper()
	s.Forget()
	plan := must2(s.account.Plan(s.Context(), []lbmodel.Owner{owner}))(s)
	for _, step := range plan.Steps {
		s.Errorf("%s: the plan has %s of %s\nhave %s\nwant %s", when, step.Verb, step.ID, encode(step.Have.Spec), encode(step.Want))
	}
	for _, c := range s.Calls() {
		if c.Writes {
			s.Errorf("%s: %s", when, c.Method)
		}
	}
}

// gone deletes a gateway and expects nothing to be left.
func (s *shop) gone(owner lbmodel.Owner, empty string) {
	s.Helper()
	s.account.Drop(owner)
	s.converge(owner)
	if left := s.Server.Dump(); left != empty {
		s.Errorf("something is left:\n%s\nwant\n%s", left, empty)
	}
}

// die makes one pass of a process that ends at a call.
func (s *shop) die(n int, how providertest.FaultKind, wish func(), owner lbmodel.Owner) (reached bool) {
	wish()
	death := &deadline{n: n, how: how}
	s.Hook(death)
	if plan, err := s.account.Plan(s.Context(), []lbmodel.Owner{owner}); err == nil {
		_ = s.account.Apply(s.Context(), plan, nil) // what it says is lost with the process
	}
	s.Hook(nil)
	s.restart()
	return death.calls > n
}

// deadline is a process that ends at its n-th call.
type deadline struct {
	n, calls int
	how      providertest.FaultKind
}

// Before implements providertest.Hook.
func (d *deadline) Before(providertest.Call) providertest.Fault {
	d.calls++
	switch at := d.calls - 1; {
	case at < d.n:
		return providertest.Fault{}
	case at == d.n:
		return providertest.Fault{Kind: d.how, Code: lbmodel.CodeUnavailable}
	default:
		return providertest.Fault{Kind: providertest.Refuse, Code: lbmodel.CodeDenied}
	}
}

// After implements providertest.Hook.
func (*deadline) After(providertest.Call) {}
