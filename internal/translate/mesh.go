package translate

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// defaultMeshNamespace is where the gateways' ServiceAccounts are.
const defaultMeshNamespace = "gatehouse-system"

// MeshKeyType is the type of every key that a mesh's certificate is asked for:
// all meshes take it.
const MeshKeyType = "ECDSA-P256"

// member is a gateway's part in one mesh: the binding that lets it in, and what
// follows from it. One whose mesh nobody here knows has no dialect: it reaches
// nothing.
type member struct {
	key        Key
	controller string
	dialect    meshsync.Dialect
	mesh       meshsync.Mesh
	selector   labels.Selector // of routes whose backends must be members
	trust      boundTrust
	account    meshsync.Account
	identity   string // "" is anonymous
	minimum    lbmodel.TLSLevel
	pad        *v1alpha1.LandingPad
}

// meshMemory keeps what all gateways of a mesh share. It is made anew when
// something changes that meshes read, so it never says anything but what the index
// would.
type meshMemory struct {
	mu     sync.Mutex
	meshes map[string]meshsync.Mesh // by controllerName
	trust  map[string]boundTrust    // by binding
}

func newMeshMemory() *meshMemory {
	return &meshMemory{meshes: map[string]meshsync.Mesh{}, trust: map[string]boundTrust{}}
}

// mesh is what holds for all of a mesh.
func (x *Index) mesh(d meshsync.Dialect) meshsync.Mesh {
	x.meshes.mu.Lock()
	defer x.meshes.mu.Unlock()
	m, ok := x.meshes.meshes[d.Controller()]
	if !ok {
		m = meshsync.MeshOf(d, meshWorld{x}, x.toldDomain(d.Controller()))
		x.meshes.meshes[d.Controller()] = m
	}
	return m
}

// toldDomain is the trust domain that bindings of a mesh name as the one of its roots
// outside of the cluster; "" is none.
func (x *Index) toldDomain(controller string) string {
	for _, b := range x.bindings() {
		for _, ref := range b.Spec.TrustBundles {
			if at := (meshsync.RootsAt{Kind: ref.Kind}); b.Spec.ControllerName == controller && at.Outside() {
				return ref.Name
			}
		}
	}
	return ""
}

// bindings are all MeshBindings, sorted by name.
func (x *Index) bindings() []*v1alpha1.MeshBinding {
	parts := x.at(Key{Kind: kindBindings}).parts
	if parts.size == 0 {
		return nil
	}
	return partsOf[*v1alpha1.MeshBinding](parts)
}

func bindingKey(b *v1alpha1.MeshBinding) Key { return Key{Kind: KindMeshBinding, Name: b.Name} }

// admits says whether a binding lets the gateways of a namespace in.
func (x *Index) admits(b *v1alpha1.MeshBinding, namespace string) bool {
	return selects(&b.Spec.Gateways.NamespaceSelector, x.labelsOf(namespace))
}

func (x *Index) labelsOf(namespace string) map[string]string {
	return namespaceLabels(namespace, x.at(Key{Kind: KindNamespace, Name: namespace}).obj)
}

// joinMeshes finds the bindings that let the gateway in.
func (t *translation) joinMeshes() {
	for _, b := range t.x.bindings() {
		if t.x.admits(b, t.key.Namespace) {
			t.members = append(t.members, t.x.member(b))
			t.meshIdentity(&t.members[len(t.members)-1], b)
		}
	}
	if len(t.members) == 0 {
		return
	}
	t.memberships = make([]Membership, len(t.members))
	for i, m := range t.members {
		t.memberships[i] = Membership{Binding: m.key, Account: m.account, Trust: m.trust.trust, Problems: m.trust.problems, Identity: m.identity, Stranger: t.stranger(&t.members[i])}
	}
	t.abilities = t.class.features
	if t.class.everything {
		t.abilities = lbmodel.FullFeatures()
	}
}

// member is what a binding means for any gateway.
func (x *Index) member(b *v1alpha1.MeshBinding) member {
	m := member{key: bindingKey(b), controller: b.Spec.ControllerName, minimum: lbmodel.TLSLevel(b.Spec.MinimumTLS), pad: b.Spec.LandingPad, selector: routeLabels(b)}
	if m.minimum == "" {
		m.minimum = lbmodel.TLSClientAndServer // the schema's default
	}
	if m.dialect = x.options.Dialects[b.Spec.ControllerName]; m.dialect == nil {
		_, problem := x.bindingProblem(b)
		m.trust.problems = []string{problem}
		return m
	}
	m.mesh = x.mesh(m.dialect)
	m.trust = x.boundTrust(b, m.mesh)
	return m
}

