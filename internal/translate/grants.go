package translate

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// target is what a reference points at.
type target struct{ group, kind, namespace, name string }

// permitted says whether a reference may be followed: always within a namespace,
// and across namespaces where a ReferenceGrant in the target's namespace names
// both ends. Entries of a grant are alternatives, and so are grants.
func (x *Index) permitted(from referrer, to target) bool {
	if from.namespace == to.namespace {
		return true
	}
	for _, obj := range x.at(grantPoint(to.namespace, from.namespace, from.kind)).parts.all() {
		if g, ok := obj.(*gwv1.ReferenceGrant); ok && grants(g, from, to) {
			return true
		}
	}
	return false
}

func grants(g *gwv1.ReferenceGrant, from referrer, to target) bool {
	return grantsFrom(g.Spec.From, from) && grantsTo(g.Spec.To, to)
}

func grantsFrom(list []gwv1.ReferenceGrantFrom, from referrer) bool {
	for _, f := range list {
		if string(f.Group) == groupOf(from.kind) && string(f.Kind) == from.kind && string(f.Namespace) == from.namespace {
			return true
		}
	}
	return false
}

func grantsTo(list []gwv1.ReferenceGrantTo, to target) bool {
	for _, t := range list {
		if string(t.Group) == to.group && string(t.Kind) == to.kind && (t.Name == nil || *t.Name == "" || string(*t.Name) == to.name) {
			return true
		}
	}
	return false
}

// groupOf is the API group of the kinds that refer to others.
func groupOf(kind string) string {
	if kind == KindXBackend {
		return groupGatewayX
	}
	return groupGateway
}
