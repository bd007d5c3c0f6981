package lbmodel

import (
	"crypto/sha256"
	"encoding/json/v2"
	"fmt"
	"net"
	"strconv"
	"time"
)

// ID names a resource: our name, not the cloud's. What a cloud cannot change in
// place is hashed into Name by Compile, and what lives inside a parent carries
// the parent's name, so that a replacement is another ID.
type ID struct {
	Kind     string `json:"kind,omitzero"`
	Location string `json:"location,omitzero"`
	Name     string `json:"name,omitzero"`
}

// String is kind.location.name as plans print it.
func (id ID) String() string {
	if id.Location == "" {
		return id.Kind + "." + id.Name
	}
	return id.Kind + "." + id.Location + "." + id.Name
}

// Compare orders IDs by kind, location and name.
func (id ID) Compare(other ID) int {
	if c := compare(id.Kind, other.Kind); c != 0 {
		return c
	}
	if c := compare(id.Location, other.Location); c != 0 {
		return c
	}
	return compare(id.Name, other.Name)
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// Spec is a provider's own value for one resource, complete for what we own. It
// must encode to JSON deterministically and hold no secret.
type Spec interface {
	// Needs are the resources that must exist before this one and may not go
	// before it.
	Needs() []ID
}

// Slotted is a Spec that holds something exclusive, such as a port of an
// address or a priority of a listener. Two resources may not hold one slot at a
// time.
type Slotted interface {
	Slot() string
}

// Rooted is a Spec that holds roots, those that are on their way out too: they have
// Root.Dropped. Statuses tell of them.
type Rooted interface {
	TrustRoots() []Root
}

// Explained is a Spec that knows what the user must agree to before a step is
// done, such as a changed address. Verb is Create, Update or Delete; have is
// nil for Create.
type Explained interface {
	Impact(verb Verb, have Spec) string
}

// Renewing is a Spec that must be applied again at some time although nobody
// changes it, such as a certificate before it ends, or roots of which one is to go.
// RenewAt is that time by what is known of the resource: the one from which on Place
// asks for something else. Zero is never, or not ours to renew. One that has a method
// RenewWhy() string says with it what becomes of it; else it "renews".
type Renewing interface {
	RenewAt(Facts) time.Time
}

// Handle is the cloud's own name of a resource (an ARN, a self link); empty until
// it was created.
type Handle string

// Hold says what we may do with a resource.
type Hold uint8

// The holds. The zero value is Own.
const (
	Own      Hold = iota // create, update, delete
	Shared               // likewise, but merged over all live gateways of an account and location
	Adopted              // only Spec's fields are ours: update, never create, delete or tag
	External             // resolves and fills slots, never a step
)

// String is the hold's name.
func (h Hold) String() string {
	return [...]string{"Own", "Shared", "Adopted", "External"}[h&3]
}

// Sourced is a Spec that knows which objects it came from, so that a failed step
// becomes a condition on the right listener, route or policy.
type Sourced interface {
	Sources() []Source
}

// Digest identifies a Spec by content. Diff compares digests only.
type Digest [sha256.Size]byte

// Resource is a node of a Graph. Wanted ones carry ID, Spec, Digest and Hold;
// observed ones also Handle and Facts.
type Resource struct {
	ID     ID
	Owner  Owner // zero for Shared and External
	Spec   Spec
	Digest Digest
	Handle Handle
	Facts  Facts
	Hold   Hold
}

// Facts are what the cloud knows and nobody wishes for.
type Facts struct {
	Addresses []Address         `json:"addresses,omitempty"`
	Health    map[Target]Health `json:"health,omitempty"`
	Version   string            `json:"version,omitzero"` // etag or fingerprint for optimistic concurrency
	Leaf      *Leaf             `json:"leaf,omitzero"`
	Since     time.Time         `json:"since,omitzero"`     // when it took its present form; written with the cloud object
	DroppedAt time.Time         `json:"droppedAt,omitzero"` // since when it is kept although it is not wanted; zero while it is, or when nobody noted it
}

// Target is an endpoint as health reports name it: "address:port".
type Target string

// Target is the endpoint as health reports name it.
func (e Endpoint) Target() Target {
	return Target(net.JoinHostPort(e.Address+e.FQDN, strconv.Itoa(int(e.Port))))
}

// Health is what a provider's health check says of a target.
type Health string

// The health states.
const (
	HealthUnknown   Health = "Unknown"
	HealthInitial   Health = "Initial"
	HealthHealthy   Health = "Healthy"
	HealthUnhealthy Health = "Unhealthy"
	HealthDraining  Health = "Draining"
)

// Graph is a set of resources by ID. Edges are the Specs' Needs.
type Graph map[ID]Resource

// NewResource makes a wanted (or observed) resource with its digest. It panics
// when the spec cannot be encoded: such a type is a bug that its first test
// shows.
func NewResource(id ID, spec Spec) Resource {
	return Resource{ID: id, Spec: spec, Digest: DigestOf(spec)}
}

// With is the resource under another hold.
func (r Resource) With(h Hold) Resource {
	r.Hold = h
	return r
}

// Add puts a resource into the graph. Adding one ID twice with different content
// is an error; with the same content it is not.
func (g Graph) Add(r Resource) error {
	if old, ok := g[r.ID]; ok && old.Digest != r.Digest {
		return Errorf(CodeInternal, "compile", r.ID, "%s is described twice, differently", r.ID)
	}
	g[r.ID] = r
	return nil
}

// DigestOf is the SHA-256 of the spec's canonical encoding.
func DigestOf(spec Spec) Digest { return sha256.Sum256(canonical(spec)) }

func canonical(v any) []byte {
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("lbmodel: %T cannot be encoded: %v", v, err))
	}
	return out
}
