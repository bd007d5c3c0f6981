package cases

import (
	"encoding/json/v2"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// shuffle writes all objects into one file, in a random order, in place of their
// own files.
func (h *harness) shuffle(seed uint64) {
	h.Helper()
	var docs []string
	for id, f := range h.objects {
		text, err := yaml.Marshal(f)
		if err == nil {
			err = os.Remove(h.file(id))
		}
		if err != nil {
			h.Fatal(err)
		}
		docs = append(docs, string(text))
	}
	rand.New(rand.NewPCG(67, seed)).Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	if err := os.WriteFile(filepath.Join(h.dir, "all.yaml"), []byte(strings.Join(docs, "---\n")), 0o600); err != nil {
		h.Fatal(err)
	}
}

// unshuffle gives every object its own file again.
func (h *harness) unshuffle() {
	h.Helper()
	for id := range h.objects {
		h.write(id)
	}
	if err := os.Remove(filepath.Join(h.dir, "all.yaml")); err != nil {
		h.Fatal(err)
	}
}

// many is a fixture with something of every kind: 200 hosts, 200 endpoints, a
// certificate, roots and a client certificate.
func many(t *testing.T) (h *harness, secret string) {
	h = begin(t)
	h.local.StateDir = t.TempDir()
	ca := newAuthority(t, "ca")
	site, me := ca.issue(t, "shop.test"), ca.issue(t, "me.test")
	h.tlsBackend("safe", ca.issue(t, "safe.internal.test"), ca)
	h.put(strings.TrimRight(gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`,
		`{name: https, port: 443, protocol: HTTPS, hostname: shop.test, tls: {certificateRefs: [{name: site}]}}`), "\n")+`
  tls: {backend: {clientCertificateRef: {name: me}}}
`, secretYAML("apps", "site", site), secretYAML("apps", "me", me), policyYAML("safe", "ConfigMap", "ca"), h.configMap("ca", "ca.crt", ca.pem()),
		routeYAML("safe", "  hostnames: [safe.test]\n  rules: [{backendRefs: [{name: safe, port: 80}]}]"),
		serviceYAML("crowd", ""), sliceYAML("crowd", crowd(200)...), routeYAML("crowd", "  hostnames: [crowd.test]\n  rules: [{backendRefs: [{name: crowd, port: 80}]}]"))
	for i := 0; i < 200; i += 16 {
		h.put(hostRoute(i, min(16, 200-i)))
	}
	return h, string(me.keyPEM)
}

// hostRoute is a route with n hosts from first on; 16 is the most there can be.
func hostRoute(first, n int) string {
	var hosts []string
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("h%d.test", first+i))
	}
	return routeYAML(fmt.Sprint("hosts-", first), "  hostnames: ["+strings.Join(hosts, ", ")+"]\n  rules: [{backendRefs: [{name: a, port: 80}, {name: b, port: 80}]}]")
}

// crowd are addresses that nobody has (RFC 5737).
func crowd(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("198.51.100.%d", i+1))
	}
	return out
}

// TestC67 does nothing when nothing is to be done. Noise in a plan hides the one
// line that matters, and calls that change nothing use up a cloud's quota.
func TestC67(t *testing.T) {
	h, secret := many(t)
	h.apply()
	if !h.last.Settled {
		t.Fatalf("not settled: %v", h.last.Failed)
	}
	plan, err := json.Marshal(h.last.Plan)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(secret) {
		if body := strings.TrimSpace(line); !strings.HasPrefix(body, "-----") && strings.Contains(string(plan), body) {
			t.Error("key bytes are in the plan")
		}
	}
	if keys := h.reload(); len(keys) > 0 {
		t.Errorf("our own statuses, written into the files, concern gateways %v", keys)
	}
	h.nothingToDo("the same again, with statuses in the files")

	h.shuffle(1)
	h.nothingToDo("the documents are shuffled")
	h.unshuffle()
	for _, id := range []object{named("Gateway", "edge"), named("HTTPRoute", "hosts-16"), named("Service", "a")} {
		h.objects[id]["metadata"].(fields)["annotations"] = fields{"shop.test/touched": "yes"}
		h.write(id)
	}
	h.nothingToDo("annotations are touched that mean nothing here")
	spec := h.objects[named("HTTPRoute", "hosts-32")]["spec"].(fields)
	spec["rules"] = []any{fields{
		"matches":     []any{fields{"path": fields{"type": "PathPrefix", "value": "/"}}},
		"backendRefs": []any{fields{"group": "", "kind": "Service", "name": "a", "port": 80, "weight": 1}, fields{"name": "b", "port": 80, "weight": 1}},
	}}
	h.write(named("HTTPRoute", "hosts-32"))
	h.nothingToDo("defaults are written out")

	before := h.export()
	h.close()
	h.shuffle(2)
	h.open()
	h.stack.Local.Cloud.Intercept(spoil(func(c cloud.Call) cloud.Fault { return cloud.Fault{Kind: cloud.Reorder} }))
	h.nothingToDo("a new process, and a cloud that lists in another order")
	if after := h.export(); after != before {
		t.Error("the model is not the same, byte by byte, after a restart with shuffled documents")
	}
}

// export is gateway edge's model as canonical JSON.
func (h *harness) export() string {
	h.Helper()
	text, err := json.Marshal(h.gateway("edge"), json.Deterministic(true))
	if err != nil {
		h.Fatal(err)
	}
	return string(text)
}

// TestC67One adds one to two hundred, and one thing changes.
func TestC67One(t *testing.T) {
	h, _ := many(t)
	h.apply()
	for _, c := range []struct {
		name, doc, kind string
		verb            lbmodel.Verb
		why             string
	}{
		{"a host", hostRoute(192, 9), "Rule", lbmodel.Create, "is new"},
		{"an endpoint", sliceYAML("crowd", crowd(201)...), "EndpointGroup", lbmodel.Update, `+ endpoints["198.51.100.201"]`},
	} {
		h.put(c.doc)
		p := h.plan()
		if len(p.Steps) != 1 || p.Steps[0].Verb != c.verb || p.Steps[0].ID.Kind != c.kind {
			t.Errorf("%s: want one step, %s %s; got:\n%s", c.name, c.verb, c.kind, planText(p))
			continue
		}
		if why := p.Steps[0].Why; !strings.HasPrefix(why, c.why) || strings.Count(why, "198.51.100.") > 2 {
			t.Errorf("%s: the plan says %q, want %q", c.name, why, c.why)
		}
		h.apply()
		h.nothingToDo(c.name + " is there")
	}
}

// TestC67PlanOnly tells what would be done and does nothing, where parameters say
// so; the Gateway beside it is not held back.
func TestC67PlanOnly(t *testing.T) {
	own := strings.TrimRight(gatewayYAML("careful", `{name: http, port: 80, protocol: HTTP}`), "\n") + `
  infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: careful}}
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: careful, namespace: apps}
spec: {apply: PlanOnly, fake: {}}
`
	h := begin(t, own, routeYAML("r", "  rules: [{backendRefs: [{name: a, port: 80}]}]"))
	if p := h.apply(); h.last.Settled || !strings.Contains(planText(p), "apps-careful") {
		t.Errorf("settled: %v; the plan:\n%s", h.last.Settled, planText(p))
	}
	if left := h.owned("careful"); len(left) > 0 {
		t.Errorf("%d objects were made for a gateway that is only planned", len(left))
	}
	h.expect("Gateway", "careful", whole, "gatehouse.dev/InSync", "False/Drifted", "PlanOnly")
	h.expect("Gateway", "edge", whole, "gatehouse.dev/InSync", "True/InSync")
	answers{"http://x.test/": "a"}.check(h)
}
