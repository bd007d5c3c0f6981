package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// Of our list of twenty issues that people filed against meshes and load balancers,
// those that translation shows from objects to the model. Their numbers are the
// list's; the dialects, the judge, the rotation and the issuers have the others.

// strict is the case of an Istio under STRICT with one change.
func strict(t *testing.T, old, changed string) string {
	t.Helper()
	text := readFile(t, "mesh-istio-strict", "in.yaml")
	if !strings.Contains(text, old) {
		t.Fatalf("the case has no %q", old)
	}
	return strings.ReplaceAll(text, old, changed)
}

// memberOf is what comes of the case's gateway and its one group.
func memberOf(t *testing.T, x *Index) (Result, MeshGroup) {
	t.Helper()
	r := translateAll(t, x)[Key{KindGateway, "apps", "edge"}]
	if len(r.Meshes) != 1 || len(r.Meshes[0].Groups) == 0 {
		t.Fatalf("the gateway is no member of one mesh: %+v", r.Meshes)
	}
	return r, r.Meshes[0].Groups[0]
}

// TestInputVerdicts: 1 to 6, what a gateway of a class gets of pods.
func TestInputVerdicts(t *testing.T) {
	const mode, proxy = "mtls: {mode: STRICT}", "annotations: {sidecar.istio.io/status: \"{}\"}"
	ambient := strings.Replace(strict(t, proxy, "annotations: {ambient.istio.io/redirection: enabled}"), ", {name: istio-proxy}", "", 1)
	for _, c := range []struct {
		name, why, text string
		want            string
		pools           int
	}{
		{"1 istio #48836", "PERMISSIVE fails", strict(t, "offcluster", "gcplike") + permissive, "Blocked PermissiveInbound", 0},
		{"1 istio #48836, STRICT", "and STRICT works", strict(t, "offcluster", "gcplike"), "Direct ", 1},
		{"2 istio #14130, #35232", "a provider that can say what Istio's own clients say is let in", strict(t, mode, "mtls: {mode: PERMISSIVE}"), "Direct ", 1},
		{"3 istio #43056", "no client certificate: refused, and no black hole", strict(t, "offcluster", "plain") + plainClass, "Blocked ClientCertificateUnsupported", 0},
		{"4 istio #32595", "directly from outside", strict(t, mode, mode), "Direct ", 1},
		{"5 istio #51482", "ambient and STRICT", ambient, "Blocked TunnelRequired", 0},
		{"6 ztunnel #1761", "no minimum lets clear text to it", strings.Replace(ambient, "{controllerName", "{minimumTLS: None, controllerName", 1), "Blocked TunnelRequired", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, g := memberOf(t, indexOf(t, c.text))
			want(t, c.why+": "+g.Verdict.Detail, fmt.Sprintf("%s %s", g.Verdict.Path, g.Verdict.Reason), c.want)
			if len(r.Gateway.Pools) != c.pools {
				t.Errorf("%d pools, want %d", len(r.Gateway.Pools), c.pools)
			}
			if blocked := g.Verdict.Path == meshsync.Blocked; blocked && (g.Verdict.Fix == nil || g.Verdict.Detail == "") {
				t.Errorf("it is blocked without a word or a way out: %+v", g.Verdict)
			}
		})
	}
}

// permissive is a word of a namespace, which comes before the mesh's.
const permissive = "\n---\napiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: p, namespace: apps}\nspec: {mtls: {mode: PERMISSIVE}}\n"

