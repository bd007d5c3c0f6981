package cases

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/local"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/standalone"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// schemas are compiled once for all tests: that costs more than any of them.
var schemas = new(manifest.Schemas)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is one case: a folder of manifests that behaves as a cluster would, the
// whole of Gatehouse over it, and backends.
type harness struct {
	*testing.T
	dir     string
	site    site
	objects map[object]fields
	a, b, c *backend
	hosts   int // backends at addresses of the site

	stack  *standalone.Stack // nil before the first apply
	local  local.Config
	again  []translate.Key // gateways with something left to do
	marked int             // calls made before the last mark
	last   standalone.Passed
	// serviceDefault is whose Services without a class are.
	serviceDefault string
	refused        string // what problems of the files must hold; "" is that there are none
}

// begin makes the common fixture of the cases, with the case's own documents.
// Nothing runs before apply.
func begin(t *testing.T, docs ...string) *harness {
	t.Helper()
	t.Parallel()
	h := &harness{T: t, dir: t.TempDir(), objects: map[object]fields{}}
	t.Cleanup(h.close)
	var first net.Listener
	h.site, first = claimSite(t)
	h.put(fmt.Sprintf(classYAML, h.site.pool()), gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`))
	h.a = h.serve("a", first, new(http.Server))
	h.b, h.c = h.backend("b"), h.backend("c")
	h.put(docs...)
	return h
}

const classYAML = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: offcluster}
spec:
  controllerName: gatehouse.dev/fake
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: cases, namespace: apps}
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: cases, namespace: apps}
spec:
  # The backends are this process's own: both settings say so.
  foreignEndpoints: Allow
  fake: {allowLoopbackEndpoints: true, addressPool: [%s]}
`

// gatewayYAML is a Gateway with listeners in flow style.
func gatewayYAML(name string, listeners ...string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %s, namespace: apps}
spec:
  gatewayClassName: offcluster
  listeners: [%s]
`, name, strings.Join(listeners, ", "))
}

// routeYAML is an HTTPRoute in apps with a parent edge; spec is the rest of it,
// indented by two.
func routeYAML(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: apps}
spec:
  parentRefs: [{name: edge}]
%s
`, name, strings.Trim(spec, "\n"))
}

// site is the part of loopback that a test has for itself: backends at .1 to .99,
// gateways above. The number is the address's middle.
type site int

func (s site) address(host int) string {
	return fmt.Sprintf("127.%d.%d.%d", 160+int(s)/250, 1+int(s)%250, host)
}

func (s site) pool() string { return s.address(128) + "/25" }

// claimSite finds one that nobody has, in this process or another: the first
// backend's socket is the claim.
func claimSite(t *testing.T) (site, net.Listener) {
	t.Helper()
	const sites = 64 * 250
	hash := fnv.New32a()
	fmt.Fprint(hash, t.Name(), os.Getpid())
	for n := range sites {
		s := site((int(hash.Sum32()) + n) % sites)
		if l, err := net.Listen("tcp", s.address(1)+":8080"); err == nil {
			return s, l
		}
	}
	t.Fatal("no free loopback address")
	return 0, nil
}

// apply takes the files as they are, does what is to be done, and writes statuses
// into the files as a controller does.
func (h *harness) apply() lbmodel.Plan {
	h.Helper()
	keys := h.reload()
	passed, err := h.stack.Pass(h.Context(), keys)
	if err != nil {
		h.Fatal(err)
	}
	h.again = nil
	if !passed.Settled {
		h.again = keys
	}
	for _, p := range passed.Patches {
		h.patch(p)
	}
	h.last = passed
	return passed.Plan
}

