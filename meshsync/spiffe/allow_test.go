package spiffe

import (
	"strings"
	"testing"

	"gatehouse.dev/meshsync"
)

// TestAllow: a registration entry makes the gateway somebody, and nothing else is known.
func TestAllow(t *testing.T) {
	const entry = "{apiVersion: spire.spiffe.io/v1alpha1, kind: ClusterStaticEntry, metadata: {name: front}, spec: {spiffeID: 'spiffe://corp.example/ns/gatehouse-system/sa/gatehouse-1'}}"
	const command = `spire-server entry create -parentID "$AGENT" -selector k8s:ns:gatehouse-system -selector k8s:sa:gatehouse-controller-manager -spiffeID spiffe://corp.example/ns/gatehouse-system/sa/gatehouse-1 -x509SVIDTTL 86400`
	cases := []struct {
		name, why string
		objects   []string
		agent     bool
		need      meshsync.Need
		says      string
		command   string
	}{
		{"an agent", "entries are in the server's own store", nil, true, meshsync.NeedUnknown, "in no object of the cluster", command},
		{"registered", "", []string{entry}, true, meshsync.NotNeeded, "ClusterStaticEntry front registers", ""},
		{"another is registered", "", []string{strings.Replace(entry, "gatehouse-1", "gatehouse-2", 1)}, true, meshsync.NeedUnknown, "in no object", command},
		{"another signs", "who has its certificate elsewhere needs no entry", nil, false, meshsync.NeedUnknown, "needs no registration entry", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := cluster(t, nil, c.objects...)
			client := w.Client(Dialect{})
			client.Agent = c.agent
			a := w.Allows(Dialect{}, w.Entry("shop", "cart", "cart-1", client))
			got := ""
			for _, o := range a.Offers {
				got += o.Command
			}
			if a.Need != c.need || !strings.Contains(a.Why, c.says) || got != c.command {
				t.Errorf("%s\ngot %s: %s\nwith %q", c.why, a.Need, a.Why, got)
			}
		})
	}
}