// routeLabels selects the routes whose backends a binding wants to be members. A
// selector that cannot be read might have meant any: it selects all, for what it
// protects must not be reached in plain text while somebody corrects it.
func routeLabels(b *v1alpha1.MeshBinding) labels.Selector {
	if b.Spec.LabelSelector == nil {
		return labels.Nothing()
	}
	s, err := metav1.LabelSelectorAsSelector(b.Spec.LabelSelector)
	if err != nil {
		return labels.Everything()
	}
	return s
}

// wants says whether a route's backends must be members (GEP-3951): by its own
// labels or by its namespace's.
func (m *member) wants(route metav1.Object, namespace map[string]string) bool {
	return m.selector.Matches(labels.Set(route.GetLabels())) || m.selector.Matches(labels.Set(namespace))
}

// selectedBy is the name of the first binding that wants a route's backends to be
// members; "" is none.
func (t *translation) selectedBy(r *route) string {
	if len(t.members) == 0 {
		return ""
	}
	namespace := t.x.labelsOf(r.key.Namespace)
	for i := range t.members {
		if t.members[i].wants(r.meta, namespace) {
			return t.members[i].key.Name
		}
	}
	return ""
}

// meshIdentity says who the gateway is in a mesh. A certificate that the Gateway
// names itself comes before the mesh's, also when it cannot be had: it does not
// turn into somebody else.
func (t *translation) meshIdentity(m *member, b *v1alpha1.MeshBinding) {
	class := string(t.gateway.Spec.GatewayClassName)
	m.account = meshsync.AccountOf(t.owner(), class, t.x.options.meshNamespace())
	if tls := t.gateway.Spec.TLS; tls != nil && tls.Backend != nil && tls.Backend.ClientCertificateRef != nil {
		m.identity = t.clientIdentity
		return
	}
	if m.dialect == nil || b.Spec.Identity.Issuer == v1alpha1.IssuerNone {
		return
	}
	name := m.key.Kind + "/" + m.key.Name
	id := lbmodel.Identity{Name: name, Source: m.key.source("identity"), Issuer: name, Signer: signerOf(b, m.dialect), KeyType: MeshKeyType}
	id.SPIFFEID, id.DNSNames = meshsync.NameOf(m.dialect, m.mesh, m.account)
	if d := b.Spec.Identity.Duration; d != nil {
		lifetime, _ := time.ParseDuration(string(*d)) // one that cannot be read is the issuer's own
		id.Renew.Lifetime = lbmodel.Duration(max(lifetime, 0))
	}
	id.Renew.Authorities = authorities(m.trust.signers())
	id.Renew.Held = t.x.held(b, m.dialect, id)
	t.identities[name] = id
	m.identity = name
}

// clientKey is the type of an identity's key; "" is not known.
func clientKey(id lbmodel.Identity) string {
	switch {
	case id.KeyType == MeshKeyType:
		return meshsync.KeyECDSA
	case id.Leaf != nil:
		return id.Leaf.KeyType
	default:
		return ""
	}
}

// authorities are the keys that a leaf may lead to. A root without a key
// identifier could be any's.
func authorities(roots []lbmodel.Root) []string {
	var out []string
	for _, r := range roots {
		if r.KeyID == "" {
			return nil
		}
		out = append(out, r.KeyID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (o Options) meshNamespace() string {
	if o.MeshNamespace == "" {
		return defaultMeshNamespace
	}
	return o.MeshNamespace
}

// Reads are the kinds by which meshes are configured, sorted: those of all dialects.
// A Snapshot has what there is of them in MeshObjects.
func (o Options) Reads() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, d := range o.Dialects {
		for _, gvk := range d.Reads() {
			if gvk.GroupKind() != gatewayKind { // has a list of its own
				out = append(out, gvk)
			}
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// knownMeshes are the controllerNames that there are dialects for.
func (o Options) knownMeshes() string {
	names := make([]string, 0, len(o.Dialects))
	for name := range o.Dialects {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "none is known here"
	}
	return "known are " + joinWords(names)
}

// bindingProblem is why a binding cannot be accepted as it stands.
func (x *Index) bindingProblem(b *v1alpha1.MeshBinding) (reason, detail string) {
	if _, known := x.options.Dialects[b.Spec.ControllerName]; !known {
		return reasonUnknownMesh, fmt.Sprintf("spec.controllerName %s is no mesh that is known; %s", b.Spec.ControllerName, x.options.knownMeshes())
	}
	if _, err := metav1.LabelSelectorAsSelector(&b.Spec.Gateways.NamespaceSelector); err != nil {
		return reasonInvalid, fmt.Sprintf("spec.gateways.namespaceSelector: %v; it selects nothing", err)
	}
	if b.Spec.LabelSelector != nil {
		if _, err := metav1.LabelSelectorAsSelector(b.Spec.LabelSelector); err != nil {
			return reasonInvalid, fmt.Sprintf("spec.labelSelector: %v; it counts as one that selects every route of its gateways", err)
		}
	}
	return "", ""
}
