package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// MeshServices says which Services a MeshReport is about.
type MeshServices string

// The choices.
const (
	RoutedServices MeshServices = ""    // those that a route names
	AllServices    MeshServices = "All" // all with endpoints
)

// MeshReport is what the meshes of a cluster mean for gateways of a class.
type MeshReport struct {
	Meshes []MeshFound
	// Groups are the pods behind each Service port, by what they accept, sorted by
	// Service, port and mesh. Without a binding they are what it would be to join.
	Groups []MeshGroup
}

// MeshFound is a mesh that is bound, or that is there and not bound.
type MeshFound struct {
	Controller string
	Binding    string // "": there is none
	Mesh       meshsync.Mesh
	Trust      lbmodel.Trust
	Problems   []string // of the binding, or why the roots cannot be read
	Gateways   []Key    // that it lets in
}

// MeshReport judges every group of pods behind Services as a gateway of the class
// would find them. The class "" is one whose provider offers everything. ok is false
// when there is no such class of ours.
func (x *Index) MeshReport(className string, which MeshServices) (out MeshReport, ok bool) {
	c := class{everything: true, params: defaulted(v1alpha1.GatewayParametersSpec{})}
	if className != "" {
		if c, ok = x.classOf(className); !ok {
			return out, false
		}
	}
	r := reporting{x: x, class: c, abilities: c.features}
	if c.everything {
		r.abilities = lbmodel.FullFeatures()
	}
	r.meshes()
	out.Meshes = r.found
	services := x.services(which)
	for i := range r.members {
		for _, svc := range services {
			out.Groups = append(out.Groups, r.service(i, svc)...)
		}
	}
	slices.SortStableFunc(out.Groups, func(a, b MeshGroup) int {
		return cmp.Or(compareKeys(a.Service, b.Service), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Controller, b.Controller), compareKeys(a.Binding, b.Binding))
	})
	return out, true
}

// services are those to report on, sorted.
func (x *Index) services(which MeshServices) (out []*corev1.Service) {
	for _, v := range x.graph.all() {
		svc, is := v.obj.(*corev1.Service)
		if !is || svc.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		routed := which == AllServices
		for user := range v.affects.all() {
			routed = routed || strings.HasSuffix(user.Kind, "Route")
		}
		if routed {
			out = append(out, svc)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// reporting is the work on one report.
type reporting struct {
	x         *Index
	class     class
	abilities lbmodel.Features
	members   []member // one for each that is found and known
	found     []MeshFound
}

// meshes finds those that are bound, and those that are only there.
func (r *reporting) meshes() {
	bound := map[string]bool{}
	for _, b := range r.x.bindings() {
		bound[b.Spec.ControllerName] = true
		m := r.x.member(b)
		m.identity = "a client certificate"
		if b.Spec.Identity.Issuer == v1alpha1.IssuerNone {
			m.identity = ""
		}
		f := MeshFound{Controller: b.Spec.ControllerName, Binding: b.Name, Mesh: m.mesh, Trust: m.trust.trust, Problems: m.trust.problems}
		if _, problem := r.x.bindingProblem(b); problem != "" && m.dialect != nil { // else it stands there
			f.Problems = append([]string{problem}, f.Problems...)
		}
		for _, key := range r.x.Gateways() {
			if key.Kind == KindGateway && r.x.admits(b, key.Namespace) {
				f.Gateways = append(f.Gateways, key)
			}
		}
		r.found = append(r.found, f)
		if m.dialect != nil {
			r.members = append(r.members, m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.x.options.Dialects)) {
		d := r.x.options.Dialects[name]
		if mesh := r.x.mesh(d); mesh.Installed && !bound[name] {
			trust := r.x.readTrust(&v1alpha1.MeshBinding{}, mesh)
			r.found = append(r.found, MeshFound{Controller: name, Mesh: mesh, Trust: trust.trust, Problems: trust.problems})
			r.members = append(r.members, member{dialect: d, mesh: mesh, trust: trust, identity: "a client certificate", minimum: lbmodel.TLSClientAndServer})
		}
	}
}

// service judges every port of a Service for one mesh. Of a mesh that is not bound
// only members are told.
func (r *reporting) service(member int, svc *corev1.Service) (out []MeshGroup) {
	m := &r.members[member]
	policies := partsOf[*gwv1.BackendTLSPolicy](r.x.at(Key{KindService, svc.Namespace, svc.Name}).parts)
	f := finder{x: r.x}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		g := groupRef{key: Key{KindService, svc.Namespace, svc.Name}, port: p.Port, udp: p.Protocol == corev1.ProtocolUDP}
		g.foreign, g.loopback = r.class.params.ForeignEndpoints == v1alpha1.ForeignAllow, r.x.loopbackAllowed(r.class)
		own := slices.ContainsFunc(policies, func(t *gwv1.BackendTLSPolicy) bool {
			return targets(t, svc.Name, "") || p.Name != "" && targets(t, svc.Name, p.Name)
		})
		for _, part := range r.x.partsAt(m.dialect, g, f.endpoints(g).endpoints) {
			if m.key == (Key{}) && part.Inbound.Membership != meshsync.Meshed {
				continue
			}
			out = append(out, r.group(m, &part, meshPortOf{g, p, hopTLS(own)}))
		}
	}
	return out
}

// meshPortOf is a Service's port to report on.
type meshPortOf struct {
	group groupRef
	port  *corev1.ServicePort
	own   hopTLS // of the application
}

func (r *reporting) group(m *member, part *meshPart, at meshPortOf) MeshGroup {
	floor := lbmodel.TLSLevel(r.class.params.MinimumBackendTLS)
	if part.Inbound.Membership == meshsync.Meshed {
		floor = stricterLevel(floor, m.minimum)
	}
	hop := meshsync.Hop{
		Protocol: at.protocol(), Minimum: floor, OwnTLS: bool(at.own), Roots: len(m.trust.trust.Roots), Anonymous: m.identity == "",
	}
	return MeshGroup{
		Binding: m.key, Controller: m.dialect.Controller(), Backend: fmt.Sprintf("%s:%d", at.group.key.path(), at.group.port),
		Service: at.group.key, Port: at.group.port, Group: part.Group, Verdict: r.x.judge(m, part, hop, r.abilities),
		Endpoints: part.endpoints,
	}
}

// protocol is what the likeliest route to a port would speak.
func (at meshPortOf) protocol() lbmodel.PoolProtocol {
	said := saidByService(deref(at.port.AppProtocol, ""))
	kind := KindHTTPRoute
	switch {
	case at.group.udp:
		return lbmodel.PoolUDP
	case said.app == appGRPC:
		kind = KindGRPCRoute
	}
	protocol, unfit := said.poolProtocol(kind, at.own)
	if unfit != "" {
		return lbmodel.PoolTCP
	}
	return protocol
}
