package memcloud

import (
	"fmt"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// Address is a balancer's address. A class is for life, so a new class is a new
// address.
type Address struct {
	Class string `json:"class"`
	Label string `json:"label,omitzero"`
}

// Held is the one field that is ours of an adopted Address.
type Held struct {
	Label string `json:"label"`
}

// Listener is a port of an address.
type Listener struct {
	Address    lbmodel.ID       `json:"address"`
	Port       int32            `json:"port"`
	Protocol   lbmodel.Protocol `json:"protocol"`
	Identities []lbmodel.ID     `json:"identities,omitempty"`
}

// Rule answers requests; the lowest priority of an address that matches wins.
type Rule struct {
	Listener lbmodel.ID        `json:"listener"`
	Address  lbmodel.ID        `json:"address"`
	Priority int               `json:"priority"` // unique in the address
	Host     string            `json:"host,omitzero"`
	Path     lbmodel.PathMatch `json:"path,omitzero"`
	Fixed    int               `json:"fixed,omitzero"`
	Shares   []Share           `json:"shares,omitempty"`

	bug Bug
}

// Share is a part of a rule's requests.
type Share struct {
	Backend lbmodel.ID `json:"backend,omitzero"`
	Weight  int32      `json:"weight"`
	Fixed   int        `json:"fixed,omitzero"` // in the place of a Backend
}

// Backend says how a group of endpoints is spoken to. Its protocol is for life.
type Backend struct {
	Protocol lbmodel.PoolProtocol `json:"protocol"`
	Group    lbmodel.ID           `json:"group"`
	SNI      string               `json:"sni,omitzero"`
	Trust    lbmodel.ID           `json:"trust,omitzero"`
	Identity lbmodel.ID           `json:"identity,omitzero"`
}

// Group is a set of endpoints that gateways share.
type Group struct {
	Endpoints []string `json:"endpoints"`
	Unknown   bool     `json:"unknown,omitzero"` // keep what is there
}

// Trust is a set of roots that gateways share.
type Trust struct {
	Roots []lbmodel.Root `json:"roots,omitempty"`
	Wish  *lbmodel.Trust `json:"wish,omitempty"` // how roots come and go; until Place

	next time.Time // when a root is to go
	bug  Bug
}

// Identity is a certificate; its key is in the cloud only.
type Identity struct {
	Wish lbmodel.Identity `json:"wish"`
	Leaf string           `json:"leaf,omitzero"` // "" is issued at Apply

	authority   string   // of the leaf, in the cloud
	authorities []string // of Wish.Renew, after Place
	held        *lbmodel.Held
	bug         Bug
}

// Needs implements lbmodel.Spec.
func (Address) Needs() []lbmodel.ID { return nil }

// Impact implements lbmodel.Explained.
func (Address) Impact(verb lbmodel.Verb, _ lbmodel.Spec) string {
	if verb == lbmodel.Delete {
		return "the gateway loses this address"
	}
	return ""
}

// Needs implements lbmodel.Spec.
func (Held) Needs() []lbmodel.ID { return nil }

// Needs implements lbmodel.Spec.
func (l Listener) Needs() []lbmodel.ID { return append(slices.Clone(l.Identities), l.Address) }

// Slot implements lbmodel.Slotted.
func (l Listener) Slot() string { return fmt.Sprintf("%s port %d", l.Address, l.Port) }

// Impact implements lbmodel.Explained.
func (l Listener) Impact(verb lbmodel.Verb, _ lbmodel.Spec) string {
	if verb == lbmodel.Delete {
		return fmt.Sprintf("port %d of %s stops answering", l.Port, l.Address)
	}
	return ""
}

// Needs implements lbmodel.Spec.
func (r Rule) Needs() []lbmodel.ID {
	out := []lbmodel.ID{r.Listener}
	for _, s := range r.Shares {
		if s.Fixed == 0 {
			out = append(out, s.Backend)
		}
	}
	return out
}

// Slot implements lbmodel.Slotted.
func (r Rule) Slot() string { return fmt.Sprintf("%s priority %d", r.Address, r.Priority) }

// Needs implements lbmodel.Spec.
func (b Backend) Needs() []lbmodel.ID {
	out := []lbmodel.ID{b.Group}
	for _, id := range []lbmodel.ID{b.Trust, b.Identity} {
		if id != (lbmodel.ID{}) {
			out = append(out, id)
		}
	}
	return out
}

// Needs implements lbmodel.Spec.
func (Group) Needs() []lbmodel.ID { return nil }

// Flows implements lbmodel.Flowing.
func (Group) Flows(lbmodel.Spec) bool { return true }

// Structure implements lbmodel.Flowing.
func (Group) Structure() lbmodel.Spec { return Group{Unknown: true} }

// Needs implements lbmodel.Spec.
func (Trust) Needs() []lbmodel.ID { return nil }

// Flows implements lbmodel.Flowing.
func (t Trust) Flows(have lbmodel.Spec) bool {
	old, ok := have.(Trust)
	return ok && lbmodel.RotationFlows(t.Roots, old.Roots)
}

// Structure implements lbmodel.Flowing.
func (t Trust) Structure() lbmodel.Spec { return Trust{Roots: lbmodel.Published(t.Roots)} }

// RenewAt implements lbmodel.Renewing.
func (t Trust) RenewAt(lbmodel.Facts) time.Time {
	if t.bug == RotatesUnheard {
		return time.Time{}
	}
	return t.next
}

// Needs implements lbmodel.Spec.
func (Identity) Needs() []lbmodel.ID { return nil }

// RenewAt implements lbmodel.Renewing.
func (i Identity) RenewAt(f lbmodel.Facts) time.Time {
	if i.Wish.Issuer == lbmodel.IssuerSecret || f.Leaf == nil || i.bug == NeverAlarms {
		return time.Time{}
	}
	return i.asked().RenewAt(*f.Leaf)
}

// asked is the identity as it is asked for.
func (i Identity) asked() lbmodel.Identity {
	out := i.Wish
	out.Renew.Authorities, out.Renew.Held = i.authorities, i.held
	return out
}

// Flows implements lbmodel.Flowing.
func (i Identity) Flows(have lbmodel.Spec) bool {
	return i.bug != RenewalIsStructure && lbmodel.DigestOf(i.Structure()) == lbmodel.DigestOf(have.(Identity).Structure())
}

// Structure implements lbmodel.Flowing.
func (i Identity) Structure() lbmodel.Spec {
	return Identity{Wish: i.Wish, Leaf: lbmodel.KnownAfterApply, bug: i.bug}
}

// immutable is the part of a spec that the service never changes.
func immutable(spec lbmodel.Spec) string {
	switch s := spec.(type) {
	case Address:
		return s.Class
	case Backend:
		return string(s.Protocol)
	case Rule:
		return s.Listener.String()
	default:
		return ""
	}
}
