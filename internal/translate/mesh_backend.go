package translate

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// MeshGroup is what comes of one group of pods behind a backend: who they are, and
// how a gateway reaches them.
type MeshGroup struct {
	Binding Key // of the mesh that they are judged by
	// Controller is the mesh's, which no binding need name: see MeshReport.
	Controller string
	Backend    string // as a person names it: namespace/name:port
	Service    Key    // or XBackend
	Port       int32
	Group      meshsync.Group
	Verdict    meshsync.Verdict
	Selected   bool // the binding's selector wants them to be members
	// Refused says that a policy of the mesh refuses the gateway there, for a person; ""
	// is that none is known to. Options.Refusals asks for it.
	Refused string
	// Probe is what was seen on the wire, where there is something to tell.
	Probe *PoolSight
	// Endpoints are the group's own, at the Service's port; only a MeshReport has them.
	Endpoints []lbmodel.Endpoint
}

// Membership is a gateway's part in one mesh.
type Membership struct {
	Binding  Key
	Account  meshsync.Account // on whose behalf its certificate is asked for
	Trust    lbmodel.Trust
	Identity string   // of Gateway.Identities; "" is anonymous
	Problems []string // why the roots cannot be read
	// Groups are those that traffic was meant for, in the order of the routes.
	Groups []MeshGroup
	// Lost are backends that this binding claims and another one, which comes first
	// by name, has.
	Lost []string
	// Outside are backends of which no pod is in any of the gateway's meshes.
	Outside []string
	// Stranger says that a certificate which the Gateway names itself leads to none of
	// the mesh's roots; "" is that nothing is known against it.
	Stranger string
}

// meshUse is a use of a backend by a member, and what decided it: as long as that
// is so, a change of endpoints changes nothing but endpoints.
type meshUse struct {
	use   backendUse
	group groupRef
	facts meshFacts
}

// meshFacts are all that the pods of a backend have to do with the model besides
// being endpoints.
type meshFacts struct {
	holder int  // of the gateway's members; -1 is none
	known  bool // whether there is a source that lists the endpoints
	none   bool // there is no endpoint, so that a floor could not be asked of one
	parts  []partFact
}

type partFact struct {
	key      string
	inbound  meshsync.Inbound
	accounts []meshsync.Account
	refused  string
	weight   int // counts only where there are several parts
}

// joinable says whether a use of a backend is a connection of ours that a mesh
// could take part in. What the client encrypted stays as it is.
func (u backendUse) joinable() bool {
	return u.ownHop() || u.from.kind == KindTCPRoute || u.from.kind == KindUDPRoute && u.selected != ""
}

// holding is a backend's endpoints as the mesh divides them that it belongs to.
type holding struct {
	holder int  // -1: none
	known  bool // whether there is a source that lists the endpoints
	parts  []meshPart
	lost   []int // members that claim it too
}

// holdingOf finds whose a backend is: the first member by name whose mesh some of
// its pods are in, or else the one whose selector names it.
func (x *Index) holdingOf(members []member, u backendUse, g groupRef, endpoints []lbmodel.Endpoint) holding {
	out := holding{holder: -1, known: endpoints != nil}
	var chosen []meshPart
	for i := range members {
		m := &members[i]
		selects := u.selected == m.key.Name
		var parts []meshPart
		if m.dialect != nil {
			parts = x.partsAt(m.dialect, g, endpoints)
		}
		switch meshed := slices.ContainsFunc(parts, func(p meshPart) bool { return p.Inbound.Membership == meshsync.Meshed }); {
		case meshed && out.holder >= 0:
			out.lost = append(out.lost, i)
		case meshed:
			out.holder, out.parts = i, parts
		case selects:
			chosen = parts
		}
	}
	if i := slices.IndexFunc(members, func(m member) bool { return m.key.Name == u.selected }); out.holder < 0 && i >= 0 {
		out.holder, out.parts = i, chosen
		if out.parts == nil && len(endpoints) > 0 { // nobody knows the mesh
			out.parts = []meshPart{unknownPart(endpoints)}
		}
	}
	out.refuse(x, members)
	return out
}

// unknownPart is endpoints of which nobody here can say what their pods accept.
func unknownPart(endpoints []lbmodel.Endpoint) meshPart {
	out := meshPart{endpoints: endpoints}
	out.Key, out.Inbound.Membership = "unknown", meshsync.MembershipUnknown
	for _, e := range endpoints {
		out.Pods = append(out.Pods, cmp.Or(e.Pod.Name, "at "+e.Address))
	}
	slices.Sort(out.Pods)
	return out
}

func (h holding) facts() meshFacts {
	if h.holder < 0 {
		return meshFacts{holder: h.holder}
	}
	out := meshFacts{holder: h.holder, known: h.known}
	for i := range h.parts {
		p := &h.parts[i]
		fact := partFact{key: p.Key, inbound: p.Inbound, accounts: p.Accounts, refused: p.refused.Why}
		if len(h.parts) > 1 {
			fact.weight = p.usable()
		}
		out.parts = append(out.parts, fact)
	}
	return out
}

