package cloud_test

import (
	"context"
	"fmt"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// A gateway is wanted, planned and applied; then the cloud holds it, and a data
// plane could serve it.
func Example() {
	ctx := context.Background()
	c, err := cloud.New(cloud.Options{AddressDelay: -1, HealthDelay: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	account := providers.NewAccount(providers.Config{Provider: cloud.NewProvider(c, nil), Cluster: "demo"})
	gw := lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "demo", Kind: "Gateway", Namespace: "apps", Name: "edge"},
		Pools: []lbmodel.Pool{{
			Name: "a", Group: "apps/a:80", Protocol: lbmodel.PoolHTTP1,
			Endpoints: []lbmodel.Endpoint{{Address: "10.0.0.1", Port: 8080, Ready: true}},
		}},
		Listeners: []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Rules: []lbmodel.Rule{{
			Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "a", Weight: 1}}}},
		}}}},
	}
	account.Want(gw)
	plan, err := account.Plan(ctx, []lbmodel.Owner{gw.Owner})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome := account.Apply(ctx, plan, nil)
	serving := c.Serving()[0]
	fmt.Println(len(outcome.Done), "steps done")
	fmt.Println(serving.Gateway.Owner, "at", serving.Addresses)
	fmt.Println(serving.Gateway.Pools[0].Endpoints[0].Address)
	// Output:
	// 6 steps done
	// demo/Gateway/apps/edge at [127.71.0.1]
	// 10.0.0.1
}
