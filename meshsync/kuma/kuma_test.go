package kuma

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

const base = `
kind: Mesh
apiVersion: kuma.io/v1alpha1
metadata: {name: default}
spec: {meshServices: {mode: Exclusive}}
---
kind: MeshIdentity
apiVersion: kuma.io/v1alpha1
metadata: {namespace: kuma-system, name: identity, labels: {kuma.io/mesh: default}}
spec:
  selector: {dataplane: {matchLabels: {}}}
  provider: {type: Bundled, bundled: {certificateParameters: {expiry: 24h}}}
---
kind: MeshTrust
apiVersion: kuma.io/v1alpha1
metadata: {namespace: kuma-system, name: identity, labels: {kuma.io/mesh: default, kuma.io/origin: zone, kuma.io/zone: east}}
spec: {trustDomain: default.east.mesh.local, caBundles: [{type: Pem, pem: {value: x}}]}
---
kind: MeshTrust
apiVersion: kuma.io/v1alpha1
metadata: {namespace: kuma-system, name: gatehouse, labels: {kuma.io/mesh: default}}
spec: {trustDomain: gatehouse, caBundles: [{type: Pem, pem: {value: x}}]}
---
kind: Namespace
apiVersion: v1
metadata: {name: shop, labels: {kuma.io/sidecar-injection: enabled}}
---
kind: Service
apiVersion: v1
metadata: {namespace: shop, name: cart}
spec: {selector: {app: cart}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}
---
kind: Pod
apiVersion: v1
metadata:
  namespace: shop
  name: cart-1
  labels: {app: cart, kuma.io/mesh: default, kuma.io/workload: cart}
  annotations: {kuma.io/sidecar-injected: "true"}
spec:
  serviceAccountName: cart
  containers:
  - name: cart
    ports: [{containerPort: 8080, name: web}]
    readinessProbe: {httpGet: {path: /8080/ready, port: 9001}}
  - name: kuma-sidecar
    readinessProbe: {httpGet: {path: /ready, port: 9902}}
`

type change struct{ old, with string }

func cluster(t testing.TB, changes []change, more ...string) *meshtest.World {
	t.Helper()
	text := base
	for _, c := range changes {
		if !strings.Contains(text, c.old) {
			t.Fatalf("the base has no %q", c.old)
		}
		text = strings.Replace(text, c.old, c.with, 1)
	}
	return meshtest.Parse(t, append([]string{text}, more...)...)
}

func annotate(key, value string) change {
	return change{`kuma.io/sidecar-injected: "true"`, `kuma.io/sidecar-injected: "true", ` + key + `: "` + value + `"`}
}

func meshTLS(namespace, name, target, mode string) string {
	return `
kind: MeshTLS
apiVersion: kuma.io/v1alpha1
metadata: {namespace: ` + namespace + `, name: ` + name + `, labels: {kuma.io/mesh: default}}
spec: {targetRef: ` + target + `, rules: [{default: {mode: ` + mode + `}}]}
`
}

// noIdentity takes the MeshIdentity away; backend gives the Mesh a CA of its own.
var noIdentity = change{"{dataplane: {matchLabels: {}}}", "{dataplane: {matchLabels: {app: none}}}"}

func backend(mode string) change {
	return change{"meshServices: {mode: Exclusive}", "mtls: {enabledBackend: ca-1, backends: [{name: ca-1, type: builtin, mode: " + mode + "}]}"}
}

func TestMesh(t *testing.T) {
	got := Dialect{}.Mesh(cluster(t, nil))
	got.Settings, got.Says = nil, nil
	want := meshsync.Mesh{
		Installed: true, Namespace: "kuma-system", TrustDomain: "default.east.mesh.local", TrustDomains: []string{"default.east.mesh.local"},
		Roots:    []meshsync.RootsAt{{Kind: "MeshTrust", Namespace: "kuma-system", Name: "identity", Key: "spec.caBundles", PEM: "x"}},
		Admits:   []meshsync.RootsAt{{Kind: "MeshTrust", Namespace: "kuma-system", Name: "gatehouse", Key: "spec.caBundles", PEM: "x"}},
		LeafLife: 24 * time.Hour, Propagation: 5 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the gateways' own MeshTrust says nothing of the mesh's proxies (-want +got):\n%s", diff)
	}
	if life := (Dialect{}).Mesh(cluster(t, []change{backend("STRICT")})).LeafLife; life != 30*24*time.Hour {
		t.Errorf("certificates of a CA backend live for 30 days, got %s", life)
	}
}

