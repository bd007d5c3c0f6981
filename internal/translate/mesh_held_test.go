package translate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

// TestHeld: where a SPIFFE agent has the gateways' certificates, what it has now says
// when theirs are due, of one gateway and no other.
func TestHeld(t *testing.T) {
	const socket = "unix:///run/agent.sock"
	text := func(identity string) string {
		return strings.Replace(readFile(t, "mesh-istio-strict", "in.yaml"), "spec: {controllerName", "spec: {identity: {"+identity+"}, controllerName", 1) + `
kind: Gateway
metadata: {name: other, namespace: apps}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
`
	}
	edge := Key{KindGateway, "apps", "edge"}
	// The binding's roots are ca1 and ca2.
	both := "\n---\nkind: ClusterTrustBundle\nmetadata: {name: \"istio.io:istiod-ca:root-cert\"}\nspec: {signerName: istio.io/istiod-ca, trustBundle: \"@ca2\"}\n"
	ca1, ca2 := rootsIn(t, "ca1.pem")[0].KeyID, rootsIn(t, "ca2.pem")[0].KeyID
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	held := func(x *Index) (id lbmodel.Identity) {
		r := translateAll(t, x)[edge]
		for _, id = range r.Gateway.Identities {
			return id
		}
		t.Fatal("the gateway has no identity")
		return id
	}
	const workload = `issuer: WorkloadAPI, socket: "` + socket + `"`
	for _, c := range []struct {
		name, why, identity, socket, id, authority string
		want                                       bool
		concerned                                  int
	}{
		{"the agent's", "", workload, socket, "", ca2, true, 1},
		{"of the process' own agent", "the binding does not say where it is", "issuer: WorkloadAPI", "", "", ca1, true, 1},
		{"of another agent", "it has other entries", workload, "unix:///other", "", ca2, false, 0},
		{"of an authority that is not published", "nobody would take it", workload, socket, "", "ff", false, 1},
		{"of somebody else", "that is no gateway", workload, socket, "spiffe://cluster.local/ns/apps/sa/shop", ca2, false, 0},
		{"where istiod signs", "an agent has nothing to say", "duration: 24h", "", "", ca2, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, text(c.identity)+both)
			before := held(x)
			if before.Renew.Held != nil || len(before.Renew.Authorities) != 2 {
				t.Fatalf("before anything is known: %+v", before.Renew)
			}
			h := &Held{Socket: c.socket, SPIFFEID: c.id, Held: lbmodel.Held{Authority: c.authority, NotBefore: at}}
			if c.id == "" {
				h.SPIFFEID = before.SPIFFEID
			}
			next, keys := x.With(Change{Put: []any{h}})
			want := (*lbmodel.Held)(nil)
			if c.want {
				want = &h.Held
			}
			if diff := cmp.Diff(want, held(next).Renew.Held); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
			if len(keys) != c.concerned || len(keys) == 1 && keys[0] != edge {
				t.Errorf("it concerns %v, want %d, and %s at most", keys, c.concerned, edge)
			}
			again, keys := next.With(Change{Put: []any{&Held{h.Socket, h.SPIFFEID, h.Held}}})
			if len(keys) != 0 {
				t.Errorf("the same again concerns %v", keys)
			}
			gone, keys := again.With(Change{Delete: []Key{HeldKey(h.Socket, h.SPIFFEID)}})
			if len(keys) != c.concerned || held(gone).Renew.Held != nil {
				t.Errorf("when it is gone it concerns %v, and is %+v", keys, held(gone).Renew.Held)
			}
		})
	}
}