// meshSets are the endpoints of a backend by Pool.Group, divided as the gateway's
// meshes do it. again says that its pods mean something else to the gateway than
// when it was translated.
func (x *Index) meshSets(backend Key, before *Result) (sets map[string]endpointSet, again bool) {
	f := finder{x: x}
	sets = map[string]endpointSet{}
	for i := range before.meshUses {
		use := &before.meshUses[i]
		if use.group.key != backend {
			continue
		}
		set := f.endpoints(use.group)
		h := x.holdingOf(before.members, use.use, use.group, set.endpoints)
		facts := h.facts()
		facts.none = set.empty() && before.Parameters.MinimumBackendTLS != v1alpha1.TLSNone
		if !reflect.DeepEqual(facts, use.facts) {
			return nil, true
		}
		sets[use.group.String()] = set
		for i := range h.parts {
			p := &h.parts[i]
			sets[p.group(use.group, before.members[h.holder].key.Name).String()] = set.of(p)
		}
	}
	return sets, false
}

// meshPool resolves a use of a backend by a member: to one pool, to several where
// its pods are reached in several ways, or to none.
func (t *translation) meshPool(u backendUse, p lbmodel.Pool, g groupRef) resolution {
	set := t.finder.endpoints(g)
	h := t.x.holdingOf(t.members, u, g, set.endpoints)
	facts := h.facts()
	facts.none = set.empty() && t.floor() != lbmodel.TLSNone
	t.meshUses = append(t.meshUses, meshUse{u, g, facts})
	for _, i := range h.lost {
		t.memberships[i].Lost = appendNew(t.memberships[i].Lost, fmt.Sprintf("%s is with MeshBinding %s", u, t.members[h.holder].key.Name))
	}
	switch {
	case set.empty(): // nobody whom it would matter to: the first pod will be judged
		return resolution{group: p.Group, pool: t.keep(p, func() endpointSet { return set })}
	case h.holder < 0:
		t.outside(u, set)
		return t.pool(u, p, func() endpointSet { return set })
	case len(h.parts) == 0:
		bad := refused(string(meshsync.ReasonIdentityUnknown),
			"%s must be a member of mesh %s, and its pods are not known here; read the cluster's (--context)", u, t.members[h.holder].key.Name)
		bad.tls = bad.reason
		return bad
	}
	j := judging{t: t, use: u, pool: p, group: g, set: set, member: &t.members[h.holder], membership: &t.memberships[h.holder]}
	j.meshed = slices.ContainsFunc(h.parts, func(p meshPart) bool { return p.Inbound.Membership == meshsync.Meshed })
	for i := range h.parts {
		j.part(&h.parts[i])
	}
	return j.resolution()
}

// outside notes a backend of which no mesh has a pod, and no selector names it.
func (t *translation) outside(u backendUse, set endpointSet) {
	if len(set.endpoints) == 0 {
		return
	}
	for i := range t.memberships {
		t.memberships[i].Outside = appendNew(t.memberships[i].Outside, u.String())
	}
}

// told is what a verdict follows from: several routes may use one backend alike.
type told struct {
	binding, backend, part string
	hop                    meshsync.Hop
}

// tell keeps what is said of a group once.
func (j *judging) tell(g MeshGroup, hop meshsync.Hop) {
	j.groups = append(j.groups, g)
	key := told{g.Binding.Name, g.Backend, g.Group.Key, hop}
	if j.t.told[key] {
		return
	}
	if j.t.told == nil {
		j.t.told = map[told]bool{}
	}
	j.t.told[key] = true
	j.membership.Groups = append(j.membership.Groups, g)
}

// meshOutcome is what a mesh has to do with a resolution.
type meshOutcome struct {
	groups   []MeshGroup // of the backend's pods
	main     string      // the pool of what cannot be shared out, where resolution.pool stands for several
	outbound string      // a route inside the mesh that says otherwise
}

// mirrored is the pool for what goes to one pool only.
func (r *resolution) mirrored() string {
	if r.mesh != nil {
		return r.mesh.main
	}
	return r.pool
}

// judging is the work on one use of a member's backend.
type judging struct {
	t      *translation
	use    backendUse
	pool   lbmodel.Pool // as without a mesh
	group  groupRef
	set    endpointSet
	member *member

	membership *Membership // where it is told
	meshed     bool        // some of the pods are members

	groups []MeshGroup
	direct []share
	level  lbmodel.TLSLevel // the least of the direct ones
}

