package cloud

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/naming"
)

// admitNew checks what is particular to a new object, and reads its body.
func (c *Cloud) admitNew(r CreateRequest) (Body, error) {
	known := c.options.Locations
	switch {
	case r.Location == "" || len(known) > 0 && !slices.Contains(known, r.Location):
		return nil, refuse(UnknownLocation, "there is no location %q; there are %s", r.Location, strings.Join(known, ", "))
	case !naming.Legal(r.Name, NameLimit):
		return nil, refuse(InvalidArgument, "name %q is not a DNS label of at most %d characters", r.Name, NameLimit)
	case r.Key != nil && r.Kind != KindCertificate:
		return nil, refuse(InvalidArgument, "a %s has no key", r.Kind)
	}
	body, err := decode(r.Kind, r.Body)
	if err != nil {
		return nil, refuse(InvalidArgument, "%w", err)
	}
	if o := c.state.names[key{r.Location, r.Kind, r.Name}]; o != nil {
		return nil, refuse(AlreadyExists, "%s %s is there already: %s", r.Kind, r.Name, o.handle())
	}
	return body, nil
}

// admit refuses what a strict cloud refuses of an object's next form. old is nil
// for a new one.
func (c *Cloud) admit(old, next *object) error {
	if err := next.body.check(); err != nil {
		return refuse(InvalidArgument, "%s %s: %w", next.Kind, next.Name, err)
	}
	if old != nil && !bytes.Equal(encode(old.body.frozen()), encode(next.body.frozen())) {
		return refuse(Immutable, "%s %s: this change needs a new %s", next.Kind, next.Name, next.Kind)
	}
	if err := c.admitReferences(next); err != nil {
		return err
	}
	if err := c.admitSlot(next); err != nil {
		return err
	}
	return c.admitAmount(old, next)
}

// targets are the kinds that each kind's references may lead to.
var targets = map[string][]string{
	KindBalancer: {KindAddress, KindNetwork},
	KindListener: {KindBalancer, KindCertificate, KindTrust},
	KindRule:     {KindListener, KindPool},
	KindPool:     {KindEndpointGroup, KindTrust, KindCertificate},
}

// admitReferences refuses a reference to nothing, to another location, to a kind
// that cannot stand there, and an address that another balancer has.
func (c *Cloud) admitReferences(next *object) error {
	for ref := range referencesOf(next.body) {
		to := c.state.objects[ref]
		switch {
		case to == nil:
			return refuse(ReferenceNotFound, "%s %s refers to %s, which is not there", next.Kind, next.Name, ref)
		case to.Location != next.Location:
			return refuse(InvalidArgument, "%s %s is in %s and refers to %s in %s", next.Kind, next.Name, next.Location, ref, to.Location)
		case !slices.Contains(targets[next.Kind], to.Kind):
			return refuse(InvalidArgument, "%s %s refers to %s: a %s cannot stand there", next.Kind, next.Name, ref, to.Kind)
		case to.Kind == KindAddress:
			if err := c.admitAddress(next, to); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cloud) admitAddress(next, address *object) error {
	for _, user := range c.state.usersOf(address.handle(), KindBalancer) {
		if user.Seq != next.Seq {
			return refuse(SlotTaken, "address %s is used by Balancer %s", address.Name, user.Name)
		}
	}
	if !c.passed(address.ReadyAt) {
		return refuse(NotReady, "address %s is not there yet", address.Name)
	}
	return nil
}

// admitSlot refuses what somebody else holds: a slot, or (by another protocol) a
// port.
func (c *Cloud) admitSlot(next *object) error {
	slot := slotOf(next.body)
	if holder := c.state.slots[next.Location+" "+slot]; slot != "" && holder != nil && holder.Seq != next.Seq {
		return refuse(SlotTaken, "%s %s wants %s, which %s %s holds", next.Kind, next.Name, slot, holder.Kind, holder.Name)
	}
	l, ok := next.body.(*Listener)
	if !ok {
		return nil
	}
	for _, o := range c.state.usersOf(lbmodel.Handle(l.Balancer), KindListener) {
		other := o.body.(*Listener)
		if o.Seq != next.Seq && other.Port == l.Port && other.transport() == l.transport() && !mix(l.Protocol, other.Protocol) {
			return refuse(SlotTaken, "port %d speaks %s for Listener %s, and cannot speak %s", l.Port, other.Protocol, o.Name, l.Protocol)
		}
	}
	return nil
}

// mix says whether two protocols can share a port: those that are told apart by
// the server name of the TLS handshake can.
func mix(a, b lbmodel.Protocol) bool {
	encrypted := []lbmodel.Protocol{lbmodel.ProtocolHTTPS, lbmodel.ProtocolTLS}
	return a == b && a != lbmodel.ProtocolTCP && a != lbmodel.ProtocolUDP ||
		slices.Contains(encrypted, a) && slices.Contains(encrypted, b)
}

// admitAmount refuses what is over a limit.
func (c *Cloud) admitAmount(old, next *object) error {
	if old == nil {
		if err := c.admitOneMore(next); err != nil {
			return err
		}
	}
	limits := c.options.Limits
	switch body := next.body.(type) {
	case *Listener:
		if err := within("source ranges of a listener", len(body.SourceRanges), limits.SourceRanges); err != nil || body.TLS == nil {
			return err
		}
		return within("certificates of a listener", len(body.TLS.Certificates), limits.CertificatesEach)
	case *Rule:
		if body.Action.Forward == nil {
			return nil
		}
		return within("backends of a rule", len(body.Action.Forward.Backends), limits.Backends)
	case *EndpointGroup:
		return within("endpoints of a group", len(body.Endpoints), limits.Endpoints)
	default:
		return nil
	}
}

// admitOneMore refuses a new object where there are enough of its kind.
func (c *Cloud) admitOneMore(o *object) error {
	children := func(parent Ref) int { return len(c.state.users[lbmodel.Handle(parent)]) + 1 }
	switch body := o.body.(type) {
	case *Address:
		return within("addresses in "+o.Location, len(c.state.used[o.Location])+1, c.options.Limits.Addresses)
	case *Listener:
		return within("listeners of "+body.Balancer, children(body.Balancer), c.options.Limits.Listeners)
	case *Rule:
		return within("rules of "+body.Listener, children(body.Listener), c.options.Limits.Rules)
	default:
		return nil
	}
}

// within is the refusal when there would be more than a limit allows.
func within(what string, n, limit int) error {
	if n > limit {
		return refuse(LimitExceeded, "%d %s, the limit is %d", n, what, limit)
	}
	return nil
}

// kindOf and seqOf read a handle; what is not one has no kind, and number 0.
func kindOf(h lbmodel.Handle) string {
	parts := strings.Split(string(h), "/")
	if len(parts) != 4 {
		return "Object"
	}
	return parts[2]
}

func seqOf(h lbmodel.Handle) int {
	parts := strings.Split(string(h), "/")
	seq, err := strconv.Atoi(parts[len(parts)-1])
	if err != nil {
		return 0
	}
	return seq
}
