package watch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/internal/member"
	"gatehouse.dev/meshsync/meshtest"
)

// noise is what pods have besides, and nobody reads.
const noise = `, prometheus.io/scrape: "true", kubectl.kubernetes.io/restartedAt: now`

// meshPods are pods as the injectors of meshes leave them.
func meshPods() map[string]string {
	head := func(labels, annotations string) string {
		return "kind: Pod\napiVersion: v1\nmetadata: {namespace: apps, name: a, uid: u, labels: {app: a" + labels + "}, annotations: {" + strings.TrimPrefix(annotations+noise, ", ") + "}}\n"
	}
	const app = `
  - name: app
    image: big
    command: [run]
    args: [router]
    env: [{name: PASSWORD, value: secret}]
    resources: {requests: {cpu: 1}}
    ports: [{containerPort: 8080, name: web}, {containerPort: 8081, name: probes}]
    readinessProbe: {httpGet: {path: /ready, port: probes}, periodSeconds: 7}
    livenessProbe: {httpGet: {path: /live, port: web}}
`
	status := "status: {podIP: 10.0.0.1, phase: Running}\n"
	spec := "spec:\n  serviceAccountName: shop\n  containers:" + app
	return map[string]string{
		"no mesh": head("", "") + spec + status,
		"Istio": head("", `, sidecar.istio.io/status: "{}", traffic.sidecar.istio.io/excludeInboundPorts: "9"`) + spec +
			"  - {name: istio-proxy, args: [proxy, sidecar], readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}}}\n" +
			"  initContainers: [{name: istio-init, args: [istio-iptables, -m, REDIRECT, -b, '*', -d, '8081,15090']}]\n" + status,
		"a gateway of Istio's": head(", gateway.networking.k8s.io/gateway-name: pad", "") + "spec:\n  containers:\n  - {name: istio-proxy, args: [proxy, router]}\n" + status,
		"ambient":              head("", `, ambient.istio.io/redirection: enabled`) + spec + status,
		"Linkerd": head(", linkerd.io/control-plane-ns: linkerd", `, linkerd.io/proxy-version: stable, config.linkerd.io/opaque-ports: web`) + spec +
			`  initContainers:
  - name: linkerd-proxy
    env:
    - {name: LINKERD2_PROXY_LOG, value: warn}
    - {name: _pod_sa, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
    - {name: _pod_ns, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: _l5d_ns, value: linkerd}
    - {name: _l5d_trustdomain, value: cluster.local}
    - {name: LINKERD2_PROXY_IDENTITY_LOCAL_NAME, value: $(_pod_sa).$(_pod_ns).serviceaccount.identity.$(_l5d_ns).$(_l5d_trustdomain)}
    - {name: LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS, value: roots}
    - {name: LINKERD2_PROXY_INBOUND_PORTS_DISABLE_PROTOCOL_DETECTION, value: "25"}
` + status,
		"Kuma": head("", `, kuma.io/sidecar-injected: "true", traffic.kuma.io/exclude-inbound-ports: "8081"`) + spec +
			"  - {name: kuma-sidecar, readinessProbe: {httpGet: {path: /ready, port: 9901}}}\n" + status,
		"Consul": head(", consul.hashicorp.com/connect-inject-status: injected", `, consul.hashicorp.com/connect-service-port: web, consul.hashicorp.com/transparent-proxy-status: enabled`) + spec +
			"  - {name: consul-dataplane, readinessProbe: {tcpSocket: {port: 20000}}}\n" + status,
		"SPIFFE": head("", "") + "spec:\n  serviceAccountName: shop\n  volumes: [{name: id, csi: {driver: csi.spiffe.io, readOnly: true}}, {name: x, emptyDir: {}}]\n  containers:" + app + status,
	}
}

const meshWorld = `
kind: Namespace
apiVersion: v1
metadata: {name: apps, annotations: {config.linkerd.io/default-inbound-policy: deny, other: x}}
---
kind: Service
apiVersion: v1
metadata: {namespace: apps, name: a}
spec: {selector: {app: a}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}
`