// reload reads the files and says for which gateways there is something to do:
// those that a change concerns, and those whose last pass left something.
func (h *harness) reload() []translate.Key {
	h.Helper()
	if h.stack == nil {
		h.open()
		return h.again
	}
	keys, err := h.stack.Reload(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	h.problems()
	for _, k := range h.again {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// open starts the whole of Gatehouse; there is something to do for every gateway.
func (h *harness) open() {
	h.Helper()
	var err error
	h.stack, err = standalone.Open(h.Context(), standalone.Config{
		Dir: h.dir, Cluster: "cases", Schemas: schemas, Local: h.local, ServiceDefault: h.serviceDefault,
		ServiceParameters: map[string]types.NamespacedName{"fake": {Namespace: "apps", Name: "cases"}},
	})
	if err != nil {
		h.Fatal(err)
	}
	h.problems()
	h.again = h.stack.Loop.Index().Gateways()
}

// close ends the whole of Gatehouse; the next apply starts it again.
func (h *harness) close() {
	h.Helper()
	if h.stack == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.stack.Close(ctx); err != nil {
		h.Error(err)
	}
	h.stack, h.again = nil, nil
}

func (h *harness) problems() {
	h.Helper()
	for _, p := range h.stack.Problems {
		if h.refused == "" || !strings.Contains(p.Field+": "+p.Message, h.refused) {
			h.Errorf("the case's files: %s %s: %s", p.Place, p.Field, p.Message)
		}
	}
	if h.refused != "" && len(h.stack.Problems) == 0 {
		h.Errorf("the files have no problem, want one with %q", h.refused)
	}
}

// plan takes the files as they are and plans for every gateway, without doing it.
func (h *harness) plan() lbmodel.Plan {
	h.Helper()
	h.again = h.reload()
	pass, err := h.stack.Loop.Plan(h.Context(), h.stack.Loop.Index().Gateways())
	if err != nil {
		h.Fatal(err)
	}
	return pass.Plan()
}

// nothingToDo wants an empty plan and no call that could change something.
func (h *harness) nothingToDo(why string) {
	h.Helper()
	h.mark()
	if p := h.plan(); !p.Empty() {
		h.Errorf("%s: want an empty plan, got:\n%s", why, planText(p))
	}
	h.apply()
	if w := h.writes(); len(w) > 0 {
		h.Errorf("%s: calls were made: %v", why, w)
	}
}

func planText(p lbmodel.Plan) string {
	var out strings.Builder
	for _, s := range p.Steps {
		fmt.Fprintf(&out, "%s %s: %s\n", s.Verb, s.ID, s.Why)
	}
	for _, w := range p.Later {
		fmt.Fprintf(&out, "later: %s\n", w)
	}
	return out.String()
}

// gateway is a gateway of apps as its provider is asked to serve it.
func (h *harness) gateway(name string) lbmodel.Gateway {
	h.Helper()
	g, ok := h.stack.Loop.Gateway(translate.Key{Kind: "Gateway", Namespace: "apps", Name: name})
	if !ok {
		h.Fatalf("there is no gateway %s", name)
	}
	return g.Served
}

// address is where a gateway's port really is.
func (h *harness) address(gateway string, port int32) netip.AddrPort {
	h.Helper()
	addr, err := h.stack.Address(gateway, port)
	if err != nil {
		h.Fatal(err)
	}
	return addr
}

// mark forgets the calls made so far.
func (h *harness) mark() {
	h.marked = 0
	if log := h.stack.Local.Cloud.Log(); len(log) > 0 {
		h.marked = log[len(log)-1].Number
	}
}

// writes are the calls since mark that could change something, by name.
func (h *harness) writes() (out []string) {
	for _, c := range h.stack.Local.Cloud.Log() {
		if c.Number > h.marked && c.Write {
			out = append(out, c.Name)
		}
	}
	return out
}

// spoil decides over every call from now on.
type spoil func(cloud.Call) cloud.Fault

// Before implements cloud.Interceptor.
func (s spoil) Before(c cloud.Call) cloud.Fault { return s(c) }

// After implements cloud.Interceptor.
func (spoil) After(cloud.Call) {}

// refuse makes all calls of a name, about objects whose name or handle has a part,
// fail with a code; nothing else is spoiled.
func (h *harness) refuse(name, part string, code cloud.FaultCode) {
	h.stack.Local.Cloud.Intercept(spoil(func(c cloud.Call) cloud.Fault {
		if c.Name != name || !strings.Contains(c.Object, part) {
			return cloud.Fault{}
		}
		return cloud.Fault{Kind: cloud.Refuse, Error: &cloud.CallError{Code: code, Message: "by the case"}}
	}))
}

// heal ends all faults.
func (h *harness) heal() { h.stack.Local.Cloud.Intercept(nil) }

// failedWith says whether the last apply failed with a code anywhere.
func (h *harness) failedWith(code lbmodel.Code) bool {
	for _, err := range h.last.Failed {
		if lbmodel.CodeOf(err) == code {
			return true
		}
	}
	return false
}

// put upserts objects, as kubectl apply does: what stands in status stays, unless
// a document has one of its own.
func (h *harness) put(docs ...string) {
	h.Helper()
	for _, doc := range documents(h, docs) {
		id := objectOf(doc)
		if old, ok := h.objects[id]["status"]; ok && doc["status"] == nil {
			doc["status"] = old
		}
		h.objects[id] = doc
		h.write(id)
	}
}

// remove deletes an object; name is in apps, or "namespace/name".
func (h *harness) remove(kind, name string) {
	h.Helper()
	id := named(kind, name)
	if _, ok := h.objects[id]; !ok {
		h.Fatalf("there is no %s", id)
	}
	delete(h.objects, id)
	if err := os.Remove(h.file(id)); err != nil {
		h.Fatal(err)
	}
}

// file is where an object stands; each has one of its own.
func (h *harness) file(id object) string {
	return filepath.Join(h.dir, strings.Join([]string{id.kind, id.namespace, id.name}, "-")+".yaml")
}

// unserved wants nothing to listen on a gateway's port.
func (h *harness) unserved(gateway string, port int32) {
	h.Helper()
	if addr, err := h.stack.Address(gateway, port); err == nil {
		h.Errorf("port %d of %s answers at %s, want it not served", port, gateway, addr)
	}
}
