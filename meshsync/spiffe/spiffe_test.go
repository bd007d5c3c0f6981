package spiffe

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
kind: ConfigMap
apiVersion: v1
metadata: {namespace: spire, name: spire-server}
data: {server.conf: '{"server": {"trust_domain": "corp.example"}}'}
---
kind: Namespace
apiVersion: v1
metadata: {name: shop, labels: {team: shop}}
---
kind: Service
apiVersion: v1
metadata: {namespace: shop, name: cart}
spec: {selector: {app: cart}, ports: [{port: 443, targetPort: 8443, appProtocol: https}]}
---
kind: Pod
apiVersion: v1
metadata: {namespace: shop, name: cart-1, labels: {app: cart}}
spec:
  serviceAccountName: cart
  volumes: [{name: api, csi: {driver: csi.spiffe.io, readOnly: true}}]
  containers:
  - name: cart
    ports: [{containerPort: 8443}]
    readinessProbe: {httpGet: {path: /ready, port: 8080}}
`

const registered = `
kind: ClusterSPIFFEID
apiVersion: spire.spiffe.io/v1alpha1
metadata: {name: carts}
spec:
  spiffeIDTemplate: 'spiffe://{{ .TrustDomain }}/app/{{ index .PodMeta.Labels "app" }}'
  podSelector: {matchLabels: {app: cart}}
  namespaceSelector: {matchLabels: {team: shop}}
  ttl: 4h
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

