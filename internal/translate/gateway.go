package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// Result is one gateway, translated.
type Result struct {
	Provider string
	Gateway  lbmodel.Gateway
	// Findings are everything that is wrong or worth saying, in a fixed order.
	Findings []lbmodel.Finding
	// Parameters are what holds for this gateway: its class's, made stricter by
	// its own.
	Parameters v1alpha1.GatewayParametersSpec
	// Skip says why nothing may be planned for the gateway: its class or its
	// parameters are wrong. What is in the cloud stays as it is. "" is plan it.
	Skip string
	// Deleting says that the Gateway is going: it wants nothing any more.
	Deleting bool
	// Gone says that there is no such gateway of ours.
	Gone bool
	// Meshes are those that the gateway is let into, by binding.
	Meshes []Membership

	listeners []*listener
	sets      []*setState
	routes    []*routeState
	policies  []policyState
	backends  []Key // XBackends in use
	loopback  bool
	ports     []*routeState // of a Service: each leads to its own endpoints
	members   []member
	meshUses  []meshUse
}

// Features are what a gateway's provider offers under its class's settings, for
// lbmodel.Restrict. ok is false when the gateway is not ours, or when nobody
// said what a provider offers (Options.Offers is nil).
func (x *Index) Features(key Key) (features lbmodel.Features, ok bool) {
	if key.Kind == KindService {
		svc, claim, ok := x.balanced(key)
		if !ok {
			return features, false
		}
		c := x.serviceClass(svc, claim)
		return c.features, !c.everything
	}
	c, _, ok := x.gatewayClass(key)
	return c.features, ok && !c.everything
}

// translation is the work on one gateway.
type translation struct {
	x        *Index
	key      Key
	gateway  *gwv1.Gateway
	class    class
	params   v1alpha1.GatewayParametersSpec
	loopback bool

	listeners []*listener
	sets      []*setState
	routes    []*routeState
	ports     []*routeState // of a Service
	findings  []lbmodel.Finding

	pools          map[string]*poolState
	poolList       []*poolState // in the order of the routes, which is often that of the names
	trust          map[string]lbmodel.Trust
	identities     map[string]lbmodel.Identity
	clientIdentity string
	resolved       map[backendUse]*resolution
	finder         finder
	policies       map[Key]policyState
	backends       map[Key]bool

	members     []member
	memberships []Membership // one for each
	meshUses    []meshUse
	abilities   lbmodel.Features // of the class, for members
	spreads     map[string][]share
	told        map[told]bool
}

// setState is a ListenerSet of the gateway.
type setState struct {
	key       Key
	obj       *gwv1.ListenerSet
	allowed   bool
	listeners []*listener
}

func (t *translation) find(f lbmodel.Finding) { t.findings = append(t.findings, f) }

// Gateway translates one gateway. It is a pure function of the index.
func (x *Index) Gateway(key Key) Result {
	if key.Kind == KindService {
		return x.service(key)
	}
	c, g, ok := x.gatewayClass(key)
	if !ok {
		return Result{Gone: true}
	}
	t := &translation{
		x: x, key: key, gateway: g, class: c, finder: finder{x: x},
		trust: map[string]lbmodel.Trust{}, identities: map[string]lbmodel.Identity{}, policies: map[Key]policyState{}, backends: map[Key]bool{},
	}
	return t.run()
}

func (t *translation) run() Result {
	out := Result{Provider: t.class.provider, Deleting: t.gateway.DeletionTimestamp != nil}
	params, settings, problem := t.x.gatewayParameters(t.class, t.gateway)
	t.params, out.Parameters = params, params
	t.loopback = t.x.loopbackAllowed(t.class)
	out.loopback = t.loopback
	model := t.frame(settings)
	out.Skip = cmp.Or(t.classProblem(), t.parameterProblem(problem))
	t.collectListeners()
	t.checkListeners()
	t.resolveClientCertificate()
	t.joinMeshes()
	for _, l := range t.listeners {
		if !l.refused && l.spec.TLS != nil {
			t.resolveCertificates(l)
			t.validateClients(l)
		}
	}
	t.overlaps()
	t.attachRoutes()
	t.finish(&model)
	out.Gateway, out.Findings = model, uniqueFindings(t.findings)
	out.listeners, out.sets, out.routes = t.listeners, t.sets, t.routes
	out.members, out.meshUses, out.Meshes = t.members, t.meshUses, t.memberships
	out.policies = sortedStates(t.policies)
	out.backends = slices.SortedFunc(maps.Keys(t.backends), compareKeys)
	return out
}

// uniqueFindings keeps the first of equal findings: a route with several
// parentRefs is judged once for each.
func uniqueFindings(in []lbmodel.Finding) []lbmodel.Finding {
	if len(in) < 2 {
		return in
	}
	seen := make(map[lbmodel.Finding]bool, len(in))
	return slices.DeleteFunc(in, func(f lbmodel.Finding) bool {
		again := seen[f]
		seen[f] = true
		return again
	})
}

