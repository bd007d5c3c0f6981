package crds

import (
	"io/fs"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// TestRules gives objects to the generated definitions as an API server would.
// Why this table: the rules are written as comments, so nothing else compiles or
// runs them.
func TestRules(t *testing.T) {
	const binding = "spec: {controllerName: istio.io/istio, gateways: {namespaceSelector: {}}"
	outside := func(at string) string { return binding + ", trustBundles: [{" + at + "}]}" }
	tests := []struct {
		name, kind, old, now string
		want                 string // part of the one error; "" for none
	}{
		{name: "one provider", kind: "GatewayParameters", now: "spec: {fake: {}}"},
		{name: "no provider", kind: "GatewayParameters", now: "spec: {}", want: "set exactly one provider section: aws, fake, gcp"},
		{name: "held twice", kind: "GatewayParameters", now: "spec: {fake: {}, held: [{kind: a b, id: x}]}", want: "spec.held[0].kind"},
		{name: "unknown level", kind: "GatewayParameters", now: "spec: {fake: {}, minimumBackendTLS: Some}", want: "Unsupported value"},
		{name: "smallest binding", kind: "MeshBinding", now: binding + "}"},
		{name: "controller without path", kind: "MeshBinding", now: "spec: {controllerName: istio, gateways: {namespaceSelector: {}}}", want: "spec.controllerName"},
		{name: "controller is the same", kind: "MeshBinding", old: binding + "}", now: binding + ", minimumTLS: ServerOnly}"},
		{name: "controller changes", kind: "MeshBinding", old: "spec: {controllerName: linkerd.io/linkerd, gateways: {namespaceSelector: {}}}", now: binding + "}", want: "controllerName is immutable"},
		{name: "no gateways", kind: "MeshBinding", now: "spec: {controllerName: istio.io/istio}", want: "spec.gateways"},
		{name: "bundle in a ConfigMap", kind: "MeshBinding", now: binding + ", trustBundles: [{kind: ConfigMap, namespace: a, name: b, key: c}]}"},
		{name: "ConfigMap without namespace", kind: "MeshBinding", now: binding + ", trustBundles: [{kind: ConfigMap, name: b}]}", want: "a ConfigMap needs a namespace"},
		{name: "cluster bundle with namespace", kind: "MeshBinding", now: binding + ", trustBundles: [{kind: ClusterTrustBundle, namespace: a, name: b}]}", want: "a ClusterTrustBundle has none"},
		{name: "cluster bundle with key", kind: "MeshBinding", now: binding + ", trustBundles: [{kind: ClusterTrustBundle, name: b, key: c}]}", want: "only a ConfigMap has keys"},
		{name: "bundle in a Secret", kind: "MeshBinding", now: binding + ", trustBundles: [{kind: Secret, name: b}]}", want: "Unsupported value"},
		{name: "a bundle endpoint", kind: "MeshBinding", now: outside("kind: SPIFFEBundle, name: a, url: 'https://a/b'")},
		{name: "of profile https_spiffe", kind: "MeshBinding", now: outside("kind: SPIFFEBundle, name: a, url: 'https://a', profile: https_spiffe, spiffeID: 'spiffe://a/s', serverRoots: x")},
		{name: "without an ID", kind: "MeshBinding", now: outside("kind: SPIFFEBundle, name: a, url: 'https://a', profile: https_spiffe, serverRoots: x"), want: "needs the spiffeID"},
		{name: "without roots", kind: "MeshBinding", now: outside("kind: SPIFFEBundle, name: a, url: 'https://a', profile: https_spiffe, spiffeID: 'spiffe://a/s'"), want: "needs serverRoots"},
		{name: "https_web with an ID", kind: "MeshBinding", now: outside("kind: SPIFFEBundle, name: a, url: 'https://a', spiffeID: 'spiffe://a/s', serverRoots: x"), want: "https_web has none"},
		{name: "in clear text", kind: "MeshBinding", now: outside("kind: SPIFFEBundle, name: a, url: 'http://a/b'"), want: "must begin with https://"},
		{name: "nowhere", kind: "MeshBinding", now: outside("kind: SPIFFEBundle, name: a"), want: "need a url"},
		{name: "an agent", kind: "MeshBinding", now: outside("kind: WorkloadAPI, name: a, url: 'unix:///run/spire/agent.sock'")},
		{name: "an agent by https", kind: "MeshBinding", now: outside("kind: WorkloadAPI, name: a, url: 'https://a/b/c'"), want: "must begin with unix:/"},
		{name: "Consul", kind: "MeshBinding", now: outside("kind: ConsulRoots, name: a.consul, url: 'grpcs://consul:8503', serverRoots: x, serverName: server.dc1, tokenSecret: t")},
		{name: "Consul by anything", kind: "MeshBinding", now: outside("kind: ConsulRoots, name: a, url: 'file:///a/b'"), want: "url must begin so"},
		{name: "a token for somebody else", kind: "MeshBinding", now: outside("kind: SPIFFEBundle, name: a, url: 'https://a', tokenSecret: t"), want: "only Consul has"},
		{name: "an object with a url", kind: "MeshBinding", now: outside("kind: ClusterTrustBundle, name: a, url: 'https://a'"), want: "objects have none"},
		{name: "overlap", kind: "MeshBinding", now: binding + ", overlap: 24h}"},
		{name: "overlap in days", kind: "MeshBinding", now: binding + ", overlap: 1d}", want: "spec.overlap"},
		{name: "unknown issuer", kind: "MeshBinding", now: binding + ", identity: {issuer: Me}}", want: "Unsupported value"},
		{name: "a signer of the cluster", kind: "MeshBinding", now: binding + ", identity: {issuer: CertificateSigningRequest, signerName: mesh.example/clients, duration: 24h}}"},
		{name: "cert-manager", kind: "MeshBinding", now: binding + ", identity: {issuer: CertManager, issuerRef: {name: mesh}}}"},
		{name: "an agent's certificates", kind: "MeshBinding", now: binding + ", identity: {issuer: WorkloadAPI, socket: 'unix:///run/spire/agent.sock'}}"},
		{name: "an approval", kind: "GatewayPlan", now: "spec: {approve: " + strings.Repeat("ab", 32) + "}"},
		{name: "an approval of no hash", kind: "GatewayPlan", now: "spec: {approve: all}", want: "spec.approve"},
	}
	all := definitions(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			errs := check(t, all[tt.kind], tt.old, tt.now)
			if tt.want == "" && len(errs) > 0 || tt.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.want)) {
				t.Errorf("errors are %v, want %q", errs, tt.want)
			}
		})
	}
}