// TestInputBundles: 7, 8, 14 and 20, what a bundle says, however it is written.
func TestInputBundles(t *testing.T) {
	a, b := readFile(t, "ca1.pem"), readFile(t, "ca2.pem")
	x := indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml"))
	for _, c := range []struct {
		name, why, pem string
		want           string
		concerned      int
	}{
		{"7 istio #30947", "A", a, "CN=test ca1", 0},
		{"7 istio #30947", "A+B: there at once", a + b, "CN=test ca1, CN=test ca2", 1},
		{"7 istio #30947", "A+B+B: no change", a + b + b, "CN=test ca1, CN=test ca2", 0},
		{"8 istio #59909", "order means nothing", b + a, "CN=test ca1, CN=test ca2", 0},
		{"14 linkerd2 #3880", "line ends and comments mean nothing", "# roots\r\n" + strings.ReplaceAll(a+"\n\n"+b, "\n", "\r\n"), "CN=test ca1, CN=test ca2", 0},
		{"7 istio #30947", "B: A goes by rotation, which knows how long", b, "CN=test ca2", 1},
		{"20 AGIC #812", "what is no certificate is told, and what is there stays", "junk", "unknown", 1},
	} {
		cm := rootsOf("istio-system", "istio-ca-root-cert", "root-cert.pem")
		cm.Data["root-cert.pem"] = c.pem
		next, keys := x.With(Change{Put: []any{cm}})
		bound, _ := next.Bound("istio")
		got, _, _ := strings.Cut(rootsText(bound), ", ConfigMap")
		want(t, c.name+" "+c.why, got, c.want)
		if len(keys) != c.concerned {
			t.Errorf("%s, %s: it concerns %v, want %d", c.name, c.why, keys, c.concerned)
		}
		x = next
	}
}

// TestInput09 is istio #14516: a root ended after a year, and nobody knew. The
// binding's status says when.
func TestInput09(t *testing.T) {
	x := indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml"))
	patches := BindingStatus(x, translateAll(t, x), nil, now())
	root := rootsIn(t, "ca1.pem")[0]
	if got := patches[0].Status.(*v1alpha1.MeshBindingStatus).Roots; len(got) != 1 || !got[0].NotAfter.Time.Equal(root.NotAfter) {
		t.Errorf("roots %+v, want one that ends at %s", got, root.NotAfter)
	}
}

// TestInput10 is ztunnel #1679: the CA is changed every week. The certificate that is
// asked for is renewed as soon as its authority is not published any more.
func TestInput10(t *testing.T) {
	r, _ := memberOf(t, indexOf(t, strict(t, "{controllerName", "{identity: {duration: 168h}, controllerName")))
	id := r.Gateway.Identities[0]
	began := now().Time
	old := lbmodel.Leaf{NotBefore: began, NotAfter: began.Add(168 * time.Hour), Authority: "another"}
	own := old
	own.Authority = rootsIn(t, "ca1.pem")[0].KeyID
	if id.RenewAt(old).After(began) || !id.RenewAt(own).After(began.Add(96*time.Hour)) {
		t.Errorf("renewed at %s under a root that is gone, at %s under one that is there", id.RenewAt(old), id.RenewAt(own))
	}
}

// TestInput16 is istio #53666: while a trust domain changes, both names hold.
func TestInput16(t *testing.T) {
	const config = "\n---\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata: {mesh: \"%s\"}\n"
	for text, names := range map[string][]string{
		"trustDomain: new.test": {"spiffe://new.test/ns/apps/sa/shop"},
		"trustDomain: new.test\\ntrustDomainAliases: [cluster.local]": {"spiffe://cluster.local/ns/apps/sa/shop", "spiffe://new.test/ns/apps/sa/shop"},
	} {
		r, _ := memberOf(t, indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml")+fmt.Sprintf(config, text)))
		var got []string
		for _, san := range r.Gateway.Pools[0].TLS.SANs {
			got = append(got, san.Value)
		}
		if slices.Sort(got); !slices.Equal(got, names) {
			t.Errorf("%s: %v, want %v", text, got, names)
		}
	}
}

// TestInput18 is ingress-gce #553: a health check shows no certificate, so it goes to
// the mesh's port and not to the application's.
func TestInput18(t *testing.T) {
	r, _ := memberOf(t, indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml")))
	if h := r.Gateway.Pools[0].Health; h == nil || h.Protocol != "HTTP" || h.Port != 15021 {
		t.Errorf("health %+v, want HTTP to port 15021", h)
	}
}
