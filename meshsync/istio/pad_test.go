package istio

import (
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

const kubeGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: pad, namespace: apps}
spec:
  gatewayClassName: istio
  listeners:
  - {name: plain, port: 80, protocol: HTTP}
  - {name: own, port: 443, protocol: HTTPS, tls: {mode: Terminate, certificateRefs: [{name: x}]}}
  - {name: pass, port: 444, protocol: TLS, tls: {mode: Passthrough}}
  - {name: simple, port: 445, protocol: HTTPS, tls: {options: {gateway.istio.io/tls-terminate-mode: ISTIO_SIMPLE}}}
  - {name: named, port: 446, protocol: HTTPS, hostname: shop.example.com, tls: {options: {gateway.istio.io/tls-terminate-mode: ISTIO_MUTUAL}}}
  - {name: wild, port: 447, protocol: HTTPS, hostname: "*.example.com", tls: {options: {gateway.istio.io/tls-terminate-mode: ISTIO_MUTUAL}}}
  - {name: bytes, port: 448, protocol: TLS, tls: {options: {gateway.istio.io/tls-terminate-mode: ISTIO_MUTUAL}}}
  - {name: mesh, port: 449, protocol: HTTPS, tls: {options: {gateway.istio.io/tls-terminate-mode: ISTIO_MUTUAL}}}
  - {name: mutual, port: 450, protocol: HTTPS, tls: {options: {gateway.istio.io/tls-terminate-mode: MUTUAL}}}`

func TestListeners(t *testing.T) {
	reads, passes := []meshsync.Chain{readsHTTP()}, []meshsync.Chain{passesBytes()}
	for _, c := range []struct {
		section, why string
		membership   meshsync.Membership
		chains       []meshsync.Chain
		sni          string
		blocked      meshsync.Reason
		otherwise    meshsync.Otherwise
		any          bool
	}{
		{"mesh", "", meshsync.Meshed, reads, "", "", meshsync.Resets, false},
		{"", "of several the one that ends mutual TLS, the first", meshsync.Meshed, reads, "shop.example.com", "", meshsync.Resets, false},
		{"named", "SNI is looked at", meshsync.Meshed, reads, "shop.example.com", "", meshsync.Resets, false},
		{"wild", "a name under it", meshsync.Meshed, reads, "gatehouse.example.com", "", meshsync.Resets, false},
		{"bytes", "no HTTP is read", meshsync.Meshed, passes, "", "", meshsync.Resets, false},
		{"simple", "for clients without a certificate", meshsync.Meshed, reads, "", "", meshsync.Resets, true},
		{"pass", "TLS ends behind it", meshsync.Meshed, nil, "", meshsync.ReasonOpaquePort, meshsync.Passes, false},
		{"plain", "the mesh has no part in it", meshsync.NotMeshed, nil, "", meshsync.ReasonNotMeshed, meshsync.Passes, false},
		{"own", "its certificate is not the mesh's", meshsync.NotMeshed, nil, "", meshsync.ReasonNotMeshed, meshsync.Passes, false},
		{"mutual", "likewise", meshsync.NotMeshed, nil, "", meshsync.ReasonNotMeshed, meshsync.Passes, false},
		{"none", "it is not there", meshsync.Meshed, nil, "", meshsync.ReasonIdentityUnknown, meshsync.Resets, false},
	} {
		t.Run(c.section, func(t *testing.T) {
			w := meshtest.Parse(t, kubeGateway)
			in := PadOf(Dialect{}.Mesh(w), w.Objects(gateway, "apps")[0], c.section, meshsync.Account{Namespace: "apps", Name: "pad-istio"}).Inbound
			diff(t, in.Chains, c.chains, c.why)
			if in.Membership != c.membership || in.SNI != c.sni || in.Blocked != c.blocked || in.Otherwise != c.otherwise || in.AnyClient != c.any {
				t.Errorf("got %+v, want %+v", in, c)
			}
			if len(c.chains) > 0 {
				diff(t, in.Names, []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://cluster.local/ns/apps/sa/pad-istio"}}, "the gateway's own identity")
			}
		})
	}
}

// Istio's own Gateway has modes of the same meaning, and hosts with a namespace.
func TestServers(t *testing.T) {
	for _, c := range []struct {
		name, why, server string
		sni               string
		membership        meshsync.Membership
		any               bool
	}{
		{"host of a namespace", "", `{hosts: [./foo.bar], port: {number: 443, protocol: HTTPS}, tls: {mode: ISTIO_MUTUAL}}`, "foo.bar", meshsync.Meshed, false},
		{"any host of a namespace", "", `{hosts: [foo.bar, "apps/*"], port: {number: 443, protocol: HTTPS}, tls: {mode: ISTIO_MUTUAL}}`, "", meshsync.Meshed, false},
		{"the mesh's certificate for anybody", "", `{hosts: ["*"], port: {number: 443, protocol: HTTPS}, tls: {mode: SIMPLE, credentialName: "builtin://"}}`, "", meshsync.Meshed, true},
		{"a certificate of its own", "", `{hosts: ["*"], port: {number: 443, protocol: HTTPS}, tls: {mode: SIMPLE, credentialName: shop}}`, "", meshsync.NotMeshed, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := meshtest.Parse(t, `{apiVersion: networking.istio.io/v1, kind: Gateway, metadata: {name: pad, namespace: apps}, spec: {servers: [`+c.server+`]}}`)
			in := PadOf(Dialect{}.Mesh(w), w.Objects(istioGateway, "apps")[0], "", meshsync.Account{Namespace: "apps", Name: "pad"}).Inbound
			if in.SNI != c.sni || in.Membership != c.membership || in.AnyClient != c.any || in.Unasked != c.any {
				t.Errorf("got %+v, want %+v", in, c)
			}
		})
	}
}

// A backend may be a gateway's own Service: its pods accept what its listener says.
func TestGatewayPods(t *testing.T) {
	service := func(port, target string) string {
		return `{apiVersion: v1, kind: Service, metadata: {name: shop, namespace: apps}, spec: {selector: {app: shop}, ports: [{name: x, port: ` + port + `, targetPort: ` + target + `, protocol: TCP}]}}`
	}
	router := `containers: [{name: istio-proxy, args: [proxy, router]}]`
	managed := podOf(`labels: {gateway.networking.k8s.io/gateway-name: pad}`, router)
	classic := podOf(`labels: {istio: ingressgateway}, annotations: {inject.istio.io/templates: gateway}`, router)
	inApps := strings.Replace(padGateway, "istio-ingress", "apps", 1)
	for _, c := range []struct {
		name, why string
		objects   []string
		want      string
	}{
		{"managed", "", []string{managed, kubeGateway, service("449", "449")}, "Direct ClientAndServer HTTP1 -AppHealth"},
		{"of another name", "", []string{podOf(`labels: {gateway.networking.k8s.io/gateway-name: x}`, router), kubeGateway, service("449", "449")}, "Blocked IdentityUnknown"},
		{"classic", "by labels, and the Service's port", []string{classic, inApps, service("8443", "18443")}, "Direct ClientAndServer HTTP1 -AppHealth"},
		{"classic by target", "", []string{classic, inApps, service("1", "8443")}, "Direct ClientAndServer HTTP1 -AppHealth"},
		{"classic in another namespace", "it is not seen", []string{classic, padGateway, service("8443", "8443")}, "Blocked IdentityUnknown"},
		{"classic of other pods", "", []string{podOf(`labels: {istio: x}`, router), inApps, service("8443", "8443")}, "Blocked IdentityUnknown"},
		{"clear text", "selected, and no member at this port", []string{managed, kubeGateway, service("80", "80")}, "Blocked NotMeshed"},
		{"east-west", "for the mesh's own clients", []string{classic, inApps, service("15443", "15443")}, "Blocked OpaquePort"},
		{"garbage", "", []string{managed, `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: pad, namespace: apps}, spec: {listeners: [{port: x}]}}`, service("449", "449")}, "Blocked IdentityUnknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A mode of the mesh does not concern gateways.
			if got := outcome(shop(t, append(c.objects, wide("DISABLE"))...)); got != c.want {
				t.Errorf("got %s, want %s: %s", got, c.want, c.why)
			}
		})
	}
}
