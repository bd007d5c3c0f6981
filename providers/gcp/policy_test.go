package gcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// beside are permissions that the emulator does not ask for and IAM does
// [compute/docs/reference/rest/v1, certificate-manager/docs/access-control].
var beside = []string{
	"compute.networks.updatePolicy",           // firewalls.insert, patch and delete
	"compute.instances.use",                   // attachNetworkEndpoints of instances
	"compute.regions.get",                     // a region's quotas, once one is reached
	"compute.sslPolicies.use",                 // of proxies, where there is gcp.sslPolicy
	"compute.regionSslPolicies.use",           // likewise
	"compute.zoneOperations.get",              // operations that last
	"compute.regionOperations.get",            // likewise
	"compute.globalOperations.get",            // likewise
	"certificatemanager.operations.get",       // likewise
	"networksecurity.operations.get",          // likewise
	"networkservices.operations.get",          // likewise
	"compute.regionTargetTcpProxies.use",      // a forwarding rule that is led to another one
	"compute.globalNetworkEndpointGroups.get", // what an earlier try may have made
	"compute.regionTargetHttpProxies.get",     // likewise
	"compute.regionTargetTcpProxies.get",      // likewise
	"compute.targetTcpProxies.get",            // likewise
}

// readRole are the permissions of the role that is shipped.
func readRole(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", roleFile))
	if err != nil {
		t.Fatal(err)
	}
	var role struct {
		Title, Description, Stage string
		Permissions               []string `yaml:"includedPermissions"`
	}
	if err := yaml.Unmarshal(text, &role); err != nil || role.Title == "" || role.Stage != "GA" {
		t.Fatalf("%s: %v, %+v", roleFile, err, role)
	}
	return role.Permissions
}

// TestRoleIsWhatIsNeeded: an operator who grants the role gives what the provider asks
// for, and nothing else. Whatever the examples compile to is made, marked, led elsewhere
// and deleted under it, for each flavour.
func TestRoleIsWhatIsNeeded(t *testing.T) {
	role := readRole(t)
	if !slices.Equal(role, Permissions()) {
		t.Errorf("%s and the doctor have different ones", roleFile)
	}
	used := map[string]bool{}
	gateways := map[string]lbmodel.Gateway{}
	for _, path := range goldens(t) {
		gw := readGateway(t, path)
		gateways[filepath.Base(filepath.Dir(path))] = gw
		if filepath.Base(filepath.Dir(path)) != "passthrough" { // UDP, which Restrict would have taken out
			gw.Settings = json.RawMessage(settingsOf("GlobalExternal", ""))
			gw.Pools = slices.Clone(gw.Pools)
			for i := range gw.Pools {
				gw.Pools[i].TLS = nil // global endpoints on the internet have none
			}
			gateways[filepath.Base(filepath.Dir(path))+", globally"] = gw
		}
	}
	for seed := range uint64(8) {
		gateways[fmt.Sprint("seed ", seed)] = newDice(seed).gateway(settingsOf(proxyFlavours()[seed%4], []string{"", assumed}[seed/4]))
	}
	for name, gw := range gateways {
		t.Run(name, func(t *testing.T) {
			gw.Settings = bytes.ReplaceAll(gw.Settings, []byte("projects/host/"), []byte("projects/my-project/"))
			l := newLife(t, gw)
			l.live()
			for _, c := range l.server.Calls() {
				if c.Reason == store.Forbidden {
					t.Errorf("%s is refused: the role does not have %s", c.Method, c.Permission)
				}
				if c.Caller == userAgent && c.Permission != "" {
					used[c.Permission] = true
					for _, use := range c.Uses {
						used[use] = true
					}
				}
			}
		})
	}
	for _, p := range beside {
		used[p] = true
	}
	for _, p := range slices.Sorted(maps.Keys(used)) {
		if !slices.Contains(role, p) {
			t.Errorf("the role does not have %s", p)
		}
	}
	for _, p := range role {
		if !used[p] {
			t.Errorf("the role has %s, which nothing asks for", p)
		}
	}
}

// life takes what a gateway compiles to through its life, without an Account.
type life struct {
	*project
	*Provider
	gw    lbmodel.Gateway
	graph lbmodel.Graph
	steps []lbmodel.Step
	leaf  *lbmodel.Leaf
}

func newLife(t *testing.T, gw lbmodel.Gateway) *life {
	p := newProject(t)
	pair := must2(tls.X509KeyPair([]byte(p.certificate[0]), []byte(p.certificate[1])))(t)
	l := &life{project: p, gw: gw, graph: graphOf(gw, nil), leaf: must2(providers.LeafOf(pair))(t)}
	foreign := p.foreign(l.graph)
	plan := must2(lbmodel.Diff(l.graph, nil, foreign))(t)
	l.steps = plan.Steps
	role := readRole(t)
	p.server.Permit = func(caller, permission string, _ store.Name) bool {
		return caller != userAgent || slices.Contains(role, permission)
	}
	l.Provider = must2(New(Config{Project: testProject, HTTP: p.server, Keyring: func(context.Context, lbmodel.Identity) (tls.Certificate, error) { return pair, nil }}))(t)
	return l
}

func (l *life) resolve(id lbmodel.ID) (lbmodel.Resource, bool) {
	r, ok := l.graph[id]
	return r, ok
}

func (l *life) check(what string, err error) {
	l.Helper()
	if err != nil {
		l.Errorf("%s: %v", what, err)
	}
}

func (l *life) live() {
	ctx := l.Context()
	l.Examine(ctx, []json.RawMessage{l.gw.Settings})
	for _, step := range l.steps {
		if cert, ok := step.Want.(*Certificate); ok {
			step.Want = cert.holding(l.leaf)
		}
		r, err := l.Apply(ctx, l.gw.Owner, step, l.resolve)
		l.check(fmt.Sprint("create ", step.ID), err)
		l.graph[step.ID] = r
	}
	all := must2(l.Observe(ctx, lbmodel.Owner{Cluster: l.gw.Owner.Cluster}, nil))(l)
	for _, step := range l.steps {
		l.touch(ctx, all[step.ID])
	}
	for _, step := range slices.Backward(l.steps) {
		step.Verb, step.Have = lbmodel.Delete, all[step.ID]
		_, err := l.Apply(ctx, l.gw.Owner, step, l.resolve)
		l.check(fmt.Sprint("delete ", step.ID), err)
	}
}

// touch notes something with a resource, and calls the verbs of its own, to no effect.
func (l *life) touch(ctx context.Context, r lbmodel.Resource) {
	if r.Spec == nil {
		return // it was told already
	}
	_, err := l.Mark(ctx, r, time.Unix(1, 0))
	l.check(fmt.Sprint("mark ", r.ID), err)
	path, verb, body := string(r.Handle), "", ""
	switch spec := r.Spec.(type) {
	case *ForwardingRule:
		if spec.Target != "" {
			verb, body = "setTarget", encode(map[string]any{"target": spec.Target.path(testProject)})
		}
	case *TargetHTTPProxy:
		verb, body = "setUrlMap", encode(map[string]any{"urlMap": spec.URLMap.path(testProject)})
	case *NetworkEndpoints:
		if len(spec.Endpoints) > 0 && spec.Endpoints[0].Port != 0 {
			verb, body = "detachNetworkEndpoints", string(must2(Body(spec, testProject))(l))
		}
	}
	if verb == "" {
		return
	}
	op, err := l.calls.Do(ctx, path, verb, []byte(body))
	if err == nil {
		err = l.calls.Wait(ctx, op)
	}
	l.check(verb+" "+path, err)
}
