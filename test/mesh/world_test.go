package mesh

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/local"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/standalone"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

type leafKey = tls.Certificate

// world is a cluster in a folder, with one mesh, one gateway outside and one Service
// that it leads to, and the whole of Gatehouse over it.
type world struct {
	*testing.T
	options options
	clock   *clock
	skew    atomic.Int64 // how far the CA's clock is ahead of it
	mesh    flavour
	ca      *ca.CA
	issuers issuers
	dir     string
	site    site
	hosts   int // addresses of the site that are taken
	pods    []*pod
	files   map[string]string
	bundle  []byte            // what the mesh publishes
	first   *standalone.Stack // whose cloud and data plane it is
	stack   *standalone.Stack // the process that works now
	status  map[translate.Key]status
	outside *outside // where the mesh's roots are; nil is in an object
	trouble troubles
	last    standalone.Passed
	writes  writes
	seen    *sight
	made    *keys  // all keys that were made
	said    *paper // all that was told to anybody
}

// options are what tests differ in.
type options struct {
	skew     time.Duration // of the CA's clock against ours
	without  string        // abilities that the provider lacks, in flow style
	gateway  string        // fields of the Gateway's spec
	binding  string        // fields of the MeshBinding's spec
	identity string        // more of its identity, in flow style
	stateDir string        // of the cloud; it is made
}

// newWorld starts everything but pods.
func newWorld(t *testing.T, mesh flavour, o options) *world {
	t.Helper()
	w := &world{
		T: t, options: o, clock: new(clock), mesh: mesh, dir: t.TempDir(), files: map[string]string{},
		status: map[translate.Key]status{}, seen: newSight(), made: new(keys), said: new(paper), site: claimSite(t),
	}
	w.options.stateDir = t.TempDir()
	var err error
	theirs := func() time.Time { return w.clock.now().Add(time.Duration(w.skew.Load())) }
	w.skew.Store(int64(o.skew))
	w.ca, err = ca.New(ca.Config{Now: theirs, RootKey: ca.ECDSA})
	w.do(err)
	w.bundle = w.ca.Bundle()
	w.issuers.start(w)
	w.put("gateway", w.gatewayYAML())
	w.put("route", routeYAML)
	w.put("binding", w.bindingYAML())
	w.put("mesh", mesh.objects)
	t.Cleanup(w.end)
	return w
}

const gatewayYAML = `apiVersion: v1
kind: Namespace
metadata: {name: edge, labels: {edge: "true"}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: outside}
spec:
  controllerName: gatehouse.dev/fake
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: outside, namespace: edge}
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: outside, namespace: edge}
spec: {fake: {allowLoopbackEndpoints: true, addressPool: [%s], without: [%s]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: shop, namespace: edge}
spec:
  gatewayClassName: outside
  listeners: [{name: http, port: 8000, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
`

const routeYAML = `apiVersion: v1
kind: Namespace
metadata: {name: apps}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: apps, labels: {meshed: "true"}}
spec:
  parentRefs: [{name: shop, namespace: edge}]
  rules: [{backendRefs: [{name: cart, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: apps}
spec:
  selector: {app: cart}
  ports: [{name: http, port: 80, targetPort: 8080}]
`

// bindingYAML lets the gateway in. A certificate for a day is what the meshes' own
// workloads have.
func (w *world) bindingYAML() string {
	m := w.mesh
	return fmt.Sprintf(`apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: mesh}
spec:
  controllerName: %s
  gateways: {namespaceSelector: {matchLabels: {edge: "true"}}}
  identity: {duration: %dh%s}
%s`, m.controller, cmp.Or(m.gatewayLife, m.leafLife)/time.Hour, w.options.identity, w.options.binding)
}

func (w *world) gatewayYAML() string {
	return fmt.Sprintf(gatewayYAML, w.site.pool(), w.options.without) + w.options.gateway
}

