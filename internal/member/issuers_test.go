package member

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/fake/mesh/ca"
	fakeconsul "gatehouse.dev/fake/mesh/consul"
	"gatehouse.dev/fake/mesh/istiod"
	fakespiffe "gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/lbmodel"
)

const consulDomain = "11111111-2222-3333-4444-555555555555.consul"

const consulMesh = `---
apiVersion: v1
kind: Pod
metadata:
  name: a-0
  namespace: apps
  labels: {consul.hashicorp.com/connect-inject-status: injected}
  annotations: {consul.hashicorp.com/connect-service-port: "8080"}
spec: {serviceAccountName: a, containers: [{name: app, ports: [{containerPort: 8080}]}, {name: consul-dataplane}]}
status: {podIP: 10.0.0.1}
---
apiVersion: consul.hashicorp.com/v1alpha1
kind: ServiceDefaults
metadata: {name: a, namespace: apps}
spec: {protocol: http}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: roots, namespace: consul}
data: {ca.crt: ROOTS}
---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: mesh}
spec:
  controllerName: consul.hashicorp.com/consul
  gateways: {namespaceSelector: {}}
  trustBundles: [{kind: ConfigMap, namespace: consul, name: roots}]
  identity: {IDENTITY}
`

const spiffeMesh = `---
apiVersion: v1
kind: Pod
metadata: {name: a-0, namespace: apps}
spec:
  serviceAccountName: a
  volumes: [{name: agent, csi: {driver: csi.spiffe.io}}]
  containers: [{name: app, ports: [{containerPort: 8080}]}]
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: spire-server, namespace: spire}
data: {server.conf: '{"server": {"trust_domain": "example.org"}}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: spire-bundle, namespace: spire}
data: {bundle.crt: ROOTS}
---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: mesh}
spec: {controllerName: spiffe.io/spiffe, gateways: {namespaceSelector: {}}, identity: {IDENTITY}}
`

// issued asks for the gateway's certificate, which must be given, under our own key.
func (w *world) issued(m *Members) tls.Certificate {
	w.Helper()
	id := w.identity()
	pair, err := m.Keyring(noSecrets)(w.Context(), id)
	w.do(err)
	key, ours := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ours || !key.PublicKey.Equal(pair.Leaf.PublicKey) || len(pair.Leaf.URIs) != 1 || pair.Leaf.URIs[0].String() != id.SPIFFEID {
		w.Errorf("a certificate for %v, want %s", pair.Leaf.URIs, id.SPIFFEID)
	}
	return pair
}

func (w *world) refused(m *Members, code lbmodel.Code, says string) {
	w.Helper()
	_, err := m.Keyring(noSecrets)(w.Context(), w.identity())
	if lbmodel.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
		w.Errorf("error %v, want %s with %q", err, code, says)
	}
}

// TestIstioCSR: what speaks istiod's protocol elsewhere is pointed at by its address,
// and must prove that name.
func TestIstioCSR(t *testing.T) {
	w := newWorld(t)
	const name = "cert-manager-istio-csr.cert-manager.svc"
	s, err := istiod.Start(istiod.Config{CA: w.ca, Tokens: w.tokens.Check, Names: []string{name}})
	w.do(err)
	t.Cleanup(func() { w.do(s.Close()) })
	w.reach = s.Addr()
	w.read(istioMesh, "address: "+name+":443")
	m := w.members()
	m.Over(w)
	w.issued(m)
	if !has(w.asked, name+":443") || len(s.Calls()) != 1 {
		t.Errorf("asked at %v, %d calls", w.asked, len(s.Calls()))
	}
	w.read(istioMesh, "")
	other := w.members()
	other.Over(w)
	w.refused(other, lbmodel.CodeUnavailable, "to whom nothing was sent")
}

// consul is one whose servers have a CA of their own.
func (w *world) consul(c fakeconsul.Config) (s *fakeconsul.Server, roots string) {
	w.Helper()
	agents, err := ca.New(ca.Config{Name: "agents"})
	w.do(err)
	serving, err := agents.Issue(ca.Request{DNSNames: []string{"server.dc1.consul"}})
	w.do(err)
	c.CA, c.Serving = w.ca, &serving
	s, err = fakeconsul.Start(c)
	w.do(err)
	w.Cleanup(func() { w.do(s.Close()) })
	w.reach = s.GRPCAddr()
	return s, "serverRoots: \"" + strings.ReplaceAll(string(agents.Bundle()), "\n", "\\n") + "\""
}

