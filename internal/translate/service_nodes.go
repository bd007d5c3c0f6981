package translate

import (
	"net/netip"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
)

// autoscalerTaint marks a node that the cluster autoscaler is about to remove.
const autoscalerTaint = "ToBeDeletedByClusterAutoscaler"

// nodeTarget is what load balancers and endpoints know of a node. Whether it is
// ready is none of it: that is for health checks to find out, and a cluster whose
// nodes all lose touch with the API server must not lose its traffic too.
type nodeTarget struct {
	balanced       bool
	addresses      []netip.Addr // internal ones
	provider, zone string
}

func nodeTargetOf(n *corev1.Node) nodeTarget {
	t := nodeTarget{balanced: takesTraffic(n), provider: n.Spec.ProviderID, zone: zoneOf(n)}
	for _, a := range n.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); err == nil && a.Type == corev1.NodeInternalIP {
			t.addresses = append(t.addresses, ip.Unmap())
		}
	}
	return t
}

// takesTraffic is false for nodes that are excluded by label or about to go.
func takesTraffic(n *corev1.Node) bool {
	excluded, labelled := n.Labels[corev1.LabelNodeExcludeBalancers]
	if labelled {
		is, err := strconv.ParseBool(excluded)
		labelled = err != nil || is // a word that is no boolean excludes, as the label's presence once did
	}
	leaving := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == autoscalerTaint })
	return !labelled && !leaving && n.DeletionTimestamp == nil
}

// sameLocation says whether two versions of a node tell endpoints the same.
func sameLocation(old, obj any) bool {
	o, ok := old.(*corev1.Node)
	n, ok2 := obj.(*corev1.Node)
	return ok && ok2 && o.Spec.ProviderID == n.Spec.ProviderID && zoneOf(o) == zoneOf(n)
}

// nodeEndpoints are the nodes at a port's node port, by their first internal
// address of each family of the Service; of a Service that names no family, by the
// first address there is.
func (f *finder) nodeEndpoints(svc *corev1.Service, port *corev1.ServicePort) endpointSet {
	nodes := partsOf[*corev1.Node](f.x.at(Key{Kind: kindNodes}).parts)
	for _, n := range nodes {
		target := nodeTargetOf(n)
		for _, addr := range target.addressesFor(svc) {
			f.add(lbmodel.Endpoint{Address: addr.String(), Port: port.NodePort, Node: n.Name, Ready: true, Serving: true})
		}
	}
	return f.set(sourceKnown(len(nodes) > 0 || f.x.live))
}

func (t nodeTarget) addressesFor(svc *corev1.Service) (out []netip.Addr) {
	if !t.balanced {
		return nil
	}
	var had []lbmodel.IPFamily
	for _, addr := range t.addresses {
		family := lbmodel.FamilyOf(addr)
		asked := slices.Contains(svc.Spec.IPFamilies, corev1.IPFamily(family)) || len(svc.Spec.IPFamilies) == 0 && len(had) == 0
		if asked && !slices.Contains(had, family) {
			out, had = append(out, addr), append(had, family)
		}
	}
	return out
}

func (t nodeTarget) equal(o nodeTarget) bool { return reflect.DeepEqual(t, o) }
