package translate

import (
	"encoding/json"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// class is a GatewayClass of ours and what its parameters make of it.
type class struct {
	obj        *gwv1.GatewayClass
	controller gwv1.GatewayController
	provider   string
	params     v1alpha1.GatewayParametersSpec // defaulted
	settings   json.RawMessage                // the provider's section
	features   lbmodel.Features
	everything bool   // no Offers: every feature can be had
	problem    string // why no gateway can be made of it: InvalidParameters
}

// offersOf asks the class's provider what it offers with the class's settings.
func (x *Index) offersOf(c *class) {
	c.everything = x.options.Offers == nil
	if c.everything {
		return
	}
	var findings []lbmodel.Finding
	c.features, findings = x.options.Offers(c.provider, c.settings)
	if len(findings) > 0 && c.problem == "" {
		c.problem = findings[0].Detail
	}
}

// offers says whether the class's provider has a feature.
func (c *class) offers(f lbmodel.Feature) bool { return c.everything || c.features.Offers(f) }

// claims says whether it has it as conformance tests want it.
func (c *class) claims(f lbmodel.Feature) bool { return c.everything || c.features.Claims(f) }

// classOf resolves a class. ok is false when it does not exist or is not ours.
func (x *Index) classOf(name string) (c class, ok bool) {
	c.obj, ok = lookup[*gwv1.GatewayClass](x, KindGatewayClass, "", name)
	if !ok {
		return c, false
	}
	c.controller = c.obj.Spec.ControllerName
	if c.provider, ok = x.options.provider(c.controller); !ok {
		return c, false
	}
	c.params, c.settings, c.problem = x.classParameters(c)
	x.offersOf(&c)
	return c, true
}

func (x *Index) classParameters(c class) (v1alpha1.GatewayParametersSpec, json.RawMessage, string) {
	ref := c.obj.Spec.ParametersRef
	if ref == nil {
		return defaulted(v1alpha1.GatewayParametersSpec{}), nil, ""
	}
	if ref.Namespace == nil {
		return defaulted(v1alpha1.GatewayParametersSpec{}), nil,
			"spec.parametersRef.namespace is not set: GatewayParameters live in a namespace"
	}
	p, problem := x.parameters(string(ref.Group), string(ref.Kind), string(*ref.Namespace), ref.Name)
	if problem != "" {
		return defaulted(v1alpha1.GatewayParametersSpec{}), nil, "spec.parametersRef: " + problem
	}
	settings, problem := section(p.Spec, c.provider)
	return defaulted(p.Spec), settings, problem
}

// gatewayClass is the class of a gateway if it is ours.
func (x *Index) gatewayClass(key Key) (c class, g *gwv1.Gateway, ok bool) {
	g, ok = lookup[*gwv1.Gateway](x, key.Kind, key.Namespace, key.Name)
	if !ok {
		return c, nil, false
	}
	c, ok = x.classOf(string(g.Spec.GatewayClassName))
	return c, g, ok
}

// isOurs says whether a gateway exists and is of a class of ours.
func (x *Index) isOurs(key Key) bool {
	if key.Kind == KindService {
		_, _, ok := x.balanced(key)
		return ok
	}
	g, ok := lookup[*gwv1.Gateway](x, key.Kind, key.Namespace, key.Name)
	if !ok {
		return false
	}
	c, ok := lookup[*gwv1.GatewayClass](x, KindGatewayClass, "", string(g.Spec.GatewayClassName))
	return ok && x.ours(c.Spec.ControllerName)
}

// Gateways are the Gateways of our classes, and the Services that have a load
// balancer of ours or ask for one, sorted by kind, namespace and name.
func (x *Index) Gateways() []Key {
	var out []Key
	for _, c := range x.classes() {
		for key := range x.at(Key{Kind: kindOfClass, Name: c.obj.Name}).parts.all() {
			out = append(out, key)
		}
	}
	for key := range x.at(Key{Kind: kindBalanced}).parts.all() {
		out = append(out, key)
	}
	slices.SortFunc(out, compareKeys)
	return out
}

// classes are our classes, sorted by name.
func (x *Index) classes() []class {
	var out []class
	for _, obj := range partsOf[*gwv1.GatewayClass](x.at(Key{Kind: kindClasses}).parts) {
		if c, ok := x.classOf(obj.Name); ok {
			out = append(out, c)
		}
	}
	return out
}