func TestMesh(t *testing.T) {
	got := Dialect{}.Mesh(cluster(t, nil, registered))
	got.Says, got.Settings = nil, nil
	want := meshsync.Mesh{
		Installed: true, Namespace: "spire", TrustDomain: "corp.example", TrustDomains: []string{"corp.example"},
		Roots:    []meshsync.RootsAt{{Kind: "ConfigMap", Namespace: "spire", Name: "spire-bundle", Key: "bundle.crt"}, {Kind: meshsync.RootsWorkload, Name: "corp.example"}},
		LeafLife: 4 * time.Hour, Propagation: 5 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("SPIRE's own objects say it (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"server {\n  trust_domain = \"hcl.example\"\n}": "hcl.example",
		"trust_domain = \n":                             "",
		"{":                                             "",
	} {
		config := cluster(t, nil).ConfigMap("spire", "spire-server")
		config.Data["server.conf"] = text
		if got := domainOf(config); got != want {
			t.Errorf("%q has the trust domain %q, want %q", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	const own = "spiffe://corp.example/ns/shop/sa/cart"
	say := func(where, id string) change {
		return change{"labels: {app: cart}}", "labels: {app: cart}, " + where + ": {spiffe.io/spiffe-id: '" + id + "'}}"}
	}
	for _, c := range []struct {
		name, why string
		dialect   Dialect
		changes   []change
		more      []string
		want      []string
	}{
		{"default", "by namespace and account", Dialect{}, nil, nil, []string{own}},
		{"a template", "17: an installation may name its pods otherwise", Dialect{Template: "spiffe://{{ .TrustDomain }}/{{ .PodMeta.Namespace }}"}, nil, nil, []string{"spiffe://corp.example/shop"}},
		{"a trust domain", "", Dialect{TrustDomain: "other.example"}, nil, nil, []string{"spiffe://other.example/ns/shop/sa/cart"}},
		{"registered", "17: SPIRE's own object comes before the template", Dialect{}, nil, []string{registered}, []string{"spiffe://corp.example/app/cart"}},
		{"registered twice", "SPIRE gives both, and the application shows one", Dialect{}, nil,
			[]string{registered, strings.NewReplacer("name: carts", "name: all", "podSelector: {matchLabels: {app: cart}}", "podSelector: {}", "/app/", "/any/").Replace(registered)},
			[]string{"spiffe://corp.example/any/cart", "spiffe://corp.example/app/cart"}},
		{"registered for others", "", Dialect{}, nil, []string{strings.Replace(registered, "app: cart}", "app: other}", 1)}, []string{own}},
		{"registered elsewhere", "", Dialect{}, nil, []string{strings.Replace(registered, "team: shop", "team: bank", 1)}, []string{own}},
		{"a template that is not read", "it is not guessed", Dialect{}, nil, []string{strings.Replace(registered, ".TrustDomain", ".NodeMeta.Name", 1)}, nil},
		{"a label that is not there", "", Dialect{}, nil, []string{strings.Replace(registered, `"app"`, `"zone"`, 1)}, nil},
		{"the pod says it", "", Dialect{}, []change{say("annotations", "spiffe://corp.example/cart")}, []string{registered}, []string{"spiffe://corp.example/cart"}},
		{"the pod says yes", "a label's value is no SPIFFE ID then", Dialect{}, []change{say("annotations", "true")}, nil, []string{own}},
		{"no trust domain", "", Dialect{}, []change{{"trust_domain", "x"}}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := cluster(t, c.changes, c.more...).Accepts(c.dialect, "shop", "cart", "cart-1")
			var got []string
			for _, n := range in.Names {
				got = append(got, n.Value)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s%s", c.why, diff, in.Detail)
			}
			if (in.Blocked == meshsync.ReasonIdentityUnknown) != (c.want == nil) {
				t.Errorf("%s: blocked %q", c.why, in.Blocked)
			}
		})
	}
}

// TestInbound has the row of workloads with TLS of their own through the judge.
func TestInbound(t *testing.T) {
	noMount := change{"csi.spiffe.io", "other.csi"}
	for _, c := range []struct {
		name, why string
		changes   []change
		more      []string
		hop       meshsync.Hop
		full, gcp string
	}{
		{"HTTP", "the application ends TLS", nil, nil, meshsync.Hop{Protocol: lbmodel.PoolHTTP1}, "Direct ClientAndServer HTTP1", "Direct ClientAndServer HTTP1"},
		{"gRPC", "negotiated where it is declared", []change{{"appProtocol: https", "appProtocol: grpcs"}}, nil, meshsync.Hop{Protocol: lbmodel.PoolGRPC}, "Direct ClientAndServer GRPC", "Direct ClientAndServer GRPC"},
		{"gRPC, undeclared", "nobody knows that it negotiates HTTP/2", nil, nil, meshsync.Hop{Protocol: lbmodel.PoolGRPC}, "Blocked ALPNUnsupported", "Blocked ALPNUnsupported"},
		{"bytes", "", []change{{"appProtocol: https", "appProtocol: tcp"}}, nil, meshsync.Hop{Protocol: lbmodel.PoolTCP}, "Direct ClientAndServer TCP", "Direct ClientAndServer TCP"},
		{"no sign", "a registered pod may speak clear text", []change{noMount}, []string{registered}, meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Selected: true}, "Blocked NotMeshed", "Blocked NotMeshed"},
		{"a sign of its own", "", []change{noMount, {"labels: {app: cart}}", "labels: {app: cart, spiffe.io/spiffe-id: 'true'}}"}}, nil, meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Selected: true},
			"Direct ClientAndServer HTTP1", "Direct ClientAndServer HTTP1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := cluster(t, c.changes, c.more...).Accepts(Dialect{}, "shop", "cart", "cart-1")
			if c.hop.Minimum = lbmodel.TLSClientAndServer; c.hop.Roots == 0 {
				c.hop.Roots = 1
			}
			got := []string{meshtest.Outcome(meshsync.Judge(in, c.hop, lbmodel.FullFeatures())), meshtest.Outcome(meshsync.Judge(in, c.hop, meshtest.GCP()))}
			if diff := cmp.Diff([]string{c.full, c.gcp}, got); diff != "" {
				t.Errorf("%s (-want +got; everything, GCP):\n%s%s", c.why, diff, in.Detail)
			}
		})
	}
	in := cluster(t, nil).Accepts(Dialect{}, "shop", "cart", "cart-1")
	if in.Health == nil || in.Health.Port != 8080 || in.ProxyHealth {
		t.Errorf("a probe at a port of its own needs no certificate: %+v", in.Health)
	}
	if in := cluster(t, []change{{"port: 8080", "port: 8443"}}).Accepts(Dialect{}, "shop", "cart", "cart-1"); in.Health != nil {
		t.Errorf("a probe at the port itself needs a certificate: %+v", in.Health)
	}
}