func podOf(t testing.TB, text string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return p
}

// TestTrimPodForMeshes: every dialect says the same of a pod before and after. Why
// this table: what is dropped and was read would move traffic without a word.
func TestTrimPodForMeshes(t *testing.T) {
	for name, text := range meshPods() {
		for _, d := range member.Dialects() {
			t.Run(name+" for "+d.Controller(), func(t *testing.T) {
				w := meshtest.Parse(t, meshWorld)
				port, mesh := w.Port("apps", "a"), d.Mesh(w)
				want := d.Inbound(w, mesh, port, podOf(t, text))
				trimmed, err := new(trimmer).trim(podOf(t, text))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, d.Inbound(w, mesh, port, trimmed.(*corev1.Pod))); diff != "" {
					t.Errorf("what it accepts (-whole +trimmed):\n%s", diff)
				}
			})
		}
	}
}

// TestTrimPodDrops what no mesh reads, of pods in meshes too.
func TestTrimPodDrops(t *testing.T) {
	for name, text := range meshPods() {
		out, err := new(trimmer).trim(podOf(t, text))
		if err != nil {
			t.Fatal(err)
		}
		kept := fmt.Sprintf("%+v", out)
		for _, word := range []string{"secret", "PASSWORD", "big", "/live", "LINKERD2_PROXY_LOG", "emptyDir", "prometheus.io", "restartedAt"} {
			if strings.Contains(kept, word) {
				t.Errorf("%s: %q is kept: %s", name, word, kept)
			}
		}
		if p := out.(*corev1.Pod); name == "no mesh" && (p.Spec.Containers != nil || p.Annotations != nil) {
			t.Errorf("a pod in no mesh keeps containers %v and annotations %v", p.Spec.Containers, p.Annotations)
		}
	}
}

// TestAnnotations holds the lists against the source of the dialects: one that is
// read and not kept would never be there.
func TestAnnotations(t *testing.T) {
	kept := slices.Concat(podAnnotations(), namespaceAnnotations())
	files, err := filepath.Glob("../../../meshsync/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no dialects are found", err)
	}
	read := regexp.MustCompile(`\.Annotations\[([^\]]+)\]`)
	found := 0
	constants := map[string]string{}
	for _, file := range files {
		for name, value := range constantsOf(t, file) {
			constants[filepath.Dir(file)+" "+name] = value
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range read.FindAllStringSubmatch(string(text), -1) {
			key, known := constants[filepath.Dir(file)+" "+m[1]]
			if strings.HasSuffix(file, "_test.go") || !known || !strings.Contains(key, "/") {
				continue
			}
			if found++; !slices.Contains(kept, key) {
				t.Errorf("%s reads the annotation %s, which is not kept", file, key)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d reads of annotations are found: the source is written in another way now", found)
	}
}

// constantsOf are the texts of a file's constants.
func constantsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if i >= len(spec.Values) {
				continue
			}
			switch v := spec.Values[i].(type) {
			case *ast.BasicLit:
				out[name.Name], _ = strconv.Unquote(v.Value)
			case *ast.BinaryExpr: // Consul's: a prefix that stands before
				prefix, _ := v.X.(*ast.Ident)
				rest, _ := v.Y.(*ast.BasicLit)
				if prefix != nil && rest != nil {
					text, _ := strconv.Unquote(rest.Value)
					out[name.Name] = out[prefix.Name] + text
				}
			}
		}
		return true
	})
	return out
}

