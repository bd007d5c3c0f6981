package translate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// newObject is an empty object of a kind, as a Snapshot holds it.
func newObject(kind string) any {
	switch kind {
	case KindGatewayClass:
		return &gwv1.GatewayClass{}
	case KindParameters:
		return &v1alpha1.GatewayParameters{}
	case KindGateway:
		return &gwv1.Gateway{}
	case KindListenerSet:
		return &gwv1.ListenerSet{}
	case KindHTTPRoute:
		return &gwv1.HTTPRoute{}
	case KindGRPCRoute:
		return &gwv1.GRPCRoute{}
	case KindTLSRoute:
		return &gwv1.TLSRoute{}
	case KindTCPRoute:
		return &gwv1.TCPRoute{}
	case KindUDPRoute:
		return &gwv1.UDPRoute{}
	case KindReferenceGrant:
		return &gwv1.ReferenceGrant{}
	case KindBackendTLSPolicy:
		return &gwv1.BackendTLSPolicy{}
	case KindXBackend:
		return &gwxv1alpha1.XBackend{}
	case KindNamespace:
		return &corev1.Namespace{}
	case KindService:
		return &corev1.Service{}
	case KindEndpointSlice:
		return &discoveryv1.EndpointSlice{}
	case KindPod:
		return &corev1.Pod{}
	case KindNode:
		return &corev1.Node{}
	case KindConfigMap:
		return &corev1.ConfigMap{}
	case KindTrustBundle:
		return &certv1.ClusterTrustBundle{}
	case KindMeshBinding:
		return &v1alpha1.MeshBinding{}
	default:
		return nil
	}
}

// addTo puts an object into the snapshot's list of its kind.
func addTo(s *Snapshot, obj any) {
	switch o := obj.(type) {
	case *gwv1.GatewayClass:
		s.GatewayClasses = append(s.GatewayClasses, o)
	case *v1alpha1.GatewayParameters:
		s.Parameters = append(s.Parameters, o)
	case *gwv1.Gateway:
		s.Gateways = append(s.Gateways, o)
	case *gwv1.ListenerSet:
		s.ListenerSets = append(s.ListenerSets, o)
	case *gwv1.HTTPRoute:
		s.HTTPRoutes = append(s.HTTPRoutes, o)
	case *gwv1.GRPCRoute:
		s.GRPCRoutes = append(s.GRPCRoutes, o)
	case *gwv1.TLSRoute:
		s.TLSRoutes = append(s.TLSRoutes, o)
	case *gwv1.TCPRoute:
		s.TCPRoutes = append(s.TCPRoutes, o)
	case *gwv1.UDPRoute:
		s.UDPRoutes = append(s.UDPRoutes, o)
	case *gwv1.ReferenceGrant:
		s.ReferenceGrants = append(s.ReferenceGrants, o)
	case *gwv1.BackendTLSPolicy:
		s.BackendTLSPolicies = append(s.BackendTLSPolicies, o)
	case *gwxv1alpha1.XBackend:
		s.Backends = append(s.Backends, o)
	default:
		addCoreTo(s, obj)
	}
}

func addCoreTo(s *Snapshot, obj any) {
	switch o := obj.(type) {
	case *corev1.Namespace:
		s.Namespaces = append(s.Namespaces, o)
	case *corev1.Service:
		s.Services = append(s.Services, o)
	case *discoveryv1.EndpointSlice:
		s.EndpointSlices = append(s.EndpointSlices, o)
	case *corev1.Pod:
		s.Pods = append(s.Pods, o)
	case *corev1.Node:
		s.Nodes = append(s.Nodes, o)
	case *corev1.ConfigMap:
		s.ConfigMaps = append(s.ConfigMaps, o)
	case *Secret:
		s.Secrets = append(s.Secrets, o)
	case *certv1.ClusterTrustBundle:
		s.TrustBundles = append(s.TrustBundles, o)
	case *v1alpha1.MeshBinding:
		s.MeshBindings = append(s.MeshBindings, o)
	case *Bundle:
		s.Bundles = append(s.Bundles, o)
	case *unstructured.Unstructured:
		s.MeshObjects = append(s.MeshObjects, o)
	default:
		panic(fmt.Sprintf("no list for %T", obj))
	}
}

