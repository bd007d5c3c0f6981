//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/meshsync/probe"
	"gatehouse.dev/test/cluster"
)

// another is an application like api, with a certificate of its own.
func another(name string) string {
	return strings.NewReplacer("name: api", "name: "+name, "app: api", "app: "+name, "secretName: sidecar", "secretName: "+name).Replace(sidecarred)
}

// routed leads to an application by its name.
func routed(name string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[1]s, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  rules: [{matches: [{path: {value: /%[1]s}}], backendRefs: [{name: %[1]s, port: 80}]}]
`, name)
}

// lingering has an application serve for a while after it was told to end, and its proxy
// end connections, so that what it shows is seen.
var lingering = strings.NewReplacer(
	"terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 6",
	"        readinessProbe:", "        lifecycle: {preStop: {sleep: {seconds: 4}}}\n        readinessProbe:",
	"env: [{name: FILES, value: /mesh}", `env: [{name: REQUESTS, value: "5"}, {name: FILES, value: /mesh}`,
)

// probeWorld is a mesh whose binding wants probes, with a gateway that serves.
type probeWorld struct {
	*testing.T
	*cluster.Cluster
	mesh    *mesh
	manager *manager
	url     string
	away    *atomic.Bool // the manager has no way to the pods
}

// newProbeWorld has a gateway lead to one pod, which is dialled in quick turns.
func newProbeWorld(t *testing.T) *probeWorld {
	c := cluster.Start(t, cluster.Config{Packages: map[string]string{sidecarImage: "gatehouse.dev/test/cluster/sidecar"}})
	c.InstallCRDs(t, cluster.Standard)
	w := &probeWorld{T: t, Cluster: c, mesh: newMesh(t, c), manager: newManager(t, c), away: new(atomic.Bool)}
	w.manager.meshes, w.manager.dialects = w.mesh.config(), member.Dialects()
	w.manager.meshes.Pace = probe.Pace{Fresh: time.Second, Again: 300 * time.Millisecond}
	w.manager.meshes.Dialled = w.dialled
	for _, text := range []string{meshNamespaces, edge, peerAuthentications} {
		c.Apply(t, text)
	}
	c.Apply(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: renamed, namespace: shop}}")
	w.mesh.announce(t)
	w.show("sidecar", w.good())
	for _, text := range []string{strict, lingering.Replace(sidecarred), w.mesh.binding() + "  probe: {mode: Report}\n"} {
		c.Apply(t, text)
	}
	w.manager.start(t)
	readyPods(t, c, "app=api", 1)
	c.Apply(t, meshed)
	w.url = "http://" + programmed(t, c, "edge")
	serves(t, w.url)
	return w
}

// part is the world of a part of the test.
func (w *probeWorld) part(t *testing.T, why string) *probeWorld {
	t.Log(why)
	out := *w
	out.T = t
	return &out
}

// gates has probes decide from now on.
func (w *probeWorld) gates() {
	_, err := w.Dynamic().Resource(bindings).Patch(w.Context(), "istio", types.MergePatchType, []byte(`{"spec":{"probe":{"mode":"Gate"}}}`), metav1.PatchOptions{})
	w.do(err)
}

func (w *probeWorld) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// dialled is where the manager dials. Nobody listens at port 1.
func (w *probeWorld) dialled(address string) string {
	if w.away.Load() {
		return "127.0.0.1:1"
	}
	return address
}

func (w *probeWorld) leaf(of *ca.CA, r ca.Request) tls.Certificate {
	w.Helper()
	pair, err := of.Issue(r)
	w.do(err)
	return pair
}

func (w *probeWorld) good() tls.Certificate {
	return w.leaf(w.mesh.ca, ca.Request{URIs: []string{ofAPI}})
}

// show gives an application's proxies a certificate, and waits until those that run
// show it.
func (w *probeWorld) show(secret string, pair tls.Certificate) {
	w.Helper()
	w.mesh.show(w.T, secret, pair, w.mesh.ca.Bundle())
	app := secret
	if app == "sidecar" {
		app = "api"
	}
	eventually(w.T, func(ctx context.Context) error {
		list, err := w.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil {
			return err
		}
		for _, p := range list.Items {
			if got := shownBy(ctx, p.Status.PodIP+":8080"); !got.Equal(pair.Leaf) {
				return fmt.Errorf("pod %s does not show the certificate yet", p.Name)
			}
		}
		return nil
	})
}

// hopOf is how a route tells of the hop to an application.
func hopOf(app string) string {
	return "rules[0].backendRefs[0] shop/" + app + ":80 ClientAndServer" + losses
}

// losses are what is lost on the hop: the one readiness probe that is not the
// application's behind the proxy is the proxy's.
const losses = " without AppHealth"

// partOf is how a Service tells of the hop.
func partOf(name string) string {
	return "port 80, ServiceAccount " + name + ": Direct ClientAndServer" + losses + " as spiffe://cluster.local/ns/shop/sa/" + name
}

// broken wants the route and the Service of an application to say what the probe found.
func (w *probeWorld) broken(app, account, found string) {
	w.Helper()
	w.routeSays(app, "False/ProbeFailed: "+hopOf(app)+": the probe says: "+found)
	w.serviceSays(app, "False/ProbeFailed: "+partOf(account)+"; the probe says: "+found)
}

// well wants them to say that all is well.
func (w *probeWorld) well(app, account string) {
	w.Helper()
	w.routeSays(app, "True/ProtectedWithLosses: "+hopOf(app))
	w.serviceSays(app, "True/ProtectedWithLosses: "+partOf(account))
}

// exactly compares a condition with "Status/Reason: message", where "…" stands for
// names of the provider.
func exactly(all []metav1.Condition, kind, want string) error {
	pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".+") + "$")
	for _, c := range all {
		if got := fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message); c.Type == kind {
			if !pattern.MatchString(got) {
				return fmt.Errorf("%s is\n  %s\nwant\n  %s", kind, got, want)
			}
			return nil
		}
	}
	return fmt.Errorf("there is no condition %s", kind)
}

func (w *probeWorld) routeSays(name, want string) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		var r gwv1.HTTPRoute
		if err := read(ctx, w.Cluster, httpRoutes, namespace, name, &r); err != nil {
			return err
		}
		if len(r.Status.Parents) != 1 {
			return fmt.Errorf("route %s has %d parents in its status", name, len(r.Status.Parents))
		}
		return exactly(r.Status.Parents[0].Conditions, "gatehouse.dev/BackendTLS", want)
	})
}

func (w *probeWorld) serviceSays(name, want string) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		s, err := w.Client().CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return exactly(s.Status.Conditions, "fake.gatehouse.dev/BackendTLS", want)
	})
}

// waits wants the Gateway to say what of it waits, and why.
func (w *probeWorld) waits(why string) { w.Helper(); w.synced("False/ProbeFailed: …waits: " + why) }

// goesOn wants nothing of it to wait any more.
func (w *probeWorld) goesOn() { w.Helper(); w.synced("True/InSync: what is there is what is wanted") }

func (w *probeWorld) synced(want string) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		var g gwv1.Gateway
		if err := read(ctx, w.Cluster, gateways, namespace, "edge", &g); err != nil {
			return err
		}
		return exactly(g.Status.Conditions, "gatehouse.dev/InSync", want)
	})
}

// refuses wants requests of a path to end at the gateway, from when the connections are
// gone that were verified before.
func (w *probeWorld) refuses(path string) {
	w.Helper()
	refused := 0
	eventually(w.T, func(ctx context.Context) error {
		_, resp, err := get(ctx, w.url+path)
		if refused++; err != nil || resp.StatusCode < http.StatusInternalServerError {
			refused = 0
		}
		if refused < 10 {
			return fmt.Errorf("of %s %d requests in a row were refused: %v, %w", path, refused, resp, err)
		}
		return nil
	})
}

// servedBy waits until requests of a path are answered by a pod of an application.
func (w *probeWorld) servedBy(path, pods string) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		a, resp, err := get(ctx, w.url+path)
		if err == nil && !strings.HasPrefix(a.Pod, pods) {
			err = fmt.Errorf("status %d from %q, want %s", resp.StatusCode, a.Pod, pods)
		}
		return err
	})
}

// lossless ends a load that nothing may have happened to.
func (w *probeWorld) lossless(stop func() (int, []error)) {
	w.Helper()
	asked, failed := stop()
	w.Logf("%d requests, %d failed", asked, len(failed))
	if asked < 20 || len(failed) > 0 {
		w.Errorf("%d of %d requests failed, the first: %v", len(failed), asked, failed[:min(1, len(failed))])
	}
}

// shownBy is the certificate that a pod shows to somebody without one; nil is none.
func shownBy(ctx context.Context, address string) (leaf *x509.Certificate) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		leaf = s.PeerCertificates[0]
		return nil
	}}}
	if conn, err := dialer.DialContext(ctx, "tcp", address); err == nil {
		_ = conn.Close() // it was made to be looked at
	}
	return leaf
}
