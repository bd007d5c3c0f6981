package demo

import (
	"context"
	"errors"

	discoveryv1 "k8s.io/api/discovery/v1"
)

type endpointSlice = *discoveryv1.EndpointSlice

// model shows what the manifests mean before anything is done.
func (d *demo) model(context.Context) error {
	gateways := d.stack.Loop.Gateways()
	if len(gateways) == 0 {
		return errors.New("the demo's own files hold no gateway")
	}
	d.chapter("What the manifests mean: examples/shop, with team checkout in a mesh")
	d.printModel(gateways[0].Served, gateways[0].Findings)
	return nil
}
