package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	suitefiles "sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"

	"gatehouse.dev/fake/local"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// TestManifests reads what each test of the suite applies, without a cluster,
// and checks what every test takes for granted: the files are read without a
// problem, the model is valid, and a Gateway that a test waits for
// (NamespacesMustBeReady) is accepted and programmed.
func TestManifests(t *testing.T) {
	base := t.TempDir()
	writeBase(t, base)
	schemas := new(manifest.Schemas)
	for _, test := range tests.ConformanceTests {
		if len(test.Manifests) == 0 || strings.HasPrefix(test.Manifests[0], "tests/mesh") {
			continue
		}
		t.Run(test.ShortName, func(t *testing.T) {
			dir := t.TempDir()
			for i, name := range test.Manifests {
				writeManifest(t, name, filepath.Join(dir, fmt.Sprintf("%02d.yaml", i)))
			}
			loaded, err := manifest.Load(t.Context(), manifest.Options{Paths: []string{base, dir}, Cluster: "conformance", Schemas: schemas})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range loaded.Problems {
				t.Errorf("cannot be read: %v", p)
			}
			checkSnapshot(t, loaded.Snapshot)
		})
	}
}

// writeBase writes what the suite's Setup applies.
func writeBase(t *testing.T, dir string) {
	t.Helper()
	writeManifest(t, "base/manifests.yaml", filepath.Join(dir, "base.yaml"))
	if err := os.WriteFile(filepath.Join(dir, "class.yaml"), []byte(classManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	infra := suite.InfrastructureNamespace
	selfSigned := kubernetes.MustCreateSelfSignedCertSecret(t, infra, "tls-validity-checks-certificate", []string{"*", "*.org", "*.wildcard.org"})
	web, _, _ := kubernetes.MustCreateCACertConfigMap(t, suite.WebBackendNamespace, "web-backend-cm")
	clients, _, _ := kubernetes.MustCreateCACertConfigMap(t, infra, "tls-validity-checks-ca-certificate")
	perPort, _, _ := kubernetes.MustCreateCACertConfigMap(t, infra, "tls-validity-checks-per-port-ca-certificate")
	roots, ca, key := kubernetes.MustCreateCACertConfigMap(t, infra, "tls-checks-ca-certificate")
	mismatch, _, _ := kubernetes.MustCreateCACertConfigMap(t, infra, "mismatch-ca-certificate")
	objects := []any{selfSigned, web, clients, perPort, roots, mismatch,
		kubernetes.MustCreateSelfSignedCertSecret(t, suite.WebBackendNamespace, "certificate", []string{"*"}),
		kubernetes.MustCreateCASignedClientCertSecret(t, infra, "tls-checks-client-certificate", ca, key),
	}
	for name, host := range map[string]string{"tls-checks-certificate": "abc.example.com", "tls-terminate-checks-certificate": "tls.example.com"} {
		objects = append(objects, kubernetes.MustCreateCASignedCertSecret(t, infra, name, []string{host}, ca, key))
	}
	for i, o := range objects {
		writeObject(t, o, filepath.Join(dir, fmt.Sprintf("object-%d.json", i)))
	}
}

func writeObject(t *testing.T, o any, path string) {
	t.Helper()
	switch o := o.(type) {
	case *corev1.Secret:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	case *corev1.ConfigMap:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	}
	text, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writeManifest writes one of the suite's files as its Applier would apply it.
func writeManifest(t *testing.T, name, path string) {
	t.Helper()
	text, err := suitefiles.Manifests.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for old, value := range map[string]string{
		"{GATEWAY_CLASS_NAME}": className, "{GATEWAY_CONTROLLER_NAME}": controllerName, "PLACEHOLDER_UNUSABLE_ADDRS": unusableAddress, "PLACEHOLDER_USABLE_ADDRS": usableAddress,
	} {
		text = bytes.ReplaceAll(text, []byte(old), []byte(value))
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func checkSnapshot(t *testing.T, s translate.Snapshot) {
	t.Helper()
	compiler := local.Compiler()
	x := translate.New(s, translate.Options{Controllers: map[string]string{controllerName: "fake"}, Offers: func(_ string, raw json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
		return compiler.Offers(raw)
	}})
	results, outcomes := map[translate.Key]translate.Result{}, map[translate.Key]translate.Outcome{}
	for _, key := range x.Gateways() {
		g := reconcile.Read(x, key)
		if err := lbmodel.Validate(g.Served); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		_, _, found := compiler.Compile(g.Served)
		results[key] = g.Result
		outcomes[key] = translate.Outcome{
			Findings:  slices.Concat(g.Refused, found),
			Addresses: []lbmodel.Address{{Type: lbmodel.AddressIP, Value: usableAddress}},
		}
	}
	for _, p := range translate.Status(x, results, outcomes, metav1.NewTime(time.Now())) {
		if g, ok := p.Status.(*gwv1.GatewayStatus); ok && !spared(s, p.Key) {
			checkReady(t, p.Key, g)
		}
	}
}

// neverReady are Gateways whose own tests want them not programmed, and which
// say so in no annotation.
var neverReady = []string{"gateway-secret-invalid-reference-grant", "gateway-secret-missing-reference-grant"}

// spared says whether the suite does not wait for a Gateway.
func spared(s translate.Snapshot, key translate.Key) bool {
	return slices.Contains(neverReady, key.Name) || slices.ContainsFunc(s.Gateways, func(g *gwv1.Gateway) bool {
		return g.Namespace == key.Namespace && g.Name == key.Name && g.Annotations[kubernetes.GatewayExcludedFromReadinessChecks] == "true"
	})
}

func checkReady(t *testing.T, key translate.Key, g *gwv1.GatewayStatus) {
	t.Helper()
	for _, kind := range []string{"Accepted", "Programmed"} {
		if !meta.IsStatusConditionTrue(g.Conditions, kind) {
			t.Errorf("%s: %s is not true: %v", key, kind, meta.FindStatusCondition(g.Conditions, kind))
		}
	}
}
