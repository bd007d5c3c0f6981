//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"strings"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/istiod"
	"gatehouse.dev/fake/mesh/tokens"
	"gatehouse.dev/internal/controller"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/test/cluster"
)

const sidecarImage = "gatehouse.test/sidecar"

const meshNamespaces = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {mesh-edge: "true"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: istio-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: gatehouse-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: bystander, namespace: gatehouse-system, labels: {app.kubernetes.io/managed-by: gatehouse}}
`

const peerAuthentications = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: peerauthentications.security.istio.io}
spec:
  group: security.istio.io
  scope: Namespaced
  names: {kind: PeerAuthentication, plural: peerauthentications, singular: peerauthentication, listKind: PeerAuthenticationList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const strict = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
`

// sidecarred is an application on a port of its own, behind a sidecar that has the port
// of the Service.
const sidecarred = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}, annotations: {sidecar.istio.io/status: '{"revision":"default"}'}}
    spec:
      terminationGracePeriodSeconds: 1
      volumes: [{name: mesh, secret: {secretName: sidecar}}]
      containers:
      - name: echo
        image: gatehouse.test/echo
        env: [{name: HTTP_PORT, value: "8081"}, {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]
        readinessProbe: {httpGet: {path: /healthz, port: 8081}, periodSeconds: 1}
      - name: istio-proxy
        image: gatehouse.test/sidecar
        ports: [{containerPort: 8080}]
        env: [{name: FILES, value: /mesh}, {name: LISTEN, value: "[::]:8080"}, {name: APP, value: "127.0.0.1:8081"}]
        volumeMounts: [{name: mesh, mountPath: /mesh}]
        readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop}
spec:
  selector: {app: api}
  ports: [{name: http, port: 80, targetPort: 8080, appProtocol: http}]
`

const meshed = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: edge
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: api, port: 80}]}]
`

var second = ca.Root{Name: "b"}

// mesh is an Istio whose CA is in this process.
type mesh struct {
	cluster *cluster.Cluster
	ca      *ca.CA
	istiod  *istiod.Server
}

func newMesh(t *testing.T, c *cluster.Cluster) *mesh {
	t.Helper()
	m := &mesh{cluster: c}
	var err error
	if m.ca, err = ca.New(ca.Config{}); err != nil {
		t.Fatal(err)
	}
	if m.istiod, err = istiod.Start(istiod.Config{CA: m.ca, Tokens: m.review}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.do(t, m.istiod.Close()) })
	return m
}

func (m *mesh) config() *controller.MeshConfig {
	return &controller.MeshConfig{Client: m.cluster.Client(), Cluster: "e2e", Namespace: system}
}

// quickly are the dialects with an Istio in which everything takes seconds: the
// lives of certificates, and the way of a root to every proxy.
func quickly() map[string]meshsync.Dialect {
	out := maps.Clone(member.Dialects())
	out[istio.Controller] = quick{}
	return out
}

type quick struct{ istio.Dialect }

// Mesh implements meshsync.Dialect.
func (q quick) Mesh(w meshsync.World) meshsync.Mesh {
	m := q.Dialect.Mesh(w)
	m.LeafLife, m.Propagation = 3*time.Second, time.Second
	return m
}

func (m *mesh) do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// review is what istiod does with a token.
func (m *mesh) review(ctx context.Context, token, audience string) (tokens.Account, error) {
	got, err := m.cluster.Client().AuthenticationV1().TokenReviews().Create(ctx, &authv1.TokenReview{
		Spec: authv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return tokens.Account{}, err
	}
	name, is := strings.CutPrefix(got.Status.User.Username, "system:serviceaccount:")
	namespace, account, _ := strings.Cut(name, ":")
	if !got.Status.Authenticated || !is {
		return tokens.Account{}, tokens.ErrRefused
	}
	return tokens.Account{Namespace: namespace, Name: account}, nil
}

func (m *mesh) binding() string {
	return `
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: istio}
spec:
  controllerName: istio.io/istio
  gateways: {namespaceSelector: {matchLabels: {mesh-edge: "true"}}}
  identity: {address: "` + m.istiod.Addr() + `"}
`
}

// publish announces the bundle, and gives it to the proxies.
func (m *mesh) publish(t *testing.T) {
	t.Helper()
	m.announce(t)
	m.equip(t, m.ca.Bundle())
}

// announce publishes the bundle as istiod does.
func (m *mesh) announce(t *testing.T) {
	t.Helper()
	m.cluster.ApplyTyped(t, &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "istio-ca-root-cert"},
		Data:       map[string]string{"root-cert.pem": string(m.ca.Bundle())},
	})
}

// equip gives the proxies a certificate of whoever signs now, and roots.
func (m *mesh) equip(t *testing.T, roots []byte) {
	t.Helper()
	pair, err := m.ca.Issue(ca.Request{URIs: []string{"spiffe://cluster.local/ns/shop/sa/default"}, Life: time.Hour})
	m.do(t, err)
	m.show(t, "sidecar", pair, roots)
}

// show gives the proxies that have a Secret a certificate, and roots.
func (m *mesh) show(t *testing.T, secret string, pair tls.Certificate, roots []byte) {
	t.Helper()
	var chain bytes.Buffer
	for _, der := range pair.Certificate {
		m.do(t, pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	m.do(t, err)
	m.cluster.ApplyTyped(t, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secret},
		Data: map[string][]byte{
			"tls.crt": chain.Bytes(), "roots.pem": roots,
			"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		},
	})
}
