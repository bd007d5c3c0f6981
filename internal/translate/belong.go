package translate

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// Has says whether there is an object of that name.
func (x *Index) Has(key Key) bool { return x.at(key).obj != nil }

// Object is the object of that name, of a Snapshot's types; nil when there is none.
// It is shared and must not be changed.
func (x *Index) Object(key Key) any { return x.at(key).obj }

// Under is the index by other options, which must name the same controllers and the
// same provider of Services: what is whose does not change.
func (x *Index) Under(o Options) *Index {
	next := *x
	next.options, next.meshes = o, newMeshMemory()
	return &next
}

// Belonging is whose a Gateway is. A Service's class is its loadBalancerClass,
// which needs no object: ClassExists says whether we can tell whose the Service is.
type Belonging struct {
	Exists      bool   // there is such a Gateway
	Class       string // that it names
	ClassExists bool
	Controller  string // that its class names
	Ours        bool   // the controller is one of ours
}

// Belonging tells whose a Gateway is. A Gateway whose class is not there may be
// ours or not: nobody can say.
func (x *Index) Belonging(gateway Key) Belonging {
	if gateway.Kind == KindService {
		return x.serviceBelonging(gateway)
	}
	g, ok := lookup[*gwv1.Gateway](x, gateway.Kind, gateway.Namespace, gateway.Name)
	if !ok {
		return Belonging{}
	}
	out := Belonging{Exists: true, Class: string(g.Spec.GatewayClassName)}
	c, ok := lookup[*gwv1.GatewayClass](x, KindGatewayClass, "", out.Class)
	if !ok {
		return out
	}
	out.ClassExists, out.Controller, out.Ours = true, string(c.Spec.ControllerName), x.ours(c.Spec.ControllerName)
	return out
}
