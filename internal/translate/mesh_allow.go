package translate

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/meshsync"
)

// Permits are the kinds by which meshes say whom they let in, and who somebody is,
// sorted: those of all dialects. Nothing hangs on them but Allowances, and what
// Options.Refusals has told.
func (o Options) Permits() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, d := range o.Dialects {
		if a, is := d.(meshsync.Authorizer); is {
			out = append(out, a.Permits()...)
		}
		if r, is := d.(meshsync.Registrar); is {
			out = append(out, r.Registers()...)
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// Allowance is whether a mesh lets a gateway in at a Service's port that it routes to.
type Allowance struct {
	Gateway, Binding, Service Key
	Controller                string
	Port                      int32
	Path                      meshsync.Path // LandingPad: whom the pod lets in is the pad, and the Allowance says no more
	meshsync.Allowance
}

// Allowances are those of gateways, in their order: of each at every port that its
// routes lead to, where pods are members of a mesh that it has joined.
func (x *Index) Allowances(gateways []Key) []Allowance {
	w := allowing{x: x, with: map[portOfMesh][]meshsync.Client{}}
	for _, key := range gateways {
		w.gateway(key)
	}
	for i := range w.out {
		w.decide(i)
	}
	return w.out
}

// portOfMesh is a Service's port, as the members of one binding reach it.
type portOfMesh struct {
	binding, service Key
	port             int32
}

// allowing is the work on Allowances: who comes, first, and then whether they may.
type allowing struct {
	x    *Index
	out  []Allowance
	at   []admission // of each of out
	with map[portOfMesh][]meshsync.Client
}

// admission is a gateway at a port, before it is decided.
type admission struct {
	member *member
	client meshsync.Client
	group  groupRef
	pods   map[string]bool
}

func (w *allowing) gateway(key Key) {
	r := w.x.Gateway(key)
	seen := map[portOfMesh]int{}
	for i, m := range r.Meshes {
		client := clientOf(w.x, key, &r.members[i])
		for _, g := range m.Groups {
			port := portOfMesh{m.Binding, g.Service, g.Port}
			use := slices.IndexFunc(r.meshUses, func(u meshUse) bool { return u.group.key == g.Service && u.group.port == g.Port })
			if r.members[i].dialect == nil || g.Group.Inbound.Membership != meshsync.Meshed || use < 0 {
				continue
			}
			n, ok := seen[port]
			if !ok {
				n = len(w.out)
				seen[port] = n
				w.out = append(w.out, Allowance{Gateway: key, Binding: m.Binding, Service: g.Service, Controller: g.Controller, Port: g.Port, Path: g.Verdict.Path})
				w.at = append(w.at, admission{&r.members[i], client, r.meshUses[use].group, map[string]bool{}})
				w.with[port] = append(w.with[port], client)
			}
			if g.Verdict.Path == meshsync.Direct {
				w.out[n].Path = meshsync.Direct
			}
			for _, pod := range g.Group.Pods {
				w.at[n].pods[pod] = true
			}
		}
	}
}

// clientOf is a gateway as one of its meshes sees it, whether or not it shows its
// certificate to any pod yet.
func clientOf(x *Index, key Key, m *member) meshsync.Client {
	out := meshsync.Client{Name: key.Namespace + "/" + key.Name, Account: m.account}
	switch namespace, name, _ := strings.Cut(m.identity, "/"); {
	case m.identity == "" || m.dialect == nil:
	case m.identity != m.key.Kind+"/"+m.key.Name: // a Secret's: what its certificate says counts
		if s, ok := lookup[*Secret](x, KindSecret, namespace, name); ok && s.Leaf != nil {
			out.SPIFFEID, out.DNSNames = first(s.Leaf.URIs), s.Leaf.DNSNames
		}
	default:
		out.SPIFFEID, out.DNSNames = meshsync.NameOf(m.dialect, m.mesh, m.account)
		if b, ok := lookup[*v1alpha1.MeshBinding](x, KindMeshBinding, "", m.key.Name); ok {
			issuer := cmp.Or(b.Spec.Identity.Issuer, v1alpha1.IssuerMesh)
			out.Agent = issuer == v1alpha1.IssuerMesh || issuer == v1alpha1.IssuerWorkloadAPI
		}
	}
	return out
}

// unread says that a Gateway names a certificate of its own that cannot be read here.
func (w *allowing) unread(key Key, c meshsync.Client) bool {
	g, ok := lookup[*gwv1.Gateway](w.x, key.Kind, key.Namespace, key.Name)
	return ok && c.Anonymous() && g.Spec.TLS != nil && g.Spec.TLS.Backend != nil && g.Spec.TLS.Backend.ClientCertificateRef != nil
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// decide asks the mesh about each pod, at the pod's own port.
func (w *allowing) decide(i int) {
	out, at := &w.out[i], &w.at[i]
	authorizer, is := at.member.dialect.(meshsync.Authorizer)
	switch {
	case out.Path == meshsync.LandingPad:
		out.Need, out.Why = meshsync.NeedUnknown, "The gateway comes over the MeshBinding's landing pad: that is whom the pods must let in, and the pad the gateway."
		return
	case w.unread(out.Gateway, at.client):
		out.Need, out.Why = meshsync.NeedUnknown, "Whom the certificate of the Gateway's spec.tls.backend.clientCertificateRef names is not known here: read files that have its Secret (-f), with a certificate that has a URI or a DNS name."
		return
	case !is:
		out.Need, out.Why = meshsync.NeedUnknown, "Of "+out.Controller+" nobody here knows whom it lets in."
		return
	}
	port, _ := w.x.meshPort(at.group)
	var all []meshsync.Allowance
	f := finder{x: w.x}
	for _, e := range f.endpoints(at.group).endpoints {
		pod := w.x.podAt(at.group.key.Namespace, e.Pod.Name, e.Address)
		if pod == nil || !at.pods[pod.Name] {
			continue
		}
		port.Target = e.Port
		all = append(all, authorizer.Allow(meshWorld{w.x}, at.member.mesh, w.entry(out, at, port, pod)))
	}
	out.Allowance = meshsync.Worst(all)
	if len(all) == 0 {
		out.Need, out.Why = meshsync.NeedUnknown, "Which pods are behind the port is not known."
	}
}

func (w *allowing) entry(a *Allowance, at *admission, port meshsync.Port, pod *corev1.Pod) meshsync.Entry {
	return meshsync.Entry{Client: at.client, With: w.with[portOfMesh{a.Binding, a.Service, a.Port}], Port: port, Pod: pod}
}
