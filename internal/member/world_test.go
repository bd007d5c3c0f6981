package member

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/tokens"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/consul"
)

// schemas are compiled once for all tests.
var schemas manifest.Schemas

const base = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: gatehouse.dev/fake}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: apps}
spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: a, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: apps}
spec: {ports: [{port: 80, targetPort: 8080, appProtocol: http}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: a, namespace: apps, labels: {kubernetes.io/service-name: a}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1], targetRef: {kind: Pod, namespace: apps, name: a-0}}]
`

const istioMesh = `---
apiVersion: v1
kind: Pod
metadata: {name: a-0, namespace: apps, annotations: {sidecar.istio.io/status: "{}"}}
spec: {serviceAccountName: shop, containers: [{name: app, ports: [{containerPort: 8080}]}, {name: istio-proxy}]}
status: {podIP: 10.0.0.1}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: istio-ca-root-cert, namespace: istio-system}
data: {root-cert.pem: ROOTS}
---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: mesh}
spec: {controllerName: istio.io/istio, gateways: {namespaceSelector: {}}, identity: {IDENTITY}}
`

const linkerdMesh = `---
apiVersion: v1
kind: Pod
metadata: {name: a-0, namespace: apps, annotations: {linkerd.io/proxy-version: stable}, labels: {linkerd.io/control-plane-ns: linkerd}}
spec:
  serviceAccountName: shop
  containers: [{name: app, ports: [{containerPort: 8080}]}, {name: linkerd-proxy, env: [{name: LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS, value: PODS_OWN}]}]
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: linkerd-identity-trust-roots, namespace: linkerd}
data: {ca-bundle.crt: ROOTS}
---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: mesh}
spec: {controllerName: linkerd.io/linkerd, gateways: {namespaceSelector: {}}, identity: {IDENTITY}}
`

// world is a mesh, the objects of a cluster, and what the cloud shows.
type world struct {
	*testing.T
	ca     *ca.CA
	tokens *tokens.Store

	mu     sync.Mutex
	x      *translate.Index
	leaves map[string]lbmodel.Leaf
	now    time.Time
	reach  string // where every CA is
	around Around
	asked  []string
	told   []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: time.Now(), leaves: map[string]lbmodel.Leaf{}}
	var err error
	if w.ca, err = ca.New(ca.Config{Now: w.clock}); err != nil {
		t.Fatal(err)
	}
	w.tokens = tokens.NewStore(w.clock)
	return w
}

func (w *world) members() *Members {
	return New(Config{Tokens: w.token, Reach: w.where, Clock: w.clock, Around: w.around, Issued: func(binding string, code lbmodel.Code) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, binding+" "+code.String())
	}})
}

// dialects are all, of a Consul whose trust domain is known.
func dialects() map[string]meshsync.Dialect {
	out := Dialects()
	out[consul.Controller] = consul.Dialect{TrustDomain: consulDomain}
	return out
}

func (w *world) load(mesh, identity string, anchors []byte) *manifest.Loaded {
	w.Helper()
	quoted := func(text []byte) string { return `"` + strings.ReplaceAll(string(text), "\n", `\n`) + `"` }
	text := base + strings.NewReplacer("ROOTS", quoted(w.ca.Bundle()), "PODS_OWN", quoted(anchors), "{IDENTITY}", "{"+identity+"}").Replace(mesh)
	path := filepath.Join(w.TempDir(), "all.yaml")
	w.do(os.WriteFile(path, []byte(text), 0o600))
	loaded, err := manifest.Load(w.Context(), manifest.Options{Paths: []string{path}, Cluster: "c", Schemas: &schemas, MeshKinds: translate.Options{Dialects: dialects()}.Reads()})
	w.do(err)
	return loaded
}

// read makes objects what is there.
func (w *world) read(mesh, identity string, anchors ...byte) {
	w.Helper()
	loaded := w.load(mesh, identity, anchors)
	for _, p := range loaded.Problems {
		w.Fatal(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.x = translate.New(loaded.Snapshot, translate.Options{
		Controllers: map[string]string{"gatehouse.dev/fake": "fake"}, Dialects: dialects(),
	})
}

// problems are what is wrong with objects.
func (w *world) problems(mesh, identity string) (out []string) {
	w.Helper()
	for _, p := range w.load(mesh, identity, nil).Problems {
		out = append(out, p.String())
	}
	return out
}

// Index implements Loop.
func (w *world) Index() *translate.Index {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.x
}

// Gateways implements Loop.
func (w *world) Gateways() []reconcile.Gateway {
	var out []reconcile.Gateway
	for _, key := range w.Index().Gateways() {
		out = append(out, reconcile.Read(w.Index(), key))
	}
	return out
}

// Leaves implements Loop.
func (w *world) Leaves(reconcile.Gateway) map[string]lbmodel.Leaf {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leaves
}

// Rooted implements Loop.
func (w *world) Rooted(reconcile.Gateway) [][]lbmodel.Root { return nil }

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) where(address string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, address)
	return w.reach
}

func (w *world) token(_ context.Context, audience string, account meshsync.Account) (string, error) {
	return w.tokens.Mint(tokens.Account(account), audience), nil
}

// identity is what the gateway is in the mesh.
func (w *world) identity() lbmodel.Identity {
	w.Helper()
	for _, g := range w.Gateways() {
		for _, id := range g.Result.Gateway.Identities {
			return id
		}
	}
	w.Fatal("the gateway has no identity in the mesh")
	return lbmodel.Identity{}
}

// live has the cloud show a certificate.
func (w *world) live(id lbmodel.Identity, pair tls.Certificate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := sha256.Sum256(pair.Certificate[0])
	leaf := lbmodel.Leaf{SHA256: hex.EncodeToString(sum[:]), NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter, Authority: hex.EncodeToString(pair.Leaf.AuthorityKeyId)}
	w.leaves = map[string]lbmodel.Leaf{id.Name: leaf}
}

func (w *world) do(errs ...error) {
	w.Helper()
	if err := errors.Join(errs...); err != nil {
		w.Fatal(err)
	}
}

func noSecrets(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	return tls.Certificate{}, errors.New("Secrets were asked for " + id.Name)
}

func has(list []string, want string) bool { return slices.Contains(list, want) }
