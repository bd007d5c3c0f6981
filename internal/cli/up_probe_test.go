package cli

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
)

const lookedAt = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: gatehouse.dev/fake}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: apps}
spec:
  gatewayClassName: c
  listeners: [{name: http, port: 80, protocol: HTTP}]
  tls: {backend: {clientCertificateRef: {name: edge}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: a, port: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: apps}
spec: {ports: [{port: 80, targetPort: PORT}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: a, namespace: apps, labels: {kubernetes.io/service-name: a}}
addressType: IPv4
ports: [{port: PORT}]
endpoints: [{addresses: [HOST], conditions: {ready: true}, targetRef: {kind: Pod, namespace: apps, name: a-0}}]
---
apiVersion: v1
kind: Pod
metadata: {name: a-0, namespace: apps, annotations: {sidecar.istio.io/status: "{}"}}
spec: {serviceAccountName: cart, containers: [{name: app}, {name: istio-proxy}]}
status: {podIP: HOST}
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
apiVersion: v1
kind: Secret
metadata: {name: edge, namespace: apps}
type: kubernetes.io/tls
stringData: {tls.crt: CHAIN, tls.key: KEY}
---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: mesh}
spec: {controllerName: istio.io/istio, gateways: {namespaceSelector: {}}, probe: {mode: Gate}}
`

// TestUpLooks: what is served on this machine dials pods between passes as a manager
// does, with the certificate of a Secret, and looks again sooner at what fails.
func TestUpLooks(t *testing.T) {
	mesh, err := ca.New(ca.Config{})
	do(t, err)
	issue := func(name string) tls.Certificate {
		t.Helper()
		leaf, err := mesh.Issue(ca.Request{URIs: []string{"spiffe://cluster.local/ns/apps/sa/" + name}})
		do(t, err)
		return leaf
	}
	pod, err := inbound.Start(inbound.Config{Proxy: inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP}, Leaf: issue("cart"), Roots: mesh.Roots()})
	do(t, err)
	defer pod.Close()
	address := netip.MustParseAddrPort(pod.Addr())
	edge := issue("edge")
	key, err := x509.MarshalPKCS8PrivateKey(edge.PrivateKey)
	do(t, err)
	quoted := func(text []byte) string { out, err := json.Marshal(string(text)); do(t, err); return string(out) }
	text := strings.NewReplacer("HOST", address.Addr().String(), "PORT", fmt.Sprint(address.Port()), "ROOTS", quoted(mesh.Bundle()),
		"CHAIN", quoted(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: edge.Certificate[0]})),
		"KEY", quoted(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))).Replace(lookedAt)
	path := filepath.Join(t.TempDir(), "all.yaml")
	do(t, os.WriteFile(path, []byte(text), 0o600))
	loaded, err := manifest.Load(t.Context(), manifest.Options{Paths: []string{path}, Cluster: "c", Schemas: new(manifest.Schemas), MeshKinds: translate.Options{Dialects: member.Dialects()}.Reads()})
	do(t, err)
	s := &server{app: &app{out: term.Screen{Writer: discard{}}, env: Env{Getenv: func(string) string { return "" }}}, engine: &engine{keys: &liveKeys{}}}
	s.engine.keys.now.Store(loaded.Keys)
	s.engine.loop = reconcile.New(translate.New(loaded.Snapshot, translate.Options{
		Controllers: map[string]string{"gatehouse.dev/fake": "fake"}, Dialects: member.Dialects(),
		AllowLoopback: func(string, json.RawMessage) bool { return true },
	}), nil)
	look := func(sooner, later time.Duration) string {
		t.Helper()
		s.due = due{}
		s.look(t.Context(), nil)
		if wait, ok := s.due.wait(time.Now()); !ok || wait < sooner || wait > later {
			t.Errorf("it looks again in %s, want %s to %s", wait, sooner, later)
		}
		if sight, ok := s.engine.loop.Index().Object(translate.Key{Kind: translate.KindSight, Name: "mesh"}).(*translate.Sight); ok && len(sight.Pools) > 0 {
			return sight.Pools[0].Text
		}
		return ""
	}
	if got := look(time.Minute, lookLater); got != "" {
		t.Errorf("a pod that takes it is told as %q", got)
	}
	if seen := pod.Seen(); len(seen.Last) == 0 || seen.Last[len(seen.Last)-1].Client != "spiffe://cluster.local/ns/apps/sa/edge" {
		t.Errorf("the pod saw %+v, want the Secret's certificate", seen.Last)
	}
	pod.Renew(issue("other"))
	s.members = nil // as another process: what was seen is not known
	if got := look(0, lookAgain); !strings.HasPrefix(got, "wrong SAN: ") {
		t.Errorf("told is %q, want a wrong SAN", got)
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