func (t *translation) owner() lbmodel.Owner {
	return t.x.ownerOf(t.gateway)
}

func (x *Index) ownerOf(g *gwv1.Gateway) lbmodel.Owner {
	return lbmodel.Owner{Cluster: x.cluster, Kind: KindGateway, Namespace: g.Namespace, Name: g.Name, UID: string(g.UID)}
}

// frame is the gateway without its traffic.
func (t *translation) frame(settings []byte) lbmodel.Gateway {
	g := t.gateway
	model := lbmodel.Gateway{Owner: t.owner(), Settings: settings}
	if t.params.Deletion != v1alpha1.DeletionDelete {
		model.Deletion = lbmodel.Deletion(t.params.Deletion)
	}
	for _, a := range g.Spec.Addresses {
		model.Addresses = append(model.Addresses, lbmodel.AddressRequest{
			Type: lbmodel.AddressType(deref(a.Type, gwv1.IPAddressType)), Value: a.Value, Routability: string(a.Routability),
		})
	}
	if i := g.Spec.Infrastructure; i != nil {
		model.Labels = stringMap(i.Labels)
		model.Annotations = stringMap(i.Annotations)
	}
	return model
}

func stringMap[K, V ~string](in map[K]V) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[string(k)] = string(v)
	}
	return out
}

func (t *translation) classProblem() string {
	if t.class.problem == "" {
		return ""
	}
	detail := fmt.Sprintf("GatewayClass %s cannot be used: %s", t.class.obj.Name, t.class.problem)
	t.find(lbmodel.Finding{About: t.key.source(""), Condition: condAccepted, Reason: string(gwv1.GatewayReasonInvalidParameters), Detail: detail, Code: lbmodel.CodeInvalid})
	return detail
}

func (t *translation) parameterProblem(problem string) string {
	if problem == "" || t.class.problem != "" {
		return ""
	}
	t.find(lbmodel.Finding{About: t.key.source(""), Condition: condAccepted, Reason: string(gwv1.GatewayReasonInvalidParameters), Detail: problem, Code: lbmodel.CodeInvalid})
	return problem
}

// finish puts what is served into the model, in its canonical order, with
// exactly the pools, trust and identities that something in it uses.
func (t *translation) finish(model *lbmodel.Gateway) {
	used := usage{pools: t.pools, trust: map[string]bool{}, identities: map[string]bool{}}
	for _, l := range t.listeners {
		if !l.serves() {
			continue
		}
		l.finish()
		used.listener(l.model)
		model.Listeners = append(model.Listeners, l.model)
	}
	slices.SortFunc(model.Listeners, func(a, b lbmodel.Listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Name, b.Name))
	})
	model.Pools = t.usedPools()
	for _, p := range model.Pools {
		used.tls(p.TLS)
	}
	t.findRefusedEndpoints()
	for _, name := range slices.Sorted(maps.Keys(used.trust)) {
		model.Trust = append(model.Trust, t.trust[name])
	}
	for _, name := range slices.Sorted(maps.Keys(used.identities)) {
		model.Identities = append(model.Identities, t.identities[name])
	}
}

// usedPools are the pools in use, sorted by name.
func (t *translation) usedPools() []lbmodel.Pool {
	used := make([]*poolState, 0, len(t.poolList))
	for _, p := range t.poolList {
		if p.used {
			used = append(used, p)
		}
	}
	slices.SortFunc(used, func(a, b *poolState) int { return strings.Compare(a.Name, b.Name) })
	out := slices.Grow([]lbmodel.Pool(nil), len(used))
	for _, p := range used {
		out = append(out, p.Pool)
	}
	return out
}

// usage marks the pools and collects the names that a model refers to.
type usage struct {
	pools             map[string]*poolState
	trust, identities map[string]bool
}

func (u usage) pool(name string) {
	if p, ok := u.pools[name]; ok {
		p.used = true
	}
}

func (u usage) listener(l lbmodel.Listener) {
	if l.TLS != nil {
		for _, name := range l.TLS.Certificates {
			u.identities[name] = true
		}
		if v := l.TLS.Validation; v != nil {
			u.trust[v.Trust] = true
		}
	}
	for _, r := range l.Rules {
		u.edits(r.Action.Edits)
		u.forward(r.Action.Forward)
	}
	for i := range l.SNI {
		u.forward(&l.SNI[i].Forward)
	}
	u.forward(l.Forward)
}

func (u usage) forward(f *lbmodel.Forward) {
	if f == nil {
		return
	}
	for _, b := range f.Backends {
		u.pool(b.Pool)
		u.edits(b.Edits)
	}
}

func (u usage) edits(e lbmodel.Edits) {
	for _, m := range e.Mirrors {
		u.pool(m.Pool)
	}
}

func (u usage) tls(tls *lbmodel.BackendTLS) {
	if tls == nil {
		return
	}
	if tls.Trust != "" {
		u.trust[tls.Trust] = true
	}
	if tls.Identity != "" {
		u.identities[tls.Identity] = true
	}
}