// testSecret is how test files write a Secret: what the edge would find in it.
type testSecret struct {
	Metadata struct{ Name, Namespace string }
	DNSNames []string
	KeyType  string
	Problem  string
}

// decode reads objects from YAML documents. "@ca1" stands for the text of
// testdata/ca1.pem.
func decode(t testing.TB, text string) []any {
	t.Helper()
	var out []any
	for doc := range strings.SplitSeq("\n"+text, "\n---") {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if head.Kind == "" {
			continue
		}
		if isMeshAPI(head.APIVersion) {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
				t.Fatal(err)
			}
			out = append(out, o)
			continue
		}
		out = append(out, decodeOne(t, head.Kind, doc))
	}
	return out
}

// isMeshAPI says whether a kind is a mesh's own, which has no type here.
func isMeshAPI(apiVersion string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return strings.HasSuffix(group, "istio.io") || strings.HasSuffix(group, "linkerd.io") || group == "kuma.io"
}

func decodeOne(t testing.TB, kind, doc string) any {
	t.Helper()
	if kind == KindSecret {
		var s testSecret
		if err := yaml.Unmarshal([]byte(doc), &s); err != nil {
			t.Fatal(err)
		}
		out := &Secret{Namespace: s.Metadata.Namespace, Name: s.Metadata.Name, Type: corev1.SecretTypeTLS, Problem: s.Problem}
		if s.Problem == "" {
			out.Leaf = &lbmodel.Leaf{SHA256: "leaf of " + s.Metadata.Name, DNSNames: s.DNSNames, KeyType: s.KeyType}
		}
		return out
	}
	obj := newObject(kind)
	if obj == nil {
		t.Fatalf("unknown kind %q", kind)
	}
	if err := yaml.UnmarshalStrict([]byte(doc), obj); err != nil {
		t.Fatalf("%v in:\n%s", err, doc)
	}
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		for k, v := range o.Data {
			o.Data[k] = expand(t, v)
		}
	case *certv1.ClusterTrustBundle:
		o.Spec.TrustBundle = expand(t, o.Spec.TrustBundle)
	}
	return obj
}

func expand(t testing.TB, v string) string {
	t.Helper()
	name, ok := strings.CutPrefix(v, "@")
	if !ok {
		return v
	}
	return readFile(t, name+".pem")
}

func readFile(t testing.TB, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// snapshotOf is a snapshot of objects.
func snapshotOf(objects ...any) Snapshot {
	s := Snapshot{Cluster: "test"}
	for _, obj := range objects {
		addTo(&s, obj)
	}
	return s
}

// testOptions serve gatehouse.dev/<provider> and let loopback through where the
// settings of the fake provider would.
func testOptions() Options {
	return Options{
		Controllers:       map[string]string{"gatehouse.dev/": ""},
		ServiceParameters: map[string]types.NamespacedName{"fake": {Namespace: "apps", Name: "services"}},
		AllowLoopback: func(_ string, settings json.RawMessage) bool {
			return strings.Contains(string(settings), `"allowLoopbackEndpoints":true`)
		},
	}
}

// indexOf indexes the common objects and those of the YAML text, with those of the
// meshes where it binds one.
func indexOf(t testing.TB, text string) *Index {
	t.Helper()
	if strings.Contains(text, "kind: "+KindMeshBinding) {
		return New(snapshotOf(decode(t, readFile(t, "common.yaml")+"\n---\n"+readFile(t, "meshes.yaml")+"\n---\n"+text)...), meshOptions())
	}
	return New(snapshotOf(decode(t, readFile(t, "common.yaml")+"\n---\n"+text)...), testOptions())
}