func TestGatewayName(t *testing.T) {
	got, _ := meshsync.NameOf(Dialect{}, Dialect{}.Mesh(cluster(t, nil)), meshsync.Account{Namespace: "gatehouse-system", Name: "g1"})
	if want := "spiffe://gatehouse/ns/gatehouse-system/sa/g1"; got != want {
		t.Errorf("a CA of our own is trusted for its own trust domain: %q, want %q", got, want)
	}
}

// TestInbound has the rows of Kuma through the judge: what it is with every
// ability, and with those of GCP.
func TestInbound(t *testing.T) {
	const (
		direct     = "Direct ClientAndServer HTTP1"
		permission = "Blocked PermissiveInbound"
		disabled   = "Blocked InboundDisabled"
	)
	on := `{kind: Dataplane, labels: {app: cart}}`
	for _, c := range []struct {
		name, why string
		changes   []change
		more      []string
		full, gcp string
		detail    string
	}{
		{"STRICT", "an identity is strict by itself", nil, nil, direct, direct, ""},
		{"STRICT, bytes", "without appProtocol the proxy reads nothing", []change{{", appProtocol: http", ""}}, nil, direct + " -L7Policy", direct + " -L7Policy", ""},
		{"protocol by annotation", "", []change{{", appProtocol: http", ""}, {"name: cart}\nspec: {selector", "name: cart, annotations: {80.service.kuma.io/protocol: http}}\nspec: {selector"}}, nil, direct, direct, ""},
		{"PERMISSIVE", "TLS without ALPN kuma is passed on: being more open it is closed", nil, []string{meshTLS("kuma-system", "all", "{kind: Mesh}", "Permissive")}, direct, permission, "MeshTLS kuma-system/all"},
		{"an unknown mode", "it gives less", nil, []string{meshTLS("kuma-system", "all", "{kind: Mesh}", "Loose")}, direct, permission, ""},
		{"another mesh's policy", "it is about other pods", nil, []string{strings.Replace(meshTLS("kuma-system", "all", "{kind: Mesh}", "Permissive"), "mesh: default", "mesh: other", 1)}, direct, direct, ""},
		{"the more specific", "a Dataplane's policy is above the mesh's", nil, []string{meshTLS("kuma-system", "a", "{kind: Mesh}", "Permissive"), meshTLS("kuma-system", "b", on, "Strict")}, direct, direct, ""},
		{"the workload's own", "it is above the control plane's", nil, []string{meshTLS("kuma-system", "a", on, "Permissive"), meshTLS("shop", "b", "{kind: Mesh}", "Strict")}, direct, direct, ""},
		{"equals that disagree", "the one that gives less counts", nil, []string{meshTLS("kuma-system", "a", on, "Permissive"), meshTLS("kuma-system", "b", on, "Strict")}, direct, permission, ""},
		{"one port", "a section is a port", nil, []string{meshTLS("kuma-system", "a", "{kind: Dataplane, labels: {app: cart}, sectionName: web}", "Permissive")}, direct, permission, ""},
		{"another port", "", nil, []string{meshTLS("kuma-system", "a", "{kind: Dataplane, labels: {app: cart}, sectionName: admin}", "Permissive")}, direct, direct, ""},
		{"other pods", "", nil, []string{meshTLS("kuma-system", "a", "{kind: Dataplane, labels: {app: other}}", "Permissive")}, direct, direct, ""},
		{"a target that is not read", "it may be these pods", nil, []string{meshTLS("kuma-system", "a", "{kind: MeshService, name: cart}", "Permissive")}, direct, permission, ""},
		{"a strict target that is not read", "it may be others", nil, []string{meshTLS("kuma-system", "a", "{kind: Mesh}", "Permissive"), meshTLS("kuma-system", "b", "{kind: MeshService, name: cart}", "Strict")}, direct, permission, ""},
		{"CA backend", "strict unless it says otherwise", []change{noIdentity, backend("STRICT")}, nil, direct, direct, ""},
		{"CA backend, permissive", "", []change{noIdentity, backend("PERMISSIVE")}, nil, direct, permission, "CA backend"},
		{"CA backend and identity", "an identity is strict whatever the backend", []change{backend("PERMISSIVE")}, nil, direct, direct, ""},
		{"no mutual TLS", "neither an identity nor a backend", []change{noIdentity}, nil, disabled, disabled, "is off"},
		{"excluded port", "", []change{annotate(keyExclude, "8080")}, nil, disabled, disabled, keyExclude},
		{"excluded garbage", "nobody knows what is redirected", []change{annotate(keyExclude, "80-")}, nil, disabled, disabled, "cannot be read"},
		{"a gateway", "", []change{annotate(keyGateway, "enabled")}, nil, disabled, disabled, "gateway"},
		{"no redirection", "", []change{annotate(keyTransparent, "disabled")}, nil, disabled, disabled, "bypass"},
		{"another mesh", "its roots and names are others", []change{{"{app: cart, kuma.io/mesh: default, kuma.io/workload", "{app: cart, kuma.io/mesh: blue, kuma.io/workload"}}, nil, "Blocked IdentityUnknown", "Blocked IdentityUnknown", `"blue"`},
		{"zone unknown", "whose certificate it is cannot be said", []change{{"kuma.io/origin: zone, ", ""}}, nil, "Blocked IdentityUnknown", "Blocked IdentityUnknown", ""},
		{"intent", "a label is no proxy", []change{{`{kuma.io/sidecar-injected: "true"}`, "{}"}, {"name: kuma-sidecar", "name: x"}}, nil, "Blocked BelowMinimum", "Blocked BelowMinimum", "restart"},
		{"broken injection", "", []change{{"name: kuma-sidecar", "name: x"}}, nil, "Blocked BelowMinimum", "Blocked BelowMinimum", "broken"},
		{"a container by that name", "", []change{{`{kuma.io/sidecar-injected: "true"}`, "{}"}}, nil, "Blocked BelowMinimum", "Blocked BelowMinimum", "injector"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := cluster(t, c.changes, c.more...).Accepts(Dialect{}, "shop", "cart", "cart-1")
			hop := meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Minimum: lbmodel.TLSClientAndServer, Roots: 1}
			full, gcp := meshsync.Judge(in, hop, lbmodel.FullFeatures()), meshsync.Judge(in, hop, meshtest.GCP())
			if diff := cmp.Diff([]string{c.full, c.gcp}, []string{meshtest.Outcome(full), meshtest.Outcome(gcp)}); diff != "" {
				t.Errorf("%s (-want +got; everything, GCP):\n%s%s", c.why, diff, in.Detail)
			}
			if !strings.Contains(in.Detail, c.detail) {
				t.Errorf("%s: the detail %q does not say %q", c.why, in.Detail, c.detail)
			}
		})
	}
}