// put writes a file; "" removes it.
func (w *world) put(name, text string) {
	w.Helper()
	if w.files[name] == text {
		return
	}
	w.files[name] = text
	path := filepath.Join(w.dir, name+".yaml")
	if text == "" {
		w.do(os.Remove(path))
		return
	}
	w.do(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
}

// write puts pods, endpoints and the mesh's roots into the files.
func (w *world) write() {
	w.Helper()
	var objects []string
	for _, p := range w.pods {
		objects = append(objects, p.yaml())
	}
	w.put("pods", strings.Join(append(objects, w.slice()), "---\n"))
	w.put("roots", w.mesh.roots+indent(w.bundle, 4))
}

// open starts Gatehouse.
func (w *world) open(over *standalone.Stack) *standalone.Stack {
	w.Helper()
	log := slog.New(slog.NewTextHandler(w.said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	members := member.New(member.Config{Tokens: w.issuers.token, Reach: w.issuers.reach, Clock: w.clock.now})
	stack, err := standalone.Open(w.Context(), standalone.Config{
		Roots: w.outside.opened(members),
		Dir:   w.dir, Cluster: "test", Schemas: schemas, Dialects: member.Dialects(), Members: members, Over: over,
		Local:   local.Config{Log: log, Intercept: &w.writes, Trouble: w.trouble.add, Now: w.clock.now, StateDir: w.options.stateDir, HealthEvery: 20 * time.Millisecond},
		Clock:   providers.Clock{Now: w.clock.now},
		Keyring: w.issuers.keyring(w.made), Patience: providers.Patience{Cap: 25 * time.Millisecond, Pending: 200 * time.Millisecond},
	})
	w.do(err)
	for _, p := range stack.Problems {
		w.Errorf("the test's files: %s: %s", p.Place, p.Message)
	}
	return stack
}

// pass takes the files as they are and does what is to be done. How it went is in
// w.last.
func (w *world) pass() {
	w.Helper()
	w.write()
	if w.stack == nil {
		w.first = w.open(nil)
		w.stack = w.first
	}
	_, err := w.stack.Reload(w.Context())
	w.do(err)
	for _, p := range w.stack.Problems {
		w.Errorf("the test's files: %s: %s", p.Place, p.Message)
	}
	if w.issuers.spire != nil {
		w.issuers.spire.roots("MeshBinding/mesh")
	}
	w.last, err = w.stack.Pass(w.Context(), w.stack.Loop.Index().Gateways())
	w.do(err)
	w.said.passed(w.last)
	w.remember(w.last.Patches)
}

// settle is a pass that must be able to do everything.
func (w *world) settle() {
	w.Helper()
	w.pass()
	if !w.last.Settled || len(w.last.Failed) > 0 {
		w.Fatalf("not everything is there: %v", w.last.Failed)
	}
}

// url is where the gateway answers.
func (w *world) url() string {
	w.Helper()
	address, err := w.stack.Address("shop", 8000)
	w.do(err)
	return "http://" + address.String() + "/"
}

func (w *world) do(errs ...error) {
	w.Helper()
	for _, err := range errs {
		if err != nil {
			w.Fatal(err)
		}
	}
}

// end stops everything, and looks for keys in all that was said.
func (w *world) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if w.first != nil {
		if err := w.first.Close(ctx); err != nil {
			w.Error(err)
		}
	}
	for _, p := range w.pods {
		p.end()
	}
	w.issuers.close(w)
	w.said.folder(w.T, w.options.stateDir)
	w.made.check(w.T, w.said)
}

// writes count the calls that change something in the cloud.
type writes struct {
	mu     sync.Mutex
	byName map[string]int
}

// Before implements cloud.Interceptor.
func (*writes) Before(cloud.Call) cloud.Fault { return cloud.Fault{} }

// After implements cloud.Interceptor.
func (c *writes) After(call cloud.Call) {
	if !call.Write {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]int{}
	}
	c.byName[call.Name]++
}

// take is what was counted since the last time.
func (c *writes) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := maps.Clone(c.byName)
	clear(c.byName)
	return out
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// site is the part of loopback that a test has for itself: pods from .1, gateways
// above .127.
type site int

func (s site) address(host int) string {
	return fmt.Sprintf("127.%d.%d.%d", 224+int(s)/250, 1+int(s)%250, host)
}
func (s site) pool() string { return s.address(128) + "/25" }

// claimSite finds one that nobody has, in this process or another.
func claimSite(t *testing.T) site {
	t.Helper()
	const sites = 16 * 250
	first := os.Getpid() * 7
	for n := range sites {
		s := site((first + n) % sites)
		if l, err := net.Listen("tcp", s.address(127)+":1"+"9999"); err == nil {
			t.Cleanup(func() { l.Close() })
			return s
		}
	}
	t.Fatal("no free loopback address")
	return 0
}

// served is the gateway as its provider was asked to serve it.
func (w *world) served() lbmodel.Gateway {
	w.Helper()
	all := w.stack.Loop.Gateways()
	i := slices.IndexFunc(all, func(g reconciled) bool { return g.Key.Name == "shop" })
	return all[i].Served
}
