package translate

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// unmeshedPart is the part of a group of pods that are no members.
const unmeshedPart = "unmeshed"

// meshPart is the endpoints of a backend whose pods are reached alike.
type meshPart struct {
	meshsync.Group
	endpoints []lbmodel.Endpoint // sorted, as the whole set is
	subject   subject
	subjects  []subject          // all, where Options.Refusals asks for them
	refused   meshsync.Allowance // of the gateway that is translated
}

// subject is who a part's Detail is about: what a meshsync.Fixer is asked about.
type subject struct {
	pod *corev1.Pod // nil: it is not known
	at  meshsync.Port
}

// judge asks for a verdict, with a fix where one is needed.
func (x *Index) judge(m *member, p *meshPart, hop meshsync.Hop, has lbmodel.Features) meshsync.Verdict {
	v := meshsync.Judge(p.Inbound, hop, has)
	fixer, is := m.dialect.(meshsync.Fixer)
	if !is || p.subject.pod == nil || p.Inbound.Fix != nil || v.Path == meshsync.Direct && len(v.Losses) == 0 {
		return v
	}
	in := p.Inbound
	in.Fix = fixer.Fix(meshWorld{x}, m.mesh, p.subject.at, p.subject.pod)
	return meshsync.Judge(in, hop, has)
}

// name tells the parts of a backend apart, in Pool.Group and Pool.Name.
func (p *meshPart) name() string {
	if p.Key == "" {
		return unmeshedPart
	}
	return p.Key
}

// group is the part's own group.
func (p *meshPart) group(whole groupRef, binding string) groupRef {
	whole.mesh, whole.part = binding, p.name()
	return whole
}

// of is what a part has of a set.
func (s endpointSet) of(p *meshPart) endpointSet {
	return endpointSet{endpoints: p.endpoints, refused: s.refused, others: len(s.endpoints) - len(p.endpoints)}
}

// empty says that there are no endpoints, which is more than that none are known.
func (s endpointSet) empty() bool { return s.endpoints != nil && len(s.endpoints) == 0 }

// usable counts the endpoints that new traffic may go to.
func (p *meshPart) usable() int {
	n := 0
	for _, e := range p.endpoints {
		if e.Usable() {
			n++
		}
	}
	return n
}

// partsAt divides the endpoints of a backend by what their pods accept, in the
// order of the groups' keys. The parts depend on the mesh and the pods alone, so
// they are the same for every gateway.
func (x *Index) partsAt(d meshsync.Dialect, g groupRef, endpoints []lbmodel.Endpoint) []meshPart {
	at, ok := x.meshPort(g)
	if !ok || len(endpoints) == 0 {
		return nil
	}
	mesh, world := x.mesh(d), meshWorld{x}
	placed := make([]meshsync.Placed, 0, len(endpoints))
	names := make([]string, len(endpoints)) // of what is placed for each
	ports := make(map[string]int32, len(endpoints))
	about := make(map[string]subject, len(endpoints))
	for i, e := range endpoints {
		pod := x.podAt(g.key.Namespace, e.Pod.Name, e.Address)
		at.Target = e.Port
		if names[i] = "at " + e.Address; pod != nil {
			names[i] = pod.Name
		}
		port, seen := ports[names[i]]
		if seen && port == e.Port {
			continue // its other address
		}
		if seen { // while a named port moves, a pod may be there with both numbers
			names[i] += " port " + strconv.Itoa(int(e.Port))
		}
		ports[names[i]] = e.Port
		p := meshsync.Placed{Pod: names[i], Inbound: meshsync.Inbound{Membership: meshsync.MembershipUnknown}}
		if pod != nil {
			p.Inbound = d.Inbound(world, mesh, at, pod)
			about[p.Pod] = subject{pod, at}
		}
		placed = append(placed, p)
	}
	parts := gather(meshsync.Groups(placed), names, endpoints)
	for i := range parts {
		parts[i].subject = about[parts[i].Said]
		if x.options.Refusals {
			for _, pod := range parts[i].Pods {
				parts[i].subjects = append(parts[i].subjects, about[pod])
			}
		}
	}
	return parts
}

// gather puts the endpoints into the groups of their pods.
func gather(groups []meshsync.Group, names []string, endpoints []lbmodel.Endpoint) []meshPart {
	parts := make([]meshPart, len(groups))
	of := make(map[string]int, len(endpoints))
	for i, g := range groups {
		parts[i].Group = g
		parts[i].endpoints = make([]lbmodel.Endpoint, 0, len(g.Pods))
		for _, pod := range g.Pods {
			of[pod] = i
		}
	}
	for i, e := range endpoints {
		part := &parts[of[names[i]]]
		if part.Inbound.Port != 0 {
			e.Port = part.Inbound.Port
		}
		part.endpoints = append(part.endpoints, e)
	}
	slices.SortFunc(parts, func(a, b meshPart) int { return cmp.Compare(a.Key, b.Key) })
	return parts
}

// meshPort is a backend's port as dialects know ports. An XBackend's is one that no
// Service declares, so a mesh does not know what it speaks.
func (x *Index) meshPort(g groupRef) (meshsync.Port, bool) {
	switch o := x.at(g.key).obj.(type) {
	case *corev1.Service:
		port := g.servicePort(o)
		if port == nil {
			return meshsync.Port{}, false
		}
		return meshsync.Port{Service: o, Port: *port}, true
	case *gwxv1alpha1.XBackend:
		tcp := "tcp"
		port := corev1.ServicePort{Port: g.port, Protocol: corev1.ProtocolTCP, AppProtocol: &tcp}
		svc := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{port}}}
		svc.Namespace, svc.Name = o.Namespace, o.Name
		return meshsync.Port{Service: svc, Port: port}, true
	default:
		return meshsync.Port{}, false
	}
}