// TestConsul: its CA knows a gateway by a token, from a Secret or by its account's
// login. Why this table: a token goes to none but Consul, and only to be used.
func TestConsul(t *testing.T) {
	const secret = "acl-token-of-a-secret"
	fromSecret := func(_ context.Context, name string) (string, error) {
		if name != "consul" {
			return "", lbmodel.Errorf(lbmodel.CodeUnavailable, "ReadSecret", lbmodel.ID{}, "there is no Secret %s", name)
		}
		return secret, nil
	}
	for _, tt := range []struct {
		name, identity string
		secret         func(context.Context, string) (string, error)
		want           lbmodel.Code
		says           string
	}{
		{"a token from a Secret", "tokenSecret: consul", fromSecret, lbmodel.CodeOK, ""},
		{"a Secret that is not there", "tokenSecret: other", fromSecret, lbmodel.CodeUnavailable, "there is no Secret other"},
		{"nobody reads Secrets", "tokenSecret: consul", nil, lbmodel.CodeUnsupported, "nobody here reads Secret consul"},
		{"as anonymous", "duration: 72h", nil, lbmodel.CodeDenied, "service:write"},
		{"by its account", "authMethod: k8s", nil, lbmodel.CodeOK, ""},
		{"by a method that is not there", "authMethod: jwt", nil, lbmodel.CodeInvalid, "auth method jwt"},
		{"without the servers' roots", "ROOTLESS", nil, lbmodel.CodeInvalid, "put it into identity.serverRoots"},
		{"at a server of another name", "serverName: server.dc2.consul", nil, lbmodel.CodeUnavailable, "to whom nothing was sent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.around.Secret = tt.secret
			c := fakeconsul.Config{Write: func(token, service string) bool { return token == secret && strings.HasPrefix(service, "gatehouse-") }}
			if strings.HasPrefix(tt.identity, "authMethod") {
				c = fakeconsul.Config{Auth: &fakeconsul.Auth{Method: "k8s", Tokens: w.tokens.Check}}
			}
			s, roots := w.consul(c)
			identity := tt.identity + ", " + roots
			if tt.identity == "ROOTLESS" {
				identity = ""
			}
			w.read(consulMesh, identity)
			m := w.members()
			m.Over(w)
			if tt.want == lbmodel.CodeOK {
				w.issued(m)
			} else {
				w.refused(m, tt.want, tt.says)
			}
			if s.Logins() != 0 {
				t.Errorf("%d tokens were not given back", s.Logins())
			}
		})
	}
}

// TestWorkloadAPI: the agent's certificate for the gateway's own name, and for no other.
func TestWorkloadAPI(t *testing.T) {
	w := newWorld(t)
	w.read(spiffeMesh, "")
	path := strings.TrimPrefix(w.identity().SPIFFEID, "spiffe://example.org")
	socket := filepath.Join(t.TempDir(), "a")
	agent, err := fakespiffe.StartAgent(fakespiffe.AgentConfig{CA: w.ca, Socket: socket, Entries: []fakespiffe.Entry{{Path: "/ns/gatehouse-system/sa/gatehouse-controller-manager"}, {Path: path}}})
	w.do(err)
	t.Cleanup(func() { w.do(agent.Close()) })
	for _, identity := range []string{"socket: \"unix://" + socket + "\"", "issuer: WorkloadAPI, socket: \"unix://" + socket + "\"", ""} {
		w.read(spiffeMesh, identity)
		if identity == "" { // where the environment has it
			w.around.Socket = "unix://" + socket
		}
		m := w.members()
		m.Over(w)
		w.issued(m)
	}
	if len(w.told) != 3 || w.told[0] != "mesh OK" {
		t.Errorf("told %v", w.told)
	}
	other, err := fakespiffe.StartAgent(fakespiffe.AgentConfig{CA: w.ca, Socket: socket + "b", Entries: []fakespiffe.Entry{{Path: "/ns/gatehouse-system/sa/gatehouse-controller-manager"}}})
	w.do(err)
	t.Cleanup(func() { w.do(other.Close()) })
	w.around.Socket = "unix://" + socket + "b"
	m := w.members()
	m.Over(w)
	w.refused(m, lbmodel.CodeDenied, "none for "+w.identity().SPIFFEID+": register an entry")
	w.read(linkerdMesh, "issuer: WorkloadAPI", w.ca.Bundle()...)
	w.refused(m, lbmodel.CodeUnsupported, "knows its members by DNS names")
}

// TestSchema: a field that belongs to another issuer is refused by the schema, with a
// sentence. Why this table: what is not read is believed to work.
func TestSchema(t *testing.T) {
	for _, tt := range []struct{ name, mesh, identity, says string }{
		{"no signer", istioMesh, "issuer: CertificateSigningRequest", "needs signerName"},
		{"a signer of nobody", istioMesh, "signerName: mesh.test/clients", "signerName is for issuer CertificateSigningRequest"},
		{"a signer of Kubernetes", istioMesh, "issuer: CertificateSigningRequest, signerName: kubernetes.io/kube-apiserver-client", "sign for Kubernetes itself"},
		{"no issuer", istioMesh, "issuer: CertManager", "needs issuerRef"},
		{"an issuer of nobody", istioMesh, "issuer: None, issuerRef: {name: x}", "issuerRef is for issuer CertManager"},
		{"a socket of a signer", istioMesh, "issuer: CertManager, issuerRef: {name: x}, socket: \"unix:///a\"", "socket is for issuer WorkloadAPI"},
		{"a socket of Istio", istioMesh, "socket: \"unix:///a\"", "set identity.issuer to WorkloadAPI"},
		{"a socket that is none", spiffeMesh, "socket: \"tcp://127.0.0.1:1\"", "identity.socket"},
		{"an address of cert-manager", istioMesh, "issuer: CertManager, issuerRef: {name: x}, address: \"a:1\"", "say where the mesh's own CA is"},
		{"a token of Istio", istioMesh, "tokenSecret: x", "are for Consul's CA"},
		{"a token and a login", consulMesh, "tokenSecret: x, authMethod: jwt", "set one of them"},
		{"a token of a signer", consulMesh, "issuer: CertManager, issuerRef: {name: x}, tokenSecret: x", "are for the mesh's own CA"},
		{"a life of the agent", spiffeMesh, "issuer: WorkloadAPI, duration: 1h", "remove duration"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if problems := w.problems(tt.mesh, tt.identity); !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, tt.says) }) {
				t.Errorf("problems are %q, want %q", problems, tt.says)
			}
		})
	}
}
