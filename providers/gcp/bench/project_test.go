package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/compute"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/gcp"
)

const (
	cluster = "bench"
	project = "my-project"
	// operation is how long each one lasts: a virtual second, so that the time of a change
	// is the number of operations that wait for one another.
	operation = time.Second
)

// lab is a project with Google's rates a minute, and one process that works in it.
type lab struct {
	*testing.T
	api     *gcpapi.Server
	account *providers.Account
	pairs   map[string]tls.Certificate // by leaf

	mu      sync.Mutex
	filled  map[store.Name]bool // groups that had endpoints
	emptied int                 // how often one that had, had none after a call
}

func newLab(t *testing.T) *lab {
	w := compute.World{Regions: map[string][]string{"europe-west1": {"europe-west1-b", "europe-west1-c", "europe-west1-d"}}, Networks: []string{"default"}}
	l := &lab{T: t, pairs: map[string]tls.Certificate{}, filled: map[store.Name]bool{}}
	l.api = gcpapi.New(gcpapi.Config{
		Projects: []store.Project{{ID: project, Number: "123456789012"}}, World: w, Rates: gcpapi.Rates(),
		Times: store.Times{Operations: map[string]time.Duration{"": operation}},
	})
	l.start()
	return l
}

// start begins a process that knows nothing.
func (l *lab) start() {
	p, err := gcp.New(gcp.Config{Project: project, HTTP: l, Pacer: gcp.NewPacer(providers.Clock{}), Keyring: l.key})
	if err != nil {
		l.Fatal(err)
	}
	l.account = providers.NewAccount(providers.Config{Provider: p, Cluster: cluster, Parallel: 64, CallTimeout: gcp.CallTimeout,
		Patience: providers.Patience{Pending: 10 * time.Minute}})
}

// RoundTrip implements http.RoundTripper: it looks after each change whether a group has
// lost its last endpoint.
func (l *lab) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := l.api.RoundTrip(r)
	if strings.HasSuffix(r.URL.Path, "/wait") || strings.HasSuffix(r.URL.Path, "NetworkEndpoints") {
		l.look()
	}
	return out, err
}

func (l *lab) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.api.Look(func(v store.View) {
		for _, n := range v.List("compute.googleapis.com", "networkEndpointGroups", "projects/"+project) {
			has := len(store.List(v.Get(n), "@endpoints")) > 0
			if l.filled[n] && !has {
				l.emptied++
			}
			l.filled[n] = has
		}
	})
}

// key implements providers.Keyring.
func (l *lab) key(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id.Leaf == nil {
		return l.pair("issued"), nil
	}
	return l.pairs[id.Leaf.SHA256], nil
}

// pair makes a certificate that signs itself, valid for a day; a CA's for names of roots.
func (l *lab) pair(name string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // no machine for any test
	}
	ca := strings.HasPrefix(name, "root")
	template := &x509.Certificate{SerialNumber: big.NewInt(int64(len(l.pairs) + 1)), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name + ".test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: ca, BasicConstraintsValid: true}
	if !ca {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	out := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	l.pairs[leafOf(der).SHA256] = out
	return out
}

func leafOf(der []byte) *lbmodel.Leaf {
	c, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(der)
	return &lbmodel.Leaf{SHA256: hex.EncodeToString(sum[:]), NotBefore: c.NotBefore, NotAfter: c.NotAfter, DNSNames: c.DNSNames, KeyType: "ECDSA"}
}

func (l *lab) root(name string) lbmodel.Root {
	roots, err := lbmodel.ParseRoots(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.pair("root-" + name).Certificate[0]}))
	if err != nil {
		l.Fatal(err)
	}
	return roots[0]
}

// bring passes until nothing is left to do.
func (l *lab) bring(all ...lbmodel.Gateway) {
	l.Helper()
	var owners []lbmodel.Owner
	for _, gw := range all {
		l.account.Want(gw)
		owners = append(owners, gw.Owner)
	}
	l.settle(owners...)
}

func (l *lab) settle(owners ...lbmodel.Owner) {
	l.Helper()
	last := ""
	for range 20 {
		plan, err := l.account.Plan(l.Context(), owners)
		if err == nil {
			out := l.account.Apply(l.Context(), plan, nil)
			if out.Settled() {
				return
			}
			err = out.Err()
		}
		last = fmt.Sprint(err)
		time.Sleep(2 * time.Second)
	}
	l.Fatalf("it does not settle: %s", last)
}

const settings = `{"project":"my-project","flavour":"GlobalExternal","zones":["europe-west1-b","europe-west1-c","europe-west1-d"],"endpointType":"NON_GCP_PRIVATE_IP_PORT"}`

// member is an HTTPS gateway that is in a mesh, with so many pods of one Service.
func (l *lab) member(name string, roots []lbmodel.Root, pods int) lbmodel.Gateway {
	hop := lbmodel.Source{Kind: "MeshBinding", Name: "istio"}
	return lbmodel.Gateway{
		Owner:    lbmodel.Owner{Cluster: cluster, Kind: "Gateway", Namespace: "shop", Name: name, UID: "uid-" + name},
		Settings: json.RawMessage(settings),
		Trust:    []lbmodel.Trust{{Name: "istio", Source: hop, Roots: roots}},
		Identities: []lbmodel.Identity{
			{Name: "web", Source: lbmodel.Source{Kind: "Secret", Namespace: "shop", Name: "web"}, Issuer: lbmodel.IssuerSecret, Leaf: leafOf(l.pair("web").Certificate[0])},
			{Name: "mesh", Source: hop, Issuer: "Mesh", SPIFFEID: "spiffe://cluster.local/ns/shop/sa/" + name, KeyType: "ECDSA"},
		},
		Pools: []lbmodel.Pool{{
			Name: "s", Group: "shop/s:80", Protocol: lbmodel.PoolHTTP1, Source: lbmodel.Source{Kind: "Service", Namespace: "shop", Name: "s"}, Endpoints: endpoints(pods, 0),
			TLS: &lbmodel.BackendTLS{Source: hop, SNI: "s.shop.test", Trust: "istio", Identity: "mesh", Floor: lbmodel.TLSClientAndServer,
				SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://cluster.local/ns/shop/sa/s"}}},
		}},
		Listeners: []lbmodel.Listener{{
			Name: "https", Port: 443, Protocol: lbmodel.ProtocolHTTPS, TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"web"}}, Hostname: "shop.test",
			Rules: []lbmodel.Rule{{Source: lbmodel.Source{Kind: "HTTPRoute", Namespace: "shop", Name: "r"}, Hostname: "shop.test",
				Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "s", Weight: 1}}}}}},
		}},
	}
}

// endpoints are n pods in three zones; each generation has its own addresses.
func endpoints(n, generation int) []lbmodel.Endpoint {
	out := make([]lbmodel.Endpoint, 0, n)
	for i := range n {
		out = append(out, lbmodel.Endpoint{Address: fmt.Sprintf("10.%d.%d.%d", generation, i/250, 1+i%250), Port: 8080, Ready: true, Serving: true,
			Zone: []string{"europe-west1-b", "europe-west1-c", "europe-west1-d"}[i%3]})
	}
	return out
}
