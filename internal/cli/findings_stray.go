package cli

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// strays are warnings about routes that name a Gateway or ListenerSet which the
// files do not hold. No gateway has such a route, so no gateway's findings tell.
func strays(s translate.Snapshot) []lbmodel.Finding {
	parents := parentsIn(s)
	var out []lbmodel.Finding
	for _, r := range routesIn(s) {
		for _, ref := range r.refs {
			key := parentKey(r.about.Namespace, ref)
			if parents[key] || key.Kind != translate.KindGateway && key.Kind != translate.KindListenerSet {
				continue
			}
			out = append(out, lbmodel.Finding{
				About: r.about, Condition: string(gwv1.RouteConditionAccepted), Reason: string(gwv1.RouteReasonNoMatchingParent), Code: lbmodel.CodeOK,
				Detail: fmt.Sprintf("parentRefs names %s %s/%s, and there is no such %s in the files: the route is served by nobody through it; check name and namespace, or add the file", key.Kind, key.Namespace, key.Name, key.Kind),
			})
		}
	}
	return out
}

func parentsIn(s translate.Snapshot) map[translate.Key]bool {
	out := map[translate.Key]bool{}
	for _, g := range s.Gateways {
		out[translate.Key{Kind: translate.KindGateway, Namespace: g.Namespace, Name: g.Name}] = true
	}
	for _, l := range s.ListenerSets {
		out[translate.Key{Kind: translate.KindListenerSet, Namespace: l.Namespace, Name: l.Name}] = true
	}
	return out
}

// parentKey is the object that a parentRef names: by default a Gateway of the
// route's own namespace.
func parentKey(namespace string, ref gwv1.ParentReference) translate.Key {
	key := translate.Key{Kind: translate.KindGateway, Namespace: namespace, Name: string(ref.Name)}
	if ref.Namespace != nil {
		key.Namespace = string(*ref.Namespace)
	}
	if ref.Kind != nil {
		key.Kind = string(*ref.Kind)
	}
	if ref.Group != nil && *ref.Group != gwv1.GroupName {
		key.Kind = string(*ref.Group) + "/" + key.Kind // another API's: not ours to judge
	}
	return key
}

type attachable struct {
	about lbmodel.Source
	refs  []gwv1.ParentReference
}

func routesIn(s translate.Snapshot) []attachable {
	var out []attachable
	for _, r := range s.HTTPRoutes {
		out = append(out, attachable{lbmodel.Source{Kind: "HTTPRoute", Namespace: r.Namespace, Name: r.Name}, r.Spec.ParentRefs})
	}
	for _, r := range s.GRPCRoutes {
		out = append(out, attachable{lbmodel.Source{Kind: "GRPCRoute", Namespace: r.Namespace, Name: r.Name}, r.Spec.ParentRefs})
	}
	for _, r := range s.TLSRoutes {
		out = append(out, attachable{lbmodel.Source{Kind: "TLSRoute", Namespace: r.Namespace, Name: r.Name}, r.Spec.ParentRefs})
	}
	for _, r := range s.TCPRoutes {
		out = append(out, attachable{lbmodel.Source{Kind: "TCPRoute", Namespace: r.Namespace, Name: r.Name}, r.Spec.ParentRefs})
	}
	for _, r := range s.UDPRoutes {
		out = append(out, attachable{lbmodel.Source{Kind: "UDPRoute", Namespace: r.Namespace, Name: r.Name}, r.Spec.ParentRefs})
	}
	return out
}
