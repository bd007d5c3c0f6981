//go:build e2e

package realmesh

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

// Where istiod is.
const (
	istiodCA   = "198.19.0.1:15012" // beside the API server, so that pods reach it
	istiodHTTP = "127.0.0.1:28080"
)

const istioNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: istio-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system, labels: {istio.io/rev: default}}
data:
  mesh: |
    accessLogFile: /dev/stdout
    rootNamespace: istio-system
    trustDomain: cluster.local
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: istio-sidecar-injector, labels: {istio.io/rev: default, app: sidecar-injector}}
webhooks:
- name: rev.namespace.sidecar-injector.istio.io
  clientConfig: {service: {name: istiod, namespace: istio-system, path: /inject, port: 443}}
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
  timeoutSeconds: 1
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
  namespaceSelector: {matchLabels: {istio-injection: enabled}}
`

// istiod is a real one, with a CA that was plugged in (Secret cacerts, which a
// Deployment mounts).
type istiod struct {
	*testing.T
	cluster *cluster.Cluster
	install installation
	dir     string
	roots   map[string]*pluggedRoot
	running *programs.Running
}

// installation is how Istio is installed.
type installation struct {
	revision, config string // and the name of the ConfigMap of its mesh configuration
	domain           string
}

// usual is one that says nothing.
var usual = installation{revision: "default", config: "istio", domain: "cluster.local"}

// objects are the installation's, of a text for the usual one.
func (i installation) objects(text string) string {
	return strings.NewReplacer(
		"{name: istio, namespace: istio-system", "{name: "+i.config+", namespace: istio-system",
		"istio.io/rev: "+usual.revision, "istio.io/rev: "+i.revision,
		`"revision":"`+usual.revision+`"`, `"revision":"`+i.revision+`"`,
		"trustDomain: "+usual.domain, "trustDomain: "+i.domain,
	).Replace(text)
}

func startIstiod(t *testing.T, c *cluster.Cluster, install installation) *istiod {
	t.Helper()
	i := &istiod{T: t, cluster: c, install: install, dir: shortDir(t), roots: map[string]*pluggedRoot{"a": newRoot(t, "a"), "b": newRoot(t, "b")}}
	c.ApplyFile(t, filepath.Join(i.module(), "manifests", "charts", "base", "files", "crd-all.gen.yaml"))
	c.Apply(t, install.objects(istioNamespace))
	i.plug("a", "a")
	i.restart()
	return i
}

// module is the folder of Istio's module.
func (i *istiod) module() string {
	i.Helper()
	cmd := exec.CommandContext(i.Context(), "go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "istio.io/istio")
	cmd.Dir = "istio"
	out, err := cmd.Output()
	if err != nil {
		i.Fatal(err)
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	figures.version("istiod " + version)
	return dir
}

// plug has istiod sign by one root from its next start on, and publish several.
func (i *istiod) plug(signer string, bundle ...string) {
	i.Helper()
	by := i.roots[signer]
	var roots bytes.Buffer
	for _, name := range bundle {
		roots.Write(i.roots[name].root)
	}
	dir := filepath.Join(i.dir, "cacerts")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		i.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"ca-cert.pem": by.cert, "ca-key.pem": by.key, "cert-chain.pem": by.cert, "root-cert.pem": roots.Bytes(),
	} {
		write(i, filepath.Join(dir, name), "%s", data)
	}
}

// restart ends istiod, if there is one, and starts it, as a rollout of one replica.
func (i *istiod) restart() {
	i.Helper()
	if i.running != nil {
		i.running.Signal(i.T, stopSignal)
	}
	i.running = programs.Run(i.T, "istiod", "/usr/bin/env",
		"POD_NAMESPACE=istio-system", "POD_NAME=istiod-0", "CLUSTER_ID=Kubernetes", "PILOT_CERT_PROVIDER=istiod", "ENABLE_CA_SERVER=true",
		"INJECTION_WEBHOOK_CONFIG_NAME=istio-sidecar-injector", "VALIDATION_WEBHOOK_CONFIG_NAME=", "REVISION="+i.install.revision,
		"ROOT_CA_DIR="+filepath.Join(i.dir, "cacerts"),
		binary(i, "pilot-discovery"), "discovery", "--kubeconfig", i.cluster.Kubeconfig(), "--httpAddr", istiodHTTP,
		"--httpsAddr", ":28017", "--grpcAddr", ":28010", "--secureGRPCAddr", istiodCA, "--monitoringAddr", ":28014",
		"--clusterRegistriesNamespace", "istio-system")
	cluster.Eventually(i.T, 2*time.Minute, func(ctx context.Context) error {
		return get(ctx, http.DefaultClient, "http://"+istiodHTTP+"/ready")
	})
}

// pluggedRoot is a root with an intermediate that signs, in PEM.
type pluggedRoot struct {
	root, cert, key []byte
	id, signer      string // the keys of root and intermediate, as certificates name them
}

func newRoot(tb testing.TB, name string) *pluggedRoot {
	tb.Helper()
	do := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatal(err)
		}
	}
	certify := func(what string, serial int64, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		do(err)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{Organization: []string{"Test"}, CommonName: what + " " + name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		}
		if parent == nil {
			parent, signer = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
		do(err)
		cert, err := x509.ParseCertificate(der)
		do(err)
		return cert, key
	}
	root, rootKey := certify("root", 1, nil, nil)
	cert, key := certify("intermediate", 2, root, rootKey)
	der, err := x509.MarshalECPrivateKey(key)
	do(err)
	text := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return &pluggedRoot{
		root: text("CERTIFICATE", root.Raw), cert: text("CERTIFICATE", cert.Raw), key: text("EC PRIVATE KEY", der),
		id: hex.EncodeToString(root.SubjectKeyId), signer: hex.EncodeToString(cert.SubjectKeyId),
	}
}
