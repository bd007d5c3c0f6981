package translate

import (
	"encoding/json"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// TestUnverified: a provider that verifies no backend encrypts without, if and only if
// the operator has named that floor, and both the policy and the route say so.
func TestUnverified(t *testing.T) {
	const text = `
kind: GatewayClass
metadata: {name: floored, generation: 1}
spec:
  controllerName: gatehouse.dev/fake
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: class, namespace: apps}
---
kind: GatewayParameters
metadata: {name: class, namespace: apps}
spec: {CLASS fake: {}}
---
kind: GatewayParameters
metadata: {name: p, namespace: apps}
spec: {OWN fake: {}}
---
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 1}
spec:
  gatewayClassName: floored
  infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: p}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
kind: ConfigMap
metadata: {name: ca, namespace: apps}
data: {ca.crt: "@ca1"}
---
kind: BackendTLSPolicy
metadata: {name: p, namespace: apps, generation: 1}
spec:
  targetRefs: [{group: "", kind: Service, name: a}]
  validation: {hostname: a.internal.test, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: a, port: 80}]}]}
`
	neither := []lbmodel.Feature{lbmodel.FeatureHTTP, lbmodel.FeatureBackendTLSUnverified}
	for _, c := range []struct {
		name, why, class, own string // minimumBackendTLS
		offers                []lbmodel.Feature
		level                 lbmodel.TLSLevel // of the model's hop
		said                  string           // by the policy
	}{
		{"no floor", "nobody said that it will do: Restrict refuses it", "None", "None", neither, lbmodel.TLSServerOnly, ""},
		{"the floor is named", "", "Unverified", "None", neither, lbmodel.TLSUnverified, "encrypted and not verified"},
		{"a higher floor", "Restrict refuses it", "ServerOnly", "None", neither, lbmodel.TLSServerOnly, ""},
		{"the author wants more", "Restrict refuses it", "Unverified", "ServerOnly", neither, lbmodel.TLSServerOnly, ""},
		{"the author wants less", "that is not the author's to say", "None", "Unverified", neither, lbmodel.TLSServerOnly, ""},
		{"it can be verified", "a floor is not a wish", "Unverified", "None", append(neither, lbmodel.FeatureBackendTLSTrust), lbmodel.TLSServerOnly, ""},
		{"by the system's roots", "roots of one's own are refused by name", "Unverified", "None", append(neither, lbmodel.FeatureBackendTLSSystem), lbmodel.TLSServerOnly, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			o.Offers = func(string, json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
				f := lbmodel.Features{Has: map[lbmodel.Feature]lbmodel.Support{}}
				for _, name := range c.offers {
					f.Has[name] = lbmodel.Yes
				}
				return f, nil
			}
			x := New(snapshotOf(decode(t, readFile(t, "common.yaml")+"\n---\n"+strings.NewReplacer("CLASS", "minimumBackendTLS: "+c.class+",", "OWN", "minimumBackendTLS: "+c.own+",").Replace(text))...), o)
			results := translateAll(t, x)
			model := results[Key{KindGateway, "apps", "edge"}].Gateway
			if len(model.Pools) != 1 || model.Pools[0].TLS.Level() != c.level {
				t.Fatalf("the hop is %+v, want %s; %s", model.Pools, c.level, c.why)
			}
			said, level := "", ""
			for _, p := range Status(x, results, appliedOutcomes(results), now()) {
				switch s := p.Status.(type) {
				case *gwv1.PolicyStatus:
					said = message(s.Ancestors[0].Conditions, CondBackendTLS)
				case *gwv1.HTTPRouteStatus:
					level = message(s.Parents[0].Conditions, CondBackendTLS)
				}
			}
			if !strings.Contains(said, c.said) || c.said == "" && said != "" {
				t.Errorf("the policy says %q, want %q", said, c.said)
			}
			if !strings.Contains(level, string(c.level)) {
				t.Errorf("the route says %q, want %s", level, c.level)
			}
		})
	}
}