func TestNames(t *testing.T) {
	const old = `
kind: MeshIdentity
apiVersion: kuma.io/v1alpha1
metadata: {namespace: kuma-system, name: special, labels: {kuma.io/mesh: default}}
spec:
  selector: {dataplane: {matchLabels: {app: cart}}}
  spiffeID: {trustDomain: corp.example, path: '/{{ .Namespace }}/{{label "kuma.io/workload"}}'}
`
	for _, c := range []struct {
		name, why string
		changes   []change
		more      []string
		want      []string
	}{
		{"default", "the templates that a MeshIdentity has by itself", nil, nil, []string{"spiffe://default.east.mesh.local/ns/shop/sa/cart"}},
		{"its own first", "16: while the identity changes, the proxy may still have the old one", nil, []string{old},
			[]string{"spiffe://corp.example/shop/cart", "spiffe://default.east.mesh.local/ns/shop/sa/cart"}},
		{"CA backend", "Kuma's older names", []change{noIdentity, backend("STRICT")}, nil, []string{"spiffe://default/cart_shop_svc_80"}},
		{"both", "", []change{backend("STRICT")}, nil, []string{"spiffe://default.east.mesh.local/ns/shop/sa/cart", "spiffe://default/cart_shop_svc_80"}},
		{"a label that is not there", "17: a name that cannot be derived is not guessed", []change{{", kuma.io/workload: cart", ""}}, []string{old}, nil},
		{"a template that is not read", "", nil, []string{strings.Replace(old, "{{ .Namespace }}", "{{ .Namespace | upper }}", 1)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, san := range cluster(t, c.changes, c.more...).Accepts(Dialect{}, "shop", "cart", "cart-1").Names {
				got = append(got, san.Value)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}

func TestHealthAndVersion(t *testing.T) {
	w := cluster(t, nil)
	in := w.Accepts(Dialect{}, "shop", "cart", "cart-1")
	if in.ProxyHealth || in.Health.Port != 9001 || in.MinVersion != "1.2" {
		t.Errorf("the probe that the injector rewrote needs no certificate: %+v, TLS %s", in.Health, in.MinVersion)
	}
	in = cluster(t, []change{{"port: 9001", "port: 8080"}}).Accepts(Dialect{}, "shop", "cart", "cart-1")
	if !in.ProxyHealth || in.Health.Port != 9902 {
		t.Errorf("a probe of the port itself would be reset: %+v", in.Health)
	}
	in = cluster(t, []change{{"port: 9001", "port: 8080"}}, meshTLS("shop", "a", "{kind: Mesh}", "Permissive")).Accepts(Dialect{}, "shop", "cart", "cart-1")
	if in.ProxyHealth || in.Health.Port != 8080 {
		t.Errorf("a permissive inbound lets the probe through: %+v", in.Health)
	}
	w.Apply(strings.Replace(meshTLS("kuma-system", "a", "{kind: Mesh}", "Strict"), "mode: Strict", "mode: Strict, tlsVersion: {min: TLS13}", 1))
	if in := w.Accepts(Dialect{}, "shop", "cart", "cart-1"); in.MinVersion != "1.3" {
		t.Errorf("a MeshTLS may ask for TLS 1.3, got %q", in.MinVersion)
	}
}

// TestFix applies what is offered, and it makes the port Direct.
func TestFix(t *testing.T) {
	w := cluster(t, []change{noIdentity, backend("PERMISSIVE")}, meshTLS("kuma-system", "all", "{kind: Mesh}", "Permissive"))
	hop := meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Minimum: lbmodel.TLSClientAndServer, Roots: 1}
	v := meshsync.Judge(w.Accepts(Dialect{}, "shop", "cart", "cart-1"), hop, meshtest.GCP())
	if v.Fix == nil || v.Reason != meshsync.ReasonPermissiveInbound {
		t.Fatalf("%s, fix %+v", meshtest.Outcome(v), v.Fix)
	}
	w.Apply(v.Fix.YAML)
	if got := meshsync.Judge(w.Accepts(Dialect{}, "shop", "cart", "cart-1"), hop, meshtest.GCP()); got.Path != meshsync.Direct {
		t.Errorf("%s after applying\n%s", meshtest.Outcome(got), v.Fix.YAML)
	}
}

func TestManifests(t *testing.T) {
	got := Authorization(Grant{Mesh: "default", Namespace: "shop", Name: "gatehouse", SPIFFEIDs: []string{"spiffe://gatehouse/ns/gatehouse-system/sa/g2", "spiffe://gatehouse/ns/gatehouse-system/sa/g1"}}) +
		"---\n" + Trust("default", "kuma-system", "gatehouse", "gatehouse", "PEM\n")
	want := `apiVersion: kuma.io/v1alpha1
kind: MeshTrafficPermission
metadata:
  labels:
    kuma.io/mesh: default
  name: gatehouse
  namespace: shop
spec:
  rules:
  - default:
      allow:
      - spiffeID:
          type: Exact
          value: spiffe://gatehouse/ns/gatehouse-system/sa/g1
      - spiffeID:
          type: Exact
          value: spiffe://gatehouse/ns/gatehouse-system/sa/g2
---
apiVersion: kuma.io/v1alpha1
kind: MeshTrust
metadata:
  labels:
    kuma.io/mesh: default
  name: gatehouse
  namespace: kuma-system
spec:
  caBundles:
  - pem:
      value: |
        PEM
    type: Pem
  trustDomain: gatehouse
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the mesh must allow (-want +got):\n%s", diff)
	}
}
