package linkerd

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// The kinds that let clients in where the policy of a port does not.
var (
	policyKind  = schema.GroupKind{Group: "policy.linkerd.io", Kind: "AuthorizationPolicy"}
	meshTLSKind = schema.GroupKind{Group: "policy.linkerd.io", Kind: "MeshTLSAuthentication"}
	networkKind = schema.GroupKind{Group: "policy.linkerd.io", Kind: "NetworkAuthentication"}
	olderKind   = schema.GroupKind{Group: "policy.linkerd.io", Kind: "ServerAuthorization"}
)

var _ meshsync.Authorizer = Dialect{}

// Permits implements meshsync.Authorizer.
func (Dialect) Permits() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		policyKind.WithVersion("v1alpha1"), meshTLSKind.WithVersion("v1alpha1"), olderKind.WithVersion("v1beta1"),
	}
}

// Allow implements meshsync.Authorizer: the port's policy first, which is the Server's
// or a default, and then the AuthorizationPolicies of the Server, which only add to it.
func (d Dialect) Allow(w meshsync.World, m meshsync.Mesh, e meshsync.Entry) meshsync.Allowance {
	a := asked{world: w, settings: settingsOf(m), port: e.Port, pod: e.Pod}
	srv := serverOf(w, e.Pod, e.Port.Target)
	p := a.policyAt(srv)
	switch says := a.where(srv) + " is " + string(p); {
	case p.anybody():
		return meshsync.Allowance{Need: meshsync.NotNeeded, Why: says + ": everybody is let in."}
	case p == allAuthenticated && !e.Client.Anonymous():
		return meshsync.Allowance{Need: meshsync.NotNeeded, Why: says + ": every client with a certificate of the mesh is let in."}
	}
	g := granting{asked: a, client: e.Client}
	if srv != nil {
		g.read(srv)
	}
	return g.allowance(srv, p)
}

// granting is what the AuthorizationPolicies of a Server come to for a client.
type granting struct {
	asked
	client     meshsync.Client
	admits     string
	conditions []string
}

// holds is whether what a policy asks for is so.
type holds int

// The answers, least first: all that a policy asks for must be so.
const (
	isNot holds = iota
	mayBe
	isSo
)

func (g *granting) read(srv *server) {
	ns, name := g.pod.Namespace, srv.object.GetName()
	for _, o := range g.world.Objects(policyKind, ns) {
		target := workload.Map(o.Object, "spec", "targetRef")
		h := g.policy(o)
		switch kind := target["kind"]; {
		case kind == serverKind.Kind && target["name"] == name, kind == "Namespace" && target["name"] == ns:
		case kind == serverKind.Kind || kind == "Namespace":
			continue
		default: // a route of the Server's
			h = min(h, mayBe)
		}
		g.take(policyKind.Kind+" "+ns+"/"+o.GetName(), h)
	}
	for _, o := range g.world.Objects(olderKind, ns) {
		g.take(olderKind.Kind+" "+ns+"/"+o.GetName(), min(mayBe, g.older(o, srv)))
	}
}

func (g *granting) take(name string, h holds) {
	switch {
	case h == isSo && g.admits == "":
		g.admits = name
	case h == mayBe:
		g.conditions = append(g.conditions, name)
	}
}

// older is whether a ServerAuthorization is about the Server; what it asks for is not
// read.
func (g *granting) older(o *unstructured.Unstructured, srv *server) holds {
	of := workload.Map(o.Object, "spec", "server")
	if name, ok := of["name"].(string); ok && name != srv.object.GetName() {
		return isNot
	}
	if selector := workload.Map(of, "selector"); selector != nil {
		if ok, err := workload.Selects(selector, srv.object.GetLabels()); err == nil && !ok {
			return isNot
		}
	}
	return mayBe
}

// policy is whether all of its authentications hold; without any it is for everybody.
func (g *granting) policy(o *unstructured.Unstructured) holds {
	refs, ok, err := unstructured.NestedSlice(o.Object, "spec", "requiredAuthenticationRefs")
	if err != nil || !ok {
		return mayBe
	}
	out := isSo
	for _, ref := range refs {
		fields, _ := ref.(map[string]any)
		out = min(out, g.reference(fields))
	}
	return out
}

func (g *granting) reference(ref map[string]any) holds {
	kind, _ := ref["kind"].(string)
	name, _ := ref["name"].(string)
	ns, ok := ref["namespace"].(string)
	if !ok {
		ns = g.pod.Namespace
	}
	switch kind {
	case "ServiceAccount":
		return g.is(meshsync.Account{Namespace: ns, Name: name})
	case networkKind.Kind:
		return mayBe // from where a load balancer connects, no object says
	case meshTLSKind.Kind:
		for _, o := range g.world.Objects(meshTLSKind, ns) {
			if o.GetName() == name {
				return g.meshTLS(o)
			}
		}
		return isNot // Linkerd ignores a policy whose reference leads nowhere
	default:
		return mayBe
	}
}

