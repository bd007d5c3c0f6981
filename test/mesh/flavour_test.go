package mesh

import (
	"strings"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/linkerd"
	"gatehouse.dev/meshsync/spiffe"
)

// flavour is one mesh, as its installation with defaults is.
type flavour struct {
	controller string
	leafLife   time.Duration // of its proxies' certificates
	// gatewayLife is the life of the gateway's certificate; zero is leafLife.
	gatewayLife time.Duration
	names       func(r ca.Request, account string) ca.Request
	member      role
	roots       string // where they are published, up to their text
	objects     string // of its configuration
}

const istioRoots = `apiVersion: v1
kind: ConfigMap
metadata: {name: istio-ca-root-cert, namespace: istio-system}
data:
  root-cert.pem: |
`

// peerAuthentication is of namespace apps.
const peerAuthentication = `apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: apps}
spec: {mtls: {mode: %s}}
---
`

func spiffeNames(domain string) func(ca.Request, string) ca.Request {
	return func(r ca.Request, account string) ca.Request {
		r.URIs = []string{"spiffe://" + domain + "/ns/apps/sa/" + account}
		return r
	}
}

// sidecar is a pod with Istio's in a mode.
func sidecar(mode inbound.Mode) role {
	return role{
		proxy:       inbound.Istio{Mode: mode, Protocol: inbound.HTTP},
		annotations: `sidecar.istio.io/status: "{}"`, labels: "security.istio.io/tlsMode: istio", container: "istio-proxy", health: 15021,
	}
}

func istioMesh() flavour {
	return flavour{
		controller: istio.Controller, leafLife: 24 * time.Hour, names: spiffeNames("cluster.local"),
		member: sidecar(inbound.Strict), roots: istioRoots,
		objects: strings.ReplaceAll(peerAuthentication, "%s", "STRICT"),
	}
}

func linkerdName(account string) string {
	return account + ".apps.serviceaccount.identity.linkerd.cluster.local"
}

func linkerdMesh() flavour {
	return flavour{
		controller: linkerd.Controller, leafLife: 24 * time.Hour,
		names: func(r ca.Request, account string) ca.Request {
			r.DNSNames = []string{linkerdName(account)}
			return r
		},
		member: role{
			proxy:       inbound.Linkerd{Identity: linkerdName("cart")},
			annotations: `linkerd.io/proxy-version: edge-26.8.1`, labels: "linkerd.io/control-plane-ns: linkerd",
			container: "linkerd-proxy", environment: true, health: 4191,
		},
		roots: `apiVersion: v1
kind: ConfigMap
metadata: {name: linkerd-identity-trust-roots, namespace: linkerd}
data:
  ca-bundle.crt: |
`,
	}
}

// spireDomain is the trust domain of the SPIRE in tests.
const spireDomain = "example.org"

// spireMesh are applications that end mutual TLS themselves, with certificates of
// SPIRE's. Kuma's strict proxy behaves as they do: it asks for a certificate of the
// trust domain, and negotiates nothing.
func spireMesh() flavour {
	return flavour{
		controller: spiffe.Controller, leafLife: time.Hour, names: spiffeNames(spireDomain),
		member: role{
			proxy:       inbound.Kuma{Mode: inbound.Strict, Protocol: inbound.HTTP, TrustDomains: []string{spireDomain}},
			annotations: "spiffe.io/spiffe-id: spiffe://example.org/ns/apps/sa/cart",
		},
		roots: `apiVersion: v1
kind: ConfigMap
metadata: {name: spire-bundle, namespace: spire}
data:
  bundle.crt: |
`,
		objects: `apiVersion: v1
kind: ConfigMap
metadata: {name: spire-server, namespace: spire}
data:
  server.conf: '{"server": {"trust_domain": "example.org"}}'
---
`,
	}
}
