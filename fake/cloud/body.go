package cloud

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"

	"gatehouse.dev/lbmodel"
)

// The kinds of objects in this cloud.
const (
	KindAddress       = "Address"
	KindNetwork       = "Network"
	KindBalancer      = "Balancer"
	KindListener      = "Listener"
	KindRule          = "Rule"
	KindPool          = "Pool"
	KindEndpointGroup = "EndpointGroup"
	KindTrust         = "Trust"
	KindCertificate   = "Certificate"
)

// Body is what an object of one kind is told to be: [Address], [Network],
// [Balancer], [Listener], [Rule], [Pool], [EndpointGroup], [Trust] or
// [Certificate], as a pointer.
//
// One type is both the provider's Spec and the cloud's wire format. They differ in
// their references only: a Spec names other resources by ID, the wire by handle.
type Body interface {
	lbmodel.Spec
	// references shows every reference in the body, to be read or replaced.
	references(func(*Ref))
	// frozen is the part that cannot be changed after creation.
	frozen() any
	// check is what is wrong with the fields by themselves.
	check() error
}

// Ref names another object: in a Spec the text of its ID (see [RefTo]), in the
// cloud its handle.
type Ref = string

// RefTo is the reference to a resource in a Spec.
func RefTo(id lbmodel.ID) Ref { return id.String() }

// refID is the ID that a Spec's reference names. Kinds and locations have no
// dots; names may.
func refID(ref Ref) (lbmodel.ID, bool) {
	parts := strings.SplitN(ref, ".", 3)
	if len(parts) != 3 {
		return lbmodel.ID{}, false
	}
	return lbmodel.ID{Kind: parts[0], Location: parts[1], Name: parts[2]}, true
}

// needs are the IDs that a body's references name.
func needs(b Body) []lbmodel.ID {
	var out []lbmodel.ID
	b.references(func(ref *Ref) {
		if id, ok := refID(*ref); ok {
			out = append(out, id)
		}
	})
	return out
}

// newBody is an empty body of a kind, or nil when there is no such kind.
func newBody(kind string) Body {
	switch kind {
	case KindAddress:
		return new(Address)
	case KindNetwork:
		return new(Network)
	case KindBalancer:
		return new(Balancer)
	case KindListener:
		return new(Listener)
	case KindRule:
		return new(Rule)
	case KindPool:
		return new(Pool)
	case KindEndpointGroup:
		return new(EndpointGroup)
	case KindTrust:
		return new(Trust)
	case KindCertificate:
		return new(Certificate)
	default:
		return nil
	}
}

// decode reads a body strictly: a field that the kind does not have is an error.
func decode(kind string, raw jsontext.Value) (Body, error) {
	body := newBody(kind)
	if body == nil {
		return nil, fmt.Errorf("there is no kind %q", kind)
	}
	if err := json.Unmarshal(raw, body, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("body of a %s: %w", kind, err)
	}
	return body, nil
}

// encode writes a value deterministically. The types of this package can always be
// encoded, so a failure is a bug that the first test shows.
func encode(v any) jsontext.Value {
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("cloud: %T cannot be encoded: %v", v, err))
	}
	return out
}

// rewrite is a copy of a body with every reference replaced.
func rewrite(kind string, body Body, replace func(Ref) (Ref, error)) (Body, error) {
	out, err := decode(kind, encode(body))
	if err != nil {
		return nil, err
	}
	out.references(func(ref *Ref) {
		to, e := replace(*ref)
		if e != nil {
			err = e
			return
		}
		*ref = to
	})
	return out, err
}

// show calls f with each of the references that are set.
func show(f func(*Ref), refs ...*Ref) {
	for _, ref := range refs {
		if *ref != "" {
			f(ref)
		}
	}
}

// showAll is show for a list.
func showAll(f func(*Ref), refs []Ref) {
	for i := range refs {
		show(f, &refs[i])
	}
}

// slotOf is the exclusive thing that a body holds, or "".
func slotOf(b Body) string {
	if s, ok := b.(lbmodel.Slotted); ok {
		return s.Slot()
	}
	return ""
}
