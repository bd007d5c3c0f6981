package translate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// labelGatewayName is on the pods that serve a Gateway (GEP-1762).
const labelGatewayName = "gateway.networking.k8s.io/gateway-name"

// isPad is how a group tells a landing pad from a Service, whose name has no dot in
// it.
const isPad = "landingpad."

// landing is a way over the landing pad: its pool, or why there is none.
type landing struct {
	pool    string
	verdict meshsync.Verdict
	problem string
}

// landable says whether a landing pad can stand in for a path. It takes the mesh's
// own way to the pods, so these must be members, and speaks HTTP to them, so that no
// application's own TLS gets through.
func (m *member) landable(v meshsync.Verdict, hop meshsync.Hop) bool {
	return m.pad != nil && m.dialect != nil && v.Membership == meshsync.Meshed && v.Path == meshsync.Blocked &&
		!hop.OwnTLS && hop.Protocol != lbmodel.PoolTCP && hop.Protocol != lbmodel.PoolUDP
}

// land judges the way over the landing pad as any backend's.
func (j *judging) land(hop meshsync.Hop) landing {
	t, m := j.t, j.member
	endpoints, at, problem := t.x.padEndpoints(m.pad)
	if problem != "" {
		return landing{problem: problem}
	}
	var best landing
	most := -1
	for _, p := range t.x.partsOfPad(m, at, endpoints) {
		v := meshsync.Judge(p.Inbound, hop, t.abilities)
		switch {
		case p.Inbound.Membership != meshsync.Meshed:
			best.problem = "the landing pad is no member of the mesh at this listener: " + v.Detail
		case v.Path != meshsync.Direct || v.BackendTLS == nil:
			best.problem = "the landing pad: " + v.Detail
		case p.usable() > most:
			most, best = p.usable(), landing{verdict: v, pool: j.padPool(&p, v, at, hop.Minimum)}
		}
	}
	return best
}

func (j *judging) padPool(p *meshPart, v meshsync.Verdict, at meshsync.Port, minimum lbmodel.TLSLevel) string {
	to := *j
	to.pool = lbmodel.Pool{Source: j.member.key.source("landingPad"), Protocol: j.pool.Protocol}
	to.group = groupRef{key: Key{KindService, at.Service.Namespace, isPad + at.Service.Name}, port: at.Port.Port}
	r := j.t.pool(j.use, to.poolOf(p, v, minimum), func() endpointSet { return endpointSet{endpoints: p.endpoints} })
	return r.pool
}

// partsOfPad are the pad's pods by what they accept.
func (x *Index) partsOfPad(m *member, at meshsync.Port, endpoints []lbmodel.Endpoint) []meshPart {
	var placed []meshsync.Placed
	names := make([]string, len(endpoints))
	for i, e := range endpoints {
		names[i] = e.Pod.Name
		pod, _ := lookup[*corev1.Pod](x, KindPod, e.Pod.Namespace, e.Pod.Name)
		placed = append(placed, meshsync.Placed{Pod: pod.Name, Inbound: m.dialect.Inbound(meshWorld{x}, m.mesh, at, pod)})
	}
	return gather(meshsync.Groups(placed), names, endpoints)
}

// padEndpoints are the pods that serve a landing pad's listener, at its own port.
func (x *Index) padEndpoints(pad *v1alpha1.LandingPad) ([]lbmodel.Endpoint, meshsync.Port, string) {
	name := pad.Namespace + "/" + pad.Name
	g, ok := lookup[*gwv1.Gateway](x, KindGateway, pad.Namespace, pad.Name)
	if !ok {
		return nil, meshsync.Port{}, fmt.Sprintf("spec.landingPad: Gateway %s does not exist", name)
	}
	port := int32(0)
	for _, l := range g.Spec.Listeners {
		if string(l.Name) == pad.SectionName {
			port = l.Port
		}
	}
	if port == 0 {
		return nil, meshsync.Port{}, fmt.Sprintf("spec.landingPad: Gateway %s has no listener %s", name, pad.SectionName)
	}
	f := finder{x: x}
	f.begin(groupRef{key: Key{KindXBackend, pad.Namespace, pad.Name}, port: port}) // pods by their own address, as an XBackend's
	for _, pod := range partsOf[*corev1.Pod](x.at(Key{Kind: kindPodsIn, Name: pad.Namespace}).parts) {
		if pod.Labels[labelGatewayName] == pad.Name {
			f.addPod(pod)
		}
	}
	if len(f.found) == 0 {
		return nil, meshsync.Port{}, fmt.Sprintf("spec.landingPad: no pod serves Gateway %s (label %s)", name, labelGatewayName)
	}
	svc := &corev1.Service{}
	svc.Namespace, svc.Name = pad.Namespace, pad.Name
	at := meshsync.Port{Service: svc, Port: corev1.ServicePort{Port: port, Protocol: corev1.ProtocolTCP}, Target: port}
	svc.Spec.Ports = []corev1.ServicePort{at.Port}
	return f.set(true).endpoints, at, ""
}

// padPod says whether a pod serves the landing pad of a binding.
func padPod(b *v1alpha1.MeshBinding, obj any) bool {
	pod, ok := obj.(*corev1.Pod)
	pad := b.Spec.LandingPad
	return ok && pad != nil && pod.Namespace == pad.Namespace && pod.Labels[labelGatewayName] == pad.Name
}