func (g *granting) meshTLS(o *unstructured.Unstructured) holds {
	identities, _, err := unstructured.NestedStringSlice(o.Object, "spec", "identities")
	if err != nil {
		return mayBe
	}
	out := isNot
	for key := range workload.Map(o.Object, "spec") {
		if key != "identities" && key != "identityRefs" {
			out = mayBe
		}
	}
	for _, pattern := range identities {
		if slices.ContainsFunc(g.names(), func(name string) bool { return covers(pattern, name) }) {
			return isSo
		}
	}
	for _, ref := range workload.List(o.Object, "spec", "identityRefs") {
		ns, ok := ref["namespace"].(string)
		if !ok {
			ns = o.GetNamespace()
		}
		name, named := ref["name"].(string)
		switch {
		case ref["kind"] == "Namespace" && named:
			ns, name = name, g.client.Account.Name
		case ref["kind"] == "Namespace":
			name = g.client.Account.Name
		case ref["kind"] != "ServiceAccount":
			out = max(out, mayBe)
			continue
		}
		out = max(out, g.is(meshsync.Account{Namespace: ns, Name: name}))
	}
	return out
}

// is whether the gateway is that ServiceAccount to the mesh.
func (g *granting) is(a meshsync.Account) holds {
	if a == g.client.Account && slices.Contains(g.names(), Name(a.Name, a.Namespace, or(g.pod.Labels[labelControlPlane], defaultNamespace), g.settings.TrustDomain)) {
		return isSo
	}
	return isNot
}

// names are whom the proxies take the gateway for: the first of its certificate.
func (g *granting) names() []string {
	switch {
	case len(g.client.DNSNames) > 0:
		return g.client.DNSNames[:1]
	case g.client.SPIFFEID != "":
		return []string{g.client.SPIFFEID}
	default:
		return nil
	}
}

// covers compares an identity with one that may begin with a star.
func covers(pattern, name string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(name, suffix)
	}
	return pattern == name
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func (g *granting) allowance(srv *server, p policy) meshsync.Allowance {
	says := g.where(srv) + " is " + string(p)
	if g.admits != "" {
		return meshsync.Allowance{Need: meshsync.NotNeeded, Why: g.admits + " lets it in."}
	}
	out := meshsync.Allowance{Need: meshsync.Needed, Why: says + ", and no AuthorizationPolicy names the gateway."}
	switch {
	case !p.known():
		out = meshsync.Allowance{Need: meshsync.NeedUnknown, Why: says + ", which is no policy that is known here, and no AuthorizationPolicy names the gateway."}
	case len(g.conditions) > 0:
		out = meshsync.Allowance{Need: meshsync.NeedUnknown, Why: says + ", and on what more than an identity " + strings.Join(g.conditions, ", ") + " lets clients in is not read."}
	case p == clusterUnauthenticated || p == clusterAuthenticated && !g.client.Anonymous():
		out = meshsync.Allowance{Need: meshsync.NeedUnknown, Why: says + ": it lets in addresses of clusterNetworks only, and from which a load balancer connects no object says."}
	case g.client.Anonymous():
		return meshsync.Nameless(says)
	}
	if !g.client.Anonymous() {
		out.Offers = g.offers(srv, p)
	}
	return out
}

// offers make a Server first where there is none: of its own a port has no
// AuthorizationPolicy.
func (g *granting) offers(srv *server, p policy) (out []meshsync.Offer) {
	at := fmt.Sprintf("port %d of Service %s/%s", g.port.Target, g.pod.Namespace, g.port.Service.Name)
	name := fmt.Sprintf("%s-%d", g.port.Service.Name, g.port.Target) // as readable has it
	if srv == nil {
		fix := g.readable(nil, p)
		if fix.YAML == "" {
			return []meshsync.Offer{{Say: "Let a Server select " + at + ", with accessPolicy " + string(p) + ": a port without one has no AuthorizationPolicy. Then ask again."}}
		}
		out = append(out, meshsync.Offer{
			Say:  "Selects " + at + ", so that an AuthorizationPolicy can be for it. It keeps the port's policy: " + string(p) + ".",
			YAML: fix.YAML,
		})
	} else {
		name = srv.object.GetName()
	}
	docs := Authorization(Grant{Namespace: g.pod.Namespace, Server: name, Name: g.client.Account.Name, Clients: g.names()})
	return append(out,
		meshsync.Offer{Say: "Names Gateway " + g.client.Name + ".", YAML: docs[0]},
		meshsync.Offer{
			Say:  "Lets Gateway " + g.client.Name + " in at " + at + ", from anywhere. To bind it to the load balancer's addresses, add a NetworkAuthentication with its ranges: all references must hold.",
			YAML: docs[1],
		})
}
