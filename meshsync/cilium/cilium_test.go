package cilium

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

const base = `
kind: ConfigMap
apiVersion: v1
metadata: {namespace: kube-system, name: cilium-config}
data: {routing-mode: native}
---
kind: Namespace
apiVersion: v1
metadata: {name: shop, labels: {team: shop}}
---
kind: Service
apiVersion: v1
metadata: {namespace: shop, name: cart}
spec: {selector: {app: cart}, ports: [{port: 80, targetPort: 8080}]}
---
kind: Pod
apiVersion: v1
metadata: {namespace: shop, name: cart-1, labels: {app: cart}}
spec: {serviceAccountName: cart}
`

// TestInbound: no protection of Cilium's is TLS that a load balancer can take part
// in, and none is taken for it.
func TestInbound(t *testing.T) {
	enrolled := [2]string{"{team: shop}", `{io.cilium/mtls-enabled: "true"}`}
	auth := [2]string{"routing-mode: native", `mesh-auth-enabled: "true", mesh-auth-mutual-enabled: "true"`}
	wireguard := [2]string{"routing-mode: native", `enable-wireguard: "true"`}
	ipsec := [2]string{"routing-mode: native", `enable-ipsec: "true"`}
	mutual := meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Minimum: lbmodel.TLSClientAndServer}
	plain := meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Minimum: lbmodel.TLSNone}
	selected := meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Minimum: lbmodel.TLSNone, Selected: true}
	for _, c := range []struct {
		name, why string
		changes   [][2]string
		hop       meshsync.Hop
		want      string
		detail    string // of the pod
		says      string // of the mesh
	}{
		{"nothing", "a plain pod", nil, plain, "Direct None HTTP1", "no TLS", "tunnel"},
		{"mutual authentication", "out of band: the bytes stay as they are", [][2]string{auth}, plain, "Direct None HTTP1", "out of band", "refuses the gateway"},
		{"mutual authentication, minimum", "it is no mutual TLS", [][2]string{auth}, mutual, "Blocked BelowMinimum", "", ""},
		{"mutual authentication, selected", "somebody relies on it", [][2]string{auth}, selected, "Blocked NotMeshed", "", ""},
		{"WireGuard", "it is transparent", [][2]string{wireguard}, plain, "Direct None HTTP1", "", "WireGuard"},
		{"IPsec", "it is transparent", [][2]string{ipsec}, plain, "Direct None HTTP1", "", "IPsec"},
		{"ztunnel", "only its own tunnel", [][2]string{enrolled}, mutual, "Blocked TunnelRequired", "HBONE", ""},
		{"ztunnel, plain", "clear text is refused too, whatever the minimum", [][2]string{enrolled}, plain, "Blocked TunnelRequired", "", ""},
		{"ztunnel, host network", "such a pod cannot be enrolled", [][2]string{enrolled, {"{serviceAccountName: cart}", "{hostNetwork: true}"}}, plain, "Direct None HTTP1", "", ""},
		{"label with another value", "", [][2]string{{"{team: shop}", `{io.cilium/mtls-enabled: "yes"}`}}, plain, "Direct None HTTP1", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := base
			for _, change := range c.changes {
				text = strings.Replace(text, change[0], change[1], 1)
			}
			w := meshtest.Parse(t, text)
			in := w.Accepts(Dialect{}, "shop", "cart", "cart-1")
			for _, f := range []lbmodel.Features{lbmodel.FullFeatures(), meshtest.GCP()} {
				if got := meshtest.Outcome(meshsync.Judge(in, c.hop, f)); got != c.want {
					t.Errorf("%s: %s, want %s", c.why, got, c.want)
				}
			}
			if !strings.Contains(in.Detail, c.detail) {
				t.Errorf("the detail %q does not say %q", in.Detail, c.detail)
			}
			if says := strings.Join(Dialect{}.Mesh(w).Says, " "); !strings.Contains(says, c.says) {
				t.Errorf("the mesh says %q, not %q", says, c.says)
			}
		})
	}
}

func TestMesh(t *testing.T) {
	got := Dialect{}.Mesh(meshtest.Parse(t, strings.Replace(base, "routing-mode: native", `mesh-auth-enabled: "true", mesh-auth-mutual-enabled: "true", mesh-auth-spiffe-trust-domain: corp`, 1)))
	got.Says = nil
	want := meshsync.Mesh{Installed: true, Namespace: "kube-system", TrustDomain: "corp", TrustDomains: []string{"corp"}, Settings: settings{MutualAuth: true}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{})); diff != "" {
		t.Errorf("there is nothing to verify with, so there are no roots (-want +got):\n%s", diff)
	}
	if none := (Dialect{}).Mesh(meshtest.Parse(t)); none.Installed || none.Says != nil {
		t.Errorf("without Cilium nothing is said of it: %+v", none)
	}
}

// TestAllow: Cilium knows nobody outside by an identity, so nothing is made up.
func TestAllow(t *testing.T) {
	for _, c := range []struct{ name, why, config, says string }{
		{"as installed", "policies know addresses", "routing-mode: native", "by address"},
		{"mutual authentication", "the agents' handshake is none of ours", `mesh-auth-enabled: "true", mesh-auth-mutual-enabled: "true"`, "mutual authentication refuses it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := meshtest.Parse(t, strings.Replace(base, "routing-mode: native", c.config, 1))
			a := w.Allows(Dialect{}, w.Entry("shop", "cart", "cart-1", w.Client(Dialect{})))
			if a.Need != meshsync.NeedUnknown || len(a.Offers) > 0 || !strings.Contains(a.Why, c.says) {
				t.Errorf("%s: %+v", c.why, a)
			}
		})
	}
}