// TestTrimConfigMap keeps roots and meshes' configuration. Why this table: a
// MeshBinding may name any key, config maps are many, and some hold keys.
func TestTrimConfigMap(t *testing.T) {
	const root, key = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n", "-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\n"
	tests := []struct {
		name, object, key, value, want string // "" is dropped
	}{
		{"roots under any key", "any", "my.pem", root, root},
		{"what names roots and has none", "any", "ca.crt", "oops", "oops"},
		{"encoded once more", "any", "my.pem", "LS0tLS1CRUdJTiBDRVJU", "LS0tLS1CRUdJTiBDRVJU"},
		{"anything else", "any", "game", "much", ""},
		{"a key beside roots", "any", "my.pem", root + key, root + "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"},
		{"a key that does not end", "any", "ca.crt", "-----BEGIN PRIVATE KEY-----\nMHc", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----"},
		{"Istio's configuration", "istio", "mesh", "trustDomain: a", "trustDomain: a"},
		{"of a revision", "istio-1-30", "mesh", "trustDomain: a", "trustDomain: a"},
		{"its other keys", "istio", "meshNetworks", "much", ""},
		{"Linkerd's", "linkerd-config", "values", "proxy: {}", "proxy: {}"},
		{"Cilium's", "cilium-config", "enable-wireguard", "true", "true"},
		{"Cilium's other keys", "cilium-config", "debug", "true", ""},
		{"Consul's", "consul-server-config", "server.json", "{}", "{}"},
		{"SPIRE's", "spire-server", "server.conf", "{}", "{}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := new(trimmer).trim(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tt.object}, Data: map[string]string{tt.key: tt.value}})
			if err != nil {
				t.Fatal(err)
			}
			if got := out.(*corev1.ConfigMap).Data[tt.key]; got != tt.want {
				t.Errorf("kept is %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTrimMeshObject keeps what somebody wrote.
func TestTrimMeshObject(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication", "spec": map[string]any{"mtls": map[string]any{"mode": "STRICT"}}, "status": map[string]any{"x": "y"},
		"metadata": map[string]any{"name": "a", "managedFields": []any{map[string]any{"manager": "m"}}},
	}}
	out, err := new(trimmer).trim(o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication", "spec": map[string]any{"mtls": map[string]any{"mode": "STRICT"}},
		"metadata": map[string]any{"name": "a"},
	}
	if diff := cmp.Diff(want, out.(*unstructured.Unstructured).Object); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// TestOneCopy: a bundle that is in every namespace is kept once, and the table of
// texts is bounded.
func TestOneCopy(t *testing.T) {
	bundle := strings.Repeat("-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n", 3000)
	var tr trimmer
	var first *byte
	for i := range 500 {
		out, err := tr.trim(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint(i), Name: "roots"}, Data: map[string]string{"ca.pem": strings.Clone(bundle)}})
		if err != nil {
			t.Fatal(err)
		}
		at := unsafe.StringData(out.(*corev1.ConfigMap).Data["ca.pem"])
		if first == nil {
			first = at
		}
		if at != first {
			t.Fatalf("copy %d of the bundle is kept too", i)
		}
	}
	for i := range 1000 {
		tr.texts.one(fmt.Sprint(i, bundle))
		if tr.texts.bytes > maxTexts {
			t.Fatalf("the table holds %d bytes, the bound is %d", tr.texts.bytes, maxTexts)
		}
	}
}

// TestPodMemory: a pod costs little more for the meshes, and one that is in none
// nothing.
func TestPodMemory(t *testing.T) {
	anchors := strings.Repeat("MIIB", 400)
	for _, tt := range []struct {
		name string
		most float64 // bytes of a pod
	}{{"no mesh", 1800}, {"Istio", 4300}, {"Linkerd", 4300}} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.ReplaceAll(meshPods()[tt.name], "value: roots", "value: "+anchors)
			whole := podOf(t, text)
			const n = 2000
			var tr trimmer
			pods := make([]any, n)
			before := heap()
			for i := range pods {
				p := podOf(t, text)
				p.Name = fmt.Sprintf("pod-%06d", i)
				pods[i], _ = tr.trim(p)
			}
			each := float64(heap()-before) / n
			t.Logf("%.0f bytes a pod", each)
			if each > tt.most {
				t.Errorf("%.0f bytes a pod, want at most %.0f", each, tt.most)
			}
			runtime.KeepAlive(pods)
			runtime.KeepAlive(whole)
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