// part judges one group of pods and makes its pool.
func (j *judging) part(p *meshPart) {
	t, m := j.t, j.member
	floor := t.floor()
	hop := meshsync.Hop{
		Protocol: j.pool.Protocol, Minimum: floor, Selected: j.use.selected != "", OwnTLS: j.pool.TLS != nil,
		Roots: len(m.trust.trust.Roots), Anonymous: m.identity == "", ClientKey: clientKey(t.identities[m.identity]),
	}
	if p.Inbound.Membership == meshsync.Meshed || hop.Selected {
		hop.Minimum = stricterLevel(floor, m.minimum)
	}
	v := j.judge(p, hop)
	var seen *PoolSight
	if v.Path == meshsync.Direct {
		r := t.pool(j.use, j.poolOf(p, v, hop.Minimum), func() endpointSet { return j.set.of(p) })
		if r.reason != "" {
			v.Path, v.Reason, v.Detail = meshsync.Blocked, meshsync.ReasonBelowMinimum, r.detail
		} else {
			j.level, seen = lesserLevel(j.level, r.level), t.x.sight(m.key.Name).of(t.key, r.pool)
			j.direct = append(j.direct, share{pool: r.pool, part: int64(p.usable()), all: int64(len(p.endpoints))})
		}
	}
	if m.landable(v, hop) {
		if l := j.land(hop); l.pool != "" {
			v.Path, v.Reason, v.Fix = meshsync.LandingPad, "", nil
			v.TLS, v.Losses, v.BackendTLS = l.verdict.TLS, l.verdict.Losses, l.verdict.BackendTLS
			j.level = lesserLevel(j.level, l.verdict.TLS)
			j.direct = appendShare(j.direct, share{pool: l.pool, part: int64(p.usable()), all: int64(len(p.endpoints))})
		} else {
			v.Detail += "; " + l.problem
		}
	}
	j.tell(MeshGroup{
		Binding: m.key, Controller: m.controller, Backend: j.use.String(), Service: j.group.key, Port: j.group.port,
		Group: p.Group, Verdict: v, Selected: hop.Selected, Probe: seen, Refused: j.refusedAt(p, v),
	}, hop)
}

// judge asks for the verdict. Of a mesh that nobody knows there is only one; and
// addresses of which nobody knows the pod may be those of members, where others of
// the backend are.
func (j *judging) judge(p *meshPart, hop meshsync.Hop) meshsync.Verdict {
	unknown := meshsync.Verdict{Membership: meshsync.MembershipUnknown, Path: meshsync.Blocked, Reason: meshsync.ReasonIdentityUnknown}
	switch {
	case j.member.dialect == nil:
		unknown.Detail = fmt.Sprintf("MeshBinding %s names a mesh that is not known here (spec.controllerName)", j.member.key.Name)
		return unknown
	case j.meshed && p.Inbound.Membership == meshsync.MembershipUnknown && !hop.Selected:
		unknown.Detail = "the pods behind these addresses are not known, and others of this backend are members of the mesh"
		return unknown
	default:
		return j.t.x.judge(j.member, p, hop, j.t.abilities)
	}
}

// poolOf is the pool of a group that is reached directly.
func (j *judging) poolOf(p *meshPart, v meshsync.Verdict, minimum lbmodel.TLSLevel) lbmodel.Pool {
	out, g, from := j.pool, p.group(j.group, j.member.key.Name), j.member.key.source("")
	out.Group, out.Name = g.String(), g.mesh+"."+g.part
	if v.Health != nil {
		h := *v.Health
		h.Source, out.Health = from, &h
	}
	if v.OwnTLS {
		return out
	}
	if v.Protocol != "" {
		out.Protocol = v.Protocol
	}
	if out.TLS = nil; v.BackendTLS == nil {
		return out
	}
	tls := *v.BackendTLS
	tls.Source, tls.Floor = from, minimum
	if v.TLS.AtLeast(lbmodel.TLSServerOnly) {
		tls.Trust = j.member.trust.trust.Name
		j.t.trust[tls.Trust] = j.member.trust.trust
	}
	if v.TLS.AtLeast(lbmodel.TLSClientAndServer) {
		tls.Identity = j.member.identity
	}
	out.TLS = &tls
	return out
}

// resolution joins the groups: what is blocked gets no traffic while another is
// reached, and is told.
func (j *judging) resolution() resolution {
	r := resolution{group: j.group.String(), level: j.level, mesh: &meshOutcome{groups: j.groups}}
	if j.group.key.Kind == KindService {
		r.mesh.outbound = j.t.x.outbound(j.group.key, j.group.port)
	}
	if len(j.direct) == 0 {
		var verdicts []meshsync.Verdict
		var details []string
		for _, g := range j.groups {
			verdicts = append(verdicts, g.Verdict)
			details = append(details, g.text())
		}
		r.tls = string(meshsync.WorstReason(verdicts))
		r.reason, r.detail = r.tls, j.use.String()+": "+strings.Join(details, "; ")
		return r
	}
	r.mesh.main = mainShare(j.direct)
	r.pool = r.mesh.main
	if len(j.direct) > 1 {
		r.pool = j.t.addSpread(j.direct)
	}
	return r
}

func stricterLevel(a, b lbmodel.TLSLevel) lbmodel.TLSLevel {
	if a.AtLeast(b) {
		return a
	}
	return b
}

func lesserLevel(a, b lbmodel.TLSLevel) lbmodel.TLSLevel {
	if a == "" || b != "" && a.AtLeast(b) {
		return b
	}
	return a
}
