package istio

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

func TestNames(t *testing.T) {
	own := meshsync.Account{Namespace: "apps", Name: "shop"}
	for _, c := range []struct {
		name, why   string
		domains     []string
		account     meshsync.Account
		annotations map[string]string
		want        []string
	}{
		{"one", "", []string{"td"}, own, nil, []string{"spiffe://td/ns/apps/sa/shop"}},
		{"migration", "old and new, until the alias goes", []string{"new", "old"}, own, nil, []string{"spiffe://new/ns/apps/sa/shop", "spiffe://old/ns/apps/sa/shop"}},
		{"another namespace", "its owner must not lend the Service a name", []string{"td"}, meshsync.Account{Namespace: "evil", Name: "shop"}, nil, nil},
		{"no trust domain", "", nil, own, nil, nil},
		{"more accounts", "of the Service's namespace", []string{"td"}, own, map[string]string{accountsAnnotation: "old, shop,,a/b,A B"}, []string{"spiffe://td/ns/apps/sa/shop", "spiffe://td/ns/apps/sa/old"}},
		{"canonical", "in its own trust domain and in the aliases", []string{"td", "alias"}, own, map[string]string{canonicalAnnotation: "spiffe://other/ns/a/sa/b"},
			[]string{"spiffe://td/ns/apps/sa/shop", "spiffe://alias/ns/apps/sa/shop", "spiffe://other/ns/a/sa/b", "spiffe://alias/ns/a/sa/b"}},
		{"canonical host", "", []string{"td"}, own, map[string]string{canonicalAnnotation: "vm.example.com"}, []string{"spiffe://td/ns/apps/sa/shop", "DNS vm.example.com"}},
		{"garbage", "names nobody", []string{"td"}, own, map[string]string{canonicalAnnotation: "spiffe://td, spiffe:///ns/a/sa/b, spiffe://td/ns//sa/b, spiffe://*/ns/a/sa/b, *"}, []string{"spiffe://td/ns/apps/sa/shop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := meshsync.Mesh{TrustDomains: c.domains}
			if len(c.domains) > 0 {
				m.TrustDomain = c.domains[0]
			}
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "shop", Annotations: c.annotations}}
			var got []string
			for _, n := range namesOf(m, svc, c.account) {
				if n.Kind == lbmodel.SANDNS {
					n.Value = "DNS " + n.Value
				}
				got = append(got, n.Value)
			}
			diff(t, got, c.want, c.why)
		})
	}
}

// A pod that names no ServiceAccount runs as "default".
func TestDefaultAccount(t *testing.T) {
	in := shop(t, shopService, wide("STRICT"), `{apiVersion: v1, kind: Pod, metadata: {name: shop-1, namespace: apps}, spec: {`+proxy+`}}`)
	diff(t, in.Names, []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://cluster.local/ns/apps/sa/default"}}, "the certificate names it")
	diff(t, in.Account, meshsync.Account{Namespace: "apps", Name: "default"}, "")
}

// A pod of another namespace behind the Service's address is not sent anything.
func TestForeignPod(t *testing.T) {
	d, w := Dialect{}, meshtest.Parse(t, shopService, shopPod, wide("STRICT"))
	pod := w.Pod("apps", "shop-1")
	pod.Namespace = "evil"
	in := d.Inbound(w, d.Mesh(w), w.Port("apps", "shop"), pod)
	if len(in.Chains) > 0 || in.Plain || in.Blocked != meshsync.ReasonIdentityUnknown {
		t.Errorf("got %+v, want nothing sent there", in)
	}
}
