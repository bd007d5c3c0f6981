package meshsync_test

import (
	"testing"

	"gatehouse.dev/meshsync"
	consulmesh "gatehouse.dev/meshsync/consul"
	istiomesh "gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/meshtest"
	spiffemesh "gatehouse.dev/meshsync/spiffe"
)

// TestMeshOf: a trust domain that somebody names counts where the mesh does not say it
// itself. Why this table: it is in the names that backends are verified by.
func TestMeshOf(t *testing.T) {
	const spire = "kind: ConfigMap\napiVersion: v1\nmetadata: {namespace: spire, name: spire-server}\ndata: {server.conf: '{\"server\": {\"trust_domain\": \"own.test\"}}'}"
	for _, tt := range []struct {
		name, text, told, want string
		dialect                meshsync.Dialect
	}{
		{"Consul's, which nobody knows", spire, "", "", consulmesh.Dialect{}},
		{"Consul's, named", spire, "1.consul", "1.consul", consulmesh.Dialect{}},
		{"Consul's, named on the command line too", spire, "1.consul", "2.consul", consulmesh.Dialect{TrustDomain: "2.consul"}},
		{"SPIRE's, which says it", spire, "told.test", "own.test", spiffemesh.Dialect{}},
		{"SPIRE's, elsewhere", "kind: ConfigMap\napiVersion: v1\nmetadata: {namespace: a, name: b}", "told.test", "told.test", spiffemesh.Dialect{}},
		{"Istio's, which says it", spire, "told.test", "cluster.local", istiomesh.Dialect{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := meshsync.MeshOf(tt.dialect, meshtest.Parse(t, tt.text), tt.told)
			if m.TrustDomain != tt.want {
				t.Errorf("the trust domain is %q, want %q", m.TrustDomain, tt.want)
			}
			id, _ := meshsync.NameOf(tt.dialect, m, meshsync.Account{Namespace: "n", Name: "a"})
			if want := "spiffe://" + tt.want + "/"; id[:len(want)] != want {
				t.Errorf("a gateway is %s, want %s…", id, want)
			}
		})
	}
}
