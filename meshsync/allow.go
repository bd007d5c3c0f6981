package meshsync

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Authorizer is a Dialect that knows what of its mesh decides whom it lets in. A mesh
// that ends a gateway's TLS may still refuse the gateway.
type Authorizer interface {
	// Permits are the kinds, besides those of Dialect.Reads, by which the mesh may refuse
	// a gateway. Only who asks Allow reads them: nothing that is programmed hangs on them.
	Permits() []schema.GroupVersionKind
	// Allow says whether a gateway is let in at a pod's port, and offers what would let
	// it in where it is not. The World has the kinds of Permits.
	Allow(World, Mesh, Entry) Allowance
}

// Registrar is an Authorizer whose Allow knows more where other kinds are read too:
// those by which a gateway becomes somebody, and which refuse nobody.
type Registrar interface {
	Registers() []schema.GroupVersionKind
}

// Entry is a gateway that would come in at the port of a pod that is a member.
type Entry struct {
	Client Client
	// With are other gateways that are to be let in there, for objects that must name
	// all of them at once.
	With []Client
	Port Port
	Pod  *corev1.Pod
}

// Client is a gateway as a mesh knows it: by its certificate. One without a name shows
// none.
type Client struct {
	Name     string // for a person: the Gateway's namespace/name
	Account  Account
	SPIFFEID string
	DNSNames []string
	// Agent says that a SPIFFE agent gives the certificate, which must know the gateway.
	Agent bool
}

// Anonymous says that the gateway shows no certificate: no policy can name it.
func (c Client) Anonymous() bool { return c.SPIFFEID == "" && len(c.DNSNames) == 0 }

// Need is whether something must be allowed before a gateway is let in.
type Need string

// The needs.
const (
	NotNeeded   Need = "NotNeeded" // it is let in as it is
	Needed      Need = "Needed"    // it is refused
	NeedUnknown Need = "Unknown"   // it hangs on what no object says
)

// Allowance is whether a gateway is let in, and what would let it in.
type Allowance struct {
	Need Need
	Why  string // one sentence: the object that decides
	// Assumed says that a Need of Needed rests on nothing that lets it in being found,
	// where something may that is in no object which is read.
	Assumed bool
	// Offers are to be applied together, in their order. None where nothing is needed, or
	// where no object can help.
	Offers []Offer
}

// Refused says that the gateway is refused, by what objects of the cluster say alone.
func (a Allowance) Refused() bool { return a.Need == Needed && !a.Assumed }

// Helps says whether there is something to apply or to run.
func (a Allowance) Helps() bool {
	return slices.ContainsFunc(a.Offers, func(o Offer) bool { return o.YAML != "" || o.Command != "" })
}

// Offer is something for whoever owns the pods to apply: we never do.
type Offer struct {
	Say     string // one sentence: what it does, and to whom besides
	YAML    string // one object; "" where none could be written
	Command string // where it is none: to be run by hand, with what only a person knows as $NAME
}

// Worst is what several pods come to together: refused by one is refused, and what is
// offered for any is offered, once.
func Worst(all []Allowance) Allowance {
	rank := map[Need]int{NotNeeded: 1, NeedUnknown: 2, Needed: 3}
	var out Allowance
	seen := map[Offer]bool{}
	for _, a := range all {
		if rank[a.Need] > rank[out.Need] || a.Need == out.Need && out.Assumed && !a.Assumed {
			out.Need, out.Why, out.Assumed = a.Need, a.Why, a.Assumed
		}
		for _, o := range a.Offers {
			if !seen[o] {
				seen[o] = true
				out.Offers = append(out.Offers, o)
			}
		}
	}
	return out
}

// Nameless is the Allowance of a gateway whose certificate, if it has any, does not name
// it as policies of the mesh do.
func Nameless(why string) Allowance {
	return Allowance{Need: Needed, Why: why + ", and the gateway shows no certificate by which a policy could name it: set identity.issuer of the MeshBinding to another than None, or give its own certificate the name that the mesh's would have."}
}
