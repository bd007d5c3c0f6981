package gcp

import (
	"encoding/json"
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// Why: Google Cloud is a provider like any other, and keeps the same laws, in two places
// between which gateways move.
func TestLaws(t *testing.T) {
	providertest.Run(t, harness(`{"project":"my-project","flavour":"RegionalExternal","location":%[1]q,"zones":["%[1]s-b"],"endpointType":"NON_GCP_PRIVATE_IP_PORT","firewall":"None"}`, "europe-west1", "us-central1"))
}

// every is of how many calls at which a process may end one is tried. All of them, -args
// -every=1, take minutes.
var every = flag.Int("every", 160, "try the laws at one of so many `calls`")

// seed tells clients apart.
var seed atomic.Int64

func harness(settings string, locations ...string) providertest.Harness {
	return providertest.Harness{
		New:       func(tb testing.TB, env providertest.Env) providertest.World { return newProjectWorld(tb, env) },
		Settings:  func(location string) json.RawMessage { return json.RawMessage(fmt.Sprintf(settings, location)) },
		Locations: locations,
		Every:     *every,
	}
}

func newProjectWorld(tb testing.TB, env providertest.Env) *projectWorld {
	w := &projectWorld{
		Server: gcpapi.New(gcpapi.Config{Clock: clockOf(env.Now), Projects: []store.Project{{ID: testProject, Number: "123456789012"}}}),
		keys:   env.Keyring, now: env.Now, tb: tb,
	}
	w.addForeign(tb)
	return w
}

// addForeign fills the project with what is nearly ours: another cluster's gateway of the
// same name, and things without a description of ours.
func (w *projectWorld) addForeign(tb testing.TB) {
	p := w.client(w)
	for path, body := range map[string]string{
		"projects/my-project/regions/europe-west1/addresses/theirs":                     `{}`,
		"projects/my-project/regions/europe-west1/healthChecks/theirs":                  `{"type":"TCP","tcpHealthCheck":{"port":80},"description":"theirs"}`,
		"projects/my-project/zones/europe-west1-b/networkEndpointGroups/apps-a-80-aaaa": `{"networkEndpointType":"NON_GCP_PRIVATE_IP_PORT"}`,
	} {
		op := must2(p.calls.Insert(tb.Context(), path, []byte(body)))(tb)
		if err := p.calls.Wait(tb.Context(), op); err != nil {
			tb.Fatal(err)
		}
	}
	w.addCluster(tb, p)
}

// addCluster applies another cluster's gateway of the same name as ours.
func (w *projectWorld) addCluster(tb testing.TB, p *Provider) {
	gw := lbmodel.Gateway{
		Owner:    lbmodel.Owner{Cluster: "other", Kind: "Gateway", Namespace: "apps", Name: "gw0", UID: "uid-other"},
		Settings: json.RawMessage(`{"project":"my-project","flavour":"RegionalExternal","location":"europe-west1","zones":["europe-west1-b"],"endpointType":"NON_GCP_PRIVATE_IP_PORT","firewall":"None"}`),
		Pools: []lbmodel.Pool{{Name: "p0", Group: "apps/a:80", Protocol: lbmodel.PoolHTTP1, Source: lbmodel.Source{Kind: "Service", Name: "a"},
			Endpoints: []lbmodel.Endpoint{{Address: "10.0.9.9", Port: 80, Ready: true}}}},
		Listeners: []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Rules: []lbmodel.Rule{{
			Source: lbmodel.Source{Kind: "HTTPRoute", Name: "r"}, Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "p0", Weight: 1}}}},
		}}}},
	}
	account := providers.NewAccount(providers.Config{Provider: p, Cluster: gw.Owner.Cluster, Parallel: 1, Clock: providers.Clock{Now: w.now}})
	account.Want(gw)
	plan := must2(account.Plan(tb.Context(), []lbmodel.Owner{gw.Owner}))(tb)
	if err := account.Apply(tb.Context(), plan, nil).Err(); err != nil {
		tb.Fatal(err)
	}
}

// must2 is a call whose error ends the test.
func must2[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		return must(tb, v, err)
	}
}
