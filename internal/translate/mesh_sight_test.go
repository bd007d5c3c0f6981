package translate

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// meshed is the only pool of the gateway edge that a binding has to do with.
func meshedPool(t *testing.T, results map[Key]Result) (gateway Key, pool string) {
	t.Helper()
	for _, key := range slices.SortedFunc(maps.Keys(results), compareKeys) {
		for _, p := range results[key].Gateway.Pools {
			if p.TLS != nil && p.TLS.Source.Kind == KindMeshBinding {
				return key, p.Name
			}
		}
	}
	t.Fatal("no pool is reached as a member")
	return gateway, pool
}

// TestSights: what probes see reaches the conditions of whom it is about, and the
// trust; it never opens or closes anything by itself.
func TestSights(t *testing.T) {
	x := indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml"))
	results := translateAll(t, x)
	gateway, pool := meshedPool(t, results)
	binding := results[gateway].Meshes[0].Binding.Name
	for _, c := range []struct {
		name, why string
		sight     Sight
		concerned int
		route     string // condition BackendTLS
		service   string
	}{
		{"nothing to tell", "a probe that is well is no news", Sight{}, 0, "True/ProtectedWithLosses", "True/ProtectedWithLosses"},
		{"it fails", "and says how", Sight{Pools: []PoolSight{{gateway, pool, true, "wrong CA: of nobody"}}}, 1, "False/ProbeFailed", "False/ProbeFailed"},
		{"nobody could see", "which proves nothing", Sight{Pools: []PoolSight{{gateway, pool, false, "unreachable: no way"}}}, 1, "True/ProtectedWithLosses", "True/ProtectedWithLosses"},
		{"another gateway's", "it has another certificate", Sight{Pools: []PoolSight{{Key{KindGateway, "apps", "nobody"}, pool, true, "wrong CA"}}}, 0, "True/ProtectedWithLosses", "True/ProtectedWithLosses"},
		{"roots in use", "they concern all members, and no condition", Sight{Seen: []string{"aa", "bb"}}, 1, "True/ProtectedWithLosses", "True/ProtectedWithLosses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.sight.Binding = binding
			next, concerned := x.With(Change{Put: []any{&c.sight}})
			if len(concerned) != c.concerned {
				t.Errorf("%v are concerned, want %d: %s", concerned, c.concerned, c.why)
			}
			seen := translateAll(t, next)
			if got := seen[gateway].Meshes[0].Trust.Seen; !slices.Equal(got, c.sight.Seen) {
				t.Errorf("the trust has seen %v, want %v", got, c.sight.Seen)
			}
			if a, b := len(results[gateway].Gateway.Pools), len(seen[gateway].Gateway.Pools); a != b {
				t.Errorf("%d pools instead of %d: %s", b, a, c.why)
			}
			text := ""
			if len(c.sight.Pools) > 0 && c.concerned > 0 {
				text = "the probe says: " + c.sight.Pools[0].Text
			}
			for _, p := range Status(next, seen, nil, now()) {
				if s, is := p.Status.(*gwv1.HTTPRouteStatus); is {
					wantTLS(t, "the route", sayingOf(s.Parents[0].Conditions, "gatehouse.dev/BackendTLS"), c.route, text)
				}
			}
			for _, p := range ServiceTLS(next, seen, now()) {
				wantTLS(t, "the Service", sayingOf(p.Status.(*corev1.ServiceStatus).Conditions, "fake.gatehouse.dev/BackendTLS"), c.service, text)
			}
			gone, concerned := next.With(Change{Delete: []Key{{Kind: KindSight, Name: binding}}})
			if len(concerned) != c.concerned || gone.sight(binding) != nil {
				t.Errorf("%v are concerned when it goes, want %d", concerned, c.concerned)
			}
		})
	}
}

func wantTLS(t *testing.T, where, got, want, text string) {
	t.Helper()
	if !strings.HasPrefix(got, want+" ") || !strings.HasSuffix(got, text) {
		t.Errorf("%s says %q, want %s and %q", where, got, want, text)
	}
}

// sayingOf is what one condition says; "" is that it is not there.
func sayingOf(all []metav1.Condition, kind string) string {
	for _, c := range all {
		if c.Type == kind {
			return string(c.Status) + "/" + c.Reason + " " + c.Message
		}
	}
	return ""
}

// TestPendingForProof: nobody is asked for a certificate before a pod was seen to take
// the gateway, and MeshMember says what is in the way.
func TestPendingForProof(t *testing.T) {
	x := indexOf(t, readFile(t, "mesh-istio-strict", "in.yaml"))
	gateway, pool := meshedPool(t, translateAll(t, x))
	const says = "wrong SAN: of nobody"
	x, _ = x.With(Change{Put: []any{&Sight{Binding: "istio", Pools: []PoolSight{{gateway, pool, true, says}}}}})
	results := translateAll(t, x)
	v := (&statusWriter{x: x, results: results, outcomes: map[Key]Outcome{gateway: {}}, now: now()}).view(gateway, results[gateway])
	got, _ := v.meshMember(verdict{})
	if got.reason != reasonIdentityPending || !strings.HasSuffix(got.message, ": the probe says: "+says) {
		t.Errorf("MeshMember says %s: %s", got.reason, got.message)
	}
}

// TestMemberCounts: a group that a probe sees fail, or whose mesh refuses the gateway, is
// not reached, however it should be; and who has lost a backend to another binding says
// to whom.
func TestMemberCounts(t *testing.T) {
	text := readFile(t, "mesh-istio-strict", "in.yaml")
	gateway, pool := meshedPool(t, translateAll(t, indexOf(t, text)))
	fails := &Sight{Binding: "istio", Pools: []PoolSight{{gateway, pool, true, "wrong CA: of nobody"}}}
	second := text[strings.Index(text, "kind: MeshBinding"):strings.Index(text, "kind: Service")]
	const group = "MeshBinding/istio: groups of pods reached as a member: "
	const refused = "0, 1 that do not take the gateway (gatehouse.dev/BackendTLS of the routes says why)"
	for _, c := range []struct {
		name, more string
		put        []any
		want       string
	}{
		{"reached", "", nil, group + "1"},
		{"a probe fails", "", []any{fails}, group + refused},
		{"a policy refuses", "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: p, namespace: apps}\nspec: {}", nil, group + refused},
		{"two bindings", strings.ReplaceAll(second, "name: istio", "name: second"), nil,
			group + "1; MeshBinding/second: groups of pods reached as a member: 0; backends of another MeshBinding, which comes first by name: apps/a:80 is with MeshBinding istio"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, text+"\n---\n"+c.more)
			x, _ = x.With(Change{Put: c.put})
			results := translateAll(t, x)
			leaf := lbmodel.Leaf{NotBefore: now().Add(-time.Hour), NotAfter: now().Add(time.Hour)}
			outcome := Outcome{Leaves: map[string]lbmodel.Leaf{"MeshBinding/istio": leaf}}
			v := (&statusWriter{x: x, results: results, outcomes: map[Key]Outcome{gateway: outcome}, now: now()}).view(gateway, results[gateway])
			if got, _ := v.meshMember(verdict{}); got.reason != reasonJoined || got.message != c.want {
				t.Errorf("MeshMember says %s: %s\nwant %s", got.reason, got.message, c.want)
			}
		})
	}
}
