//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/test/cluster"
)

// defaulted are objects that leave out all they can. What a file means must be
// what it means in a cluster.
const defaulted = `
apiVersion: v1
kind: Service
metadata: {name: plain}
spec: {selector: {app: a}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: headless}
spec: {clusterIP: None, selector: {app: a}, ports: [{name: a, port: 80, targetPort: http}, {name: b, port: 81, protocol: UDP}]}
---
apiVersion: v1
kind: Service
metadata: {name: selectorless}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: external}
spec: {type: ExternalName, externalName: example.test}
---
apiVersion: v1
kind: Service
metadata: {name: sticky}
spec: {type: NodePort, sessionAffinity: ClientIP, selector: {app: a}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: balanced}
spec: {type: LoadBalancer, loadBalancerClass: example.test/none, selector: {app: a}, ports: [{port: 80, appProtocol: kubernetes.io/h2c}]}
---
apiVersion: v1
kind: Service
metadata: {name: balanced-local}
spec: {type: LoadBalancer, loadBalancerClass: example.test/none, externalTrafficPolicy: Local, allocateLoadBalancerNodePorts: false, selector: {app: a}, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: manual, labels: {kubernetes.io/service-name: selectorless}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.244.1.1]}, {addresses: [10.244.1.2], conditions: {ready: false}}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: any-port, labels: {kubernetes.io/service-name: selectorless}}
addressType: IPv6
endpoints: [{addresses: ["fd00:10:244::11"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: bare}
spec:
  initContainers: [{name: before, image: example.test/none, ports: [{containerPort: 9000}]}]
  containers: [{name: main, image: example.test/none, ports: [{containerPort: 8080}, {containerPort: 53, protocol: UDP}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: accounted}
spec: {serviceAccountName: other, containers: [{name: main, image: example.test/none}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {ca.crt: text}
---
apiVersion: v1
kind: Namespace
metadata: {name: room}
`

// extra is what the API server adds and the file reader does not.
var extra = []struct{ name, kind, path, why string }{
	{"metadata", "", `metadata\.(uid|resourceVersion|generation|creationTimestamp|managedFields.*)`, "facts of one cluster"},
	{"garbage", "EndpointSlice", `metadata\.generateName`, "set by controllers only"},
	{"addresses", "Service", `spec\.(clusterIP|clusterIPs.*|ipFamilies.*|ipFamilyPolicy)`, "allocated by one cluster"},
	{"node ports", "Service", `spec\.(ports\.\d+\.nodePort|healthCheckNodePort)`, "allocated by one cluster"},
	{"service status", "Service", `status.*`, "nobody has acted yet"},
	{"namespace", "Namespace", `(spec\.finalizers.*|status.*)`, "the life of a namespace is the API server's"},
	{"pod status", "Pod", `status.*`, "nobody has acted yet, or the kubelet has"},
	{"pod running", "Pod", `spec\.(restartPolicy|terminationGracePeriodSeconds|dnsPolicy|securityContext.*|schedulerName|priority|preemptionPolicy|enableServiceLinks|tolerations.*|nodeName)`, "how a pod runs: translation never looks"},
	{"container running", "Pod", `spec\.(initC|c)ontainers\.\d+\.(resources.*|terminationMessagePath|terminationMessagePolicy|imagePullPolicy|volumeMounts.*)`, "how a container runs: translation never looks"},
	{"token", "Pod", `spec\.volumes.*`, "the token of the pod's account: translation never looks"},
}

// TestDefaults compares each object as the API server stores it with what the
// file reader makes of the same text.
func TestDefaults(t *testing.T) {
	c := cluster.Start(t, cluster.Config{})
	c.Apply(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: other}}")
	c.Apply(t, defaulted)
	read := fromFiles(t, defaulted)
	objects, err := cluster.Parse(defaulted)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		t.Run(o.GetKind()+" "+o.GetName(), func(t *testing.T) {
			ours, ok := read[o.GetKind()+"/"+o.GetName()]
			if !ok {
				t.Fatal("the file reader has no such object")
			}
			compare(t, o.GetKind(), ours, stored(t, c, o))
		})
	}
}

// compare flattens both, so that every difference has a path. What is ours must
// be theirs; what only they have must be on the list.
func compare(t *testing.T, kind string, ours, theirs map[string]any) {
	t.Helper()
	a, b := map[string]string{}, map[string]string{}
	flatten("", ours, a)
	flatten("", theirs, b)
	for path := range b {
		if _, ok := a[path]; !ok && allowed(kind, path) {
			delete(b, path)
		}
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("the file reader (-) and the API server (+) differ:\n%s", diff)
	}
}

func allowed(kind, path string) bool {
	for _, e := range extra {
		if (e.kind == "" || e.kind == kind) && regexp.MustCompile("^"+e.path+"$").MatchString(path) {
			return true
		}
	}
	return false
}

// flatten writes every value that is not empty under its path. An empty map or
// list says nothing in any of these objects.
func flatten(path string, v any, out map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			flatten(strings.TrimPrefix(path+"."+k, "."), v[k], out)
		}
	case []any:
		for i, e := range v {
			flatten(fmt.Sprintf("%s.%d", path, i), e, out)
		}
	case nil:
	default:
		out[path] = fmt.Sprint(v)
	}
}

// fromFiles is what the file reader makes of a text, by kind and name.
func fromFiles(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := manifest.Load(t.Context(), manifest.Options{Paths: []string{file}, Cluster: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loaded.Problems {
		t.Errorf("the file reader refuses what the API server takes: %+v", p)
	}
	return byName(t, loaded.Snapshot)
}

func byName(t *testing.T, s translate.Snapshot) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	collect(t, out, "Service", s.Services)
	collect(t, out, "EndpointSlice", s.EndpointSlices)
	collect(t, out, "Pod", s.Pods)
	collect(t, out, "ConfigMap", s.ConfigMaps)
	collect(t, out, "Namespace", s.Namespaces)
	return out
}

func collect[T metav1.Object](t *testing.T, out map[string]map[string]any, kind string, list []T) {
	t.Helper()
	for _, o := range list {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		delete(fields, "apiVersion") // typed readers drop them
		delete(fields, "kind")
		out[kind+"/"+o.GetName()] = fields
	}
}

// stored is the object as the API server has it.
func stored(t *testing.T, c *cluster.Cluster, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	resource := map[string]string{
		"Service": "services", "EndpointSlice": "endpointslices", "Pod": "pods", "ConfigMap": "configmaps", "Namespace": "namespaces",
	}[o.GetKind()]
	kind := o.GroupVersionKind()
	client := c.Dynamic().Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: resource})
	ns := "default"
	if o.GetKind() == "Namespace" {
		ns = ""
	}
	got, err := client.Namespace(ns).Get(t.Context(), o.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(got.Object, "apiVersion")
	delete(got.Object, "kind")
	return got.Object
}