// TestDefaults holds that an empty section means what the documentation says.
func TestDefaults(t *testing.T) {
	all := definitions(t)
	tests := []struct{ name, kind, in, want string }{
		{"parameters", "GatewayParameters", "spec: {fake: {}}",
			"spec: {apply: Auto, drift: Repair, deletion: Delete, minimumBackendTLS: None, serviceTargets: Pods, fake: {}}"},
		{"binding", "MeshBinding", "spec: {controllerName: a.b/c, gateways: {namespaceSelector: {}}}",
			"spec: {controllerName: a.b/c, gateways: {namespaceSelector: {}}, minimumTLS: ClientAndServer, identity: {issuer: Mesh}, probe: {mode: 'Off'}}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, want := object(t, tt.in), object(t, tt.want)
			defaulting.Default(got, structural(t, all[tt.kind]))
			a, _ := yaml.Marshal(got)
			b, _ := yaml.Marshal(want)
			if string(a) != string(b) {
				t.Errorf("defaults make\n%s\nwant\n%s", a, b)
			}
		})
	}
}

// TestShape holds what every kind of ours promises to people and to tools.
func TestShape(t *testing.T) {
	shortNames := map[string]string{"GatewayParameters": "gwparams", "MeshBinding": "mb", "GatewayPlan": "gwplan"}
	for kind, crd := range definitions(t) {
		names, version := crd.Spec.Names, crd.Spec.Versions[0]
		if len(names.ShortNames) != 1 || names.ShortNames[0] != shortNames[kind] {
			t.Errorf("%s: short names are %v, want %s", kind, names.ShortNames, shortNames[kind])
		}
		if len(names.Categories) != 1 || names.Categories[0] != "gatehouse" {
			t.Errorf("%s: categories are %v: kubectl get gatehouse must list it", kind, names.Categories)
		}
		if len(version.AdditionalPrinterColumns) < 3 {
			t.Errorf("%s: has %d printer columns", kind, len(version.AdditionalPrinterColumns))
		}
		status, ok := version.Schema.OpenAPIV3Schema.Properties["status"]
		if !ok {
			continue
		}
		if version.Subresources == nil || version.Subresources.Status == nil {
			t.Errorf("%s: its status is no subresource, so whoever writes one may write the other", kind)
		}
		conditions := status.Properties["conditions"]
		if conditions.XListType == nil || *conditions.XListType != "map" || conditions.XListMapKeys[0] != "type" {
			t.Errorf("%s: conditions are no map by type: two writers would overwrite each other", kind)
		}
	}
}

func definitions(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	names, err := fs.Glob(Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, name := range names {
		text, err := fs.ReadFile(Files, name)
		if err != nil {
			t.Fatal(err)
		}
		crd := new(apiextensionsv1.CustomResourceDefinition)
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[crd.Spec.Names.Kind] = crd
	}
	return out
}

func internal(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *apiextensions.JSONSchemaProps {
	t.Helper()
	var v apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[0].Schema, &v, nil); err != nil {
		t.Fatal(err)
	}
	return v.OpenAPIV3Schema
}

func structural(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *schema.Structural {
	t.Helper()
	s, err := schema.NewStructural(internal(t, crd))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// check validates an object as new, or as an update of old.
func check(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, old, now string) field.ErrorList {
	t.Helper()
	validator, _, err := validation.NewSchemaValidator(internal(t, crd))
	if err != nil {
		t.Fatal(err)
	}
	obj := object(t, now)
	errs := validation.ValidateCustomResource(nil, obj, validator)
	s := structural(t, crd)
	var before any
	if old != "" {
		before = object(t, old)
	}
	rules := cel.NewValidator(s, true, celconfig.PerCallLimit)
	found, _ := rules.Validate(t.Context(), nil, s, obj, before, celconfig.RuntimeCELCostBudget)
	return append(errs, found...)
}
