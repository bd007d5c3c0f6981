package cloud

import (
	"context"
	"crypto/tls"
	"slices"
	"strconv"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/naming"
)

// pollAfter is how long a client waits before it looks again at what takes time.
const pollAfter = 20 * time.Millisecond

// Apply implements providers.Cloud. It is idempotent: a create that finds its
// object there (an earlier reply was lost) goes on from what it finds.
func (p *Provider) Apply(ctx context.Context, owner lbmodel.Owner, step lbmodel.Step, resolve providers.Resolve) (lbmodel.Resource, error) {
	a := applier{provider: p, owner: owner, step: step, resolve: resolve, refs: map[lbmodel.Handle]Ref{}}
	op := string(step.Verb) + step.ID.Kind
	if step.Verb == lbmodel.Delete {
		return lbmodel.Resource{}, located(op, step.ID, p.cloud.Delete(ctx, step.Have.Handle))
	}
	object, err := a.bring(ctx)
	if err != nil {
		return lbmodel.Resource{}, located(op, step.ID, err)
	}
	r, err := a.result(object)
	if err != nil {
		return lbmodel.Resource{}, located(op, step.ID, err)
	}
	return r, located(op, step.ID, stillPending(object))
}

// Mark implements providers.Marker.
func (p *Provider) Mark(ctx context.Context, r lbmodel.Resource, dropped time.Time) (lbmodel.Facts, error) {
	object, err := p.cloud.Mark(ctx, r.Handle, dropped)
	if err != nil {
		return lbmodel.Facts{}, located("Mark"+r.ID.Kind, r.ID, err)
	}
	return factsOf(&object), nil
}

// applier is the working state of one create or update.
type applier struct {
	provider *Provider
	owner    lbmodel.Owner
	step     lbmodel.Step
	resolve  providers.Resolve
	refs     map[lbmodel.Handle]Ref // what we sent instead of which reference
}

// bring makes the object what the step wants, whatever is there.
func (a *applier) bring(ctx context.Context) (*Object, error) {
	want, ok := a.step.Want.(Body)
	if !ok {
		return nil, lbmodel.Errorf(lbmodel.CodeInternal, "Apply", a.step.ID, "a %T is not of this provider", a.step.Want)
	}
	body, err := a.wire(want)
	if err != nil {
		return nil, err
	}
	object, err := a.current(ctx)
	switch {
	case err != nil:
		return nil, err
	case object == nil:
		return a.create(ctx, body)
	case !a.done(body, object):
		return a.update(ctx, body, object)
	default:
		return object, nil
	}
}

// wire is a Spec as the service takes it: with handles for references.
func (a *applier) wire(spec Body) (Body, error) {
	out, err := rewrite(a.step.ID.Kind, spec, func(ref Ref) (Ref, error) {
		id, _ := refID(ref)
		need, ok := a.resolve(id)
		if !ok || need.Handle == "" {
			return "", lbmodel.Errorf(lbmodel.CodeNotFound, "Apply", a.step.ID, "it needs %s, which is not there", ref)
		}
		a.refs[need.Handle] = ref
		return string(need.Handle), nil
	})
	if g, ok := out.(*EndpointGroup); ok && g.Unknown {
		g.Unknown = false
	}
	return out, err
}

// current is the object that is there already, or nil. An update knows it from its
// plan; a create asks only when it has been tried before, or when it would spend
// something for nothing: a certificate that is issued twice.
func (a *applier) current(ctx context.Context) (*Object, error) {
	known, _ := a.resolve(a.step.ID)
	switch update := a.step.Verb == lbmodel.Update; {
	case update && !a.issues():
		return seen(a.step.Have), nil
	case update:
		return a.get(ctx, a.step.Have.Handle)
	case known.Handle != "":
		return orNone(a.get(ctx, known.Handle))
	case a.issues():
		return orNone(a.find(ctx))
	default:
		return nil, nil
	}
}

// issues says whether the step asks for a new certificate.
func (a *applier) issues() bool {
	c, ok := a.step.Want.(*Certificate)
	return ok && c.Leaf == lbmodel.KnownAfterApply
}

// orNone makes an object that is not there no error.
func orNone(object *Object, err error) (*Object, error) {
	if failedWith(err, NotFound) {
		return nil, nil
	}
	return object, err
}

// seen is as much of an object as an observed resource tells.
func seen(r lbmodel.Resource) *Object {
	version, err := strconv.Atoi(r.Facts.Version)
	if err != nil {
		version = 0 // any
	}
	return &Object{Handle: r.Handle, Version: version, Leaf: r.Facts.Leaf}
}

func (a *applier) get(ctx context.Context, h lbmodel.Handle) (*Object, error) {
	object, err := a.provider.cloud.Get(ctx, h)
	return &object, err
}

// find reads the object of our name and makes sure that it is ours.
func (a *applier) find(ctx context.Context) (*Object, error) {
	object, err := a.provider.cloud.Find(ctx, a.step.ID.Kind, a.step.ID.Location, a.name())
	if err == nil && object.Tags != a.tags() {
		err = refuse(AlreadyExists, "%s %s belongs to %s", object.Kind, object.Name, object.Tags.Owner)
	}
	return &object, err
}

// name is the name in the cloud: clusters that share an account keep apart.
func (a *applier) name() string {
	return Name(a.step.ID.Name[:max(0, len(a.step.ID.Name)-naming.HashLength-1)], a.owner.Cluster, a.step.ID.Kind, a.step.ID.Name)
}

func (a *applier) tags() Tags {
	owner := a.owner
	if isShared(a.step.ID.Kind) {
		owner = lbmodel.Owner{Cluster: owner.Cluster}
	}
	return Tags{Owner: owner, ID: a.step.ID}
}

// create makes the object. If it is there after all, it is brought up to date.
func (a *applier) create(ctx context.Context, body Body) (*Object, error) {
	if a.step.Hold == lbmodel.Adopted || a.step.Hold == lbmodel.External {
		return nil, lbmodel.Errorf(lbmodel.CodeInternal, "Apply", a.step.ID, "it is %s and not ours to create", a.step.Hold)
	}
	key, err := a.key(ctx, body, nil)
	if err != nil {
		return nil, err
	}
	object, err := a.provider.cloud.Create(ctx, CreateRequest{
		Kind: a.step.ID.Kind, Location: a.step.ID.Location, Name: a.name(), Tags: a.tags(), Body: encode(body), Key: key,
	})
	if !failedWith(err, AlreadyExists) {
		return &object, err
	}
	there, err := a.find(ctx)
	if err != nil || slices.Equal(there.Body, encode(body)) {
		return there, err
	}
	return a.update(ctx, body, there)
}

// done says whether an object is already what the body says. A certificate that
// was to be issued is done when it has another leaf than the one to be replaced.
func (a *applier) done(body Body, object *Object) bool {
	want, certificate := body.(*Certificate)
	if certificate && want.Leaf == lbmodel.KnownAfterApply && object.Leaf != nil {
		old := a.step.Have.Facts.Leaf
		if a.step.Verb == lbmodel.Create || old != nil && old.SHA256 != object.Leaf.SHA256 {
			want.Leaf = object.Leaf.SHA256
		}
	}
	return slices.Equal(object.Body, encode(body))
}

// update changes the object. One that is not only ours must still be as we saw it.
func (a *applier) update(ctx context.Context, body Body, there *Object) (*Object, error) {
	key, err := a.key(ctx, body, there.Leaf)
	if err != nil {
		return nil, err
	}
	request := UpdateRequest{Handle: there.Handle, Body: encode(body), Key: key}
	if a.step.Hold == lbmodel.Adopted {
		request.Version = there.Version
	}
	object, err := a.provider.cloud.Update(ctx, request)
	return &object, err
}

// key is the key that a certificate must be sent with, and sets the leaf that it
// belongs to; nil when the cloud has it already, and for everything else.
func (a *applier) key(ctx context.Context, body Body, there *lbmodel.Leaf) (*tls.Certificate, error) {
	c, ok := body.(*Certificate)
	if !ok || there != nil && there.SHA256 == c.Leaf {
		return nil, nil
	}
	if a.provider.keys == nil {
		return nil, lbmodel.Errorf(lbmodel.CodeInternal, "Apply", a.step.ID, "this client has no keyring")
	}
	var wanted *lbmodel.Leaf
	if c.Leaf != lbmodel.KnownAfterApply {
		wanted = &lbmodel.Leaf{SHA256: c.Leaf}
	}
	identity := a.identity(c, wanted)
	pair, err := a.provider.keys(ctx, identity)
	if err != nil {
		return nil, err
	}
	leaf, err := leafOf(pair)
	if err != nil {
		return nil, lbmodel.Errorf(lbmodel.CodeInvalid, "Apply", a.step.ID, "identity %s: %w", c.Identity.Name, err)
	}
	if wanted != nil && wanted.SHA256 != leaf.SHA256 {
		return nil, refuse(KeyMismatch, "identity %s has leaf %s now, not %s: plan again", c.Identity.Name, leaf.SHA256, wanted.SHA256)
	}
	if wanted == nil && !identity.Renew.Accepts(*leaf) {
		return nil, lbmodel.Errorf(lbmodel.CodeDenied, "Apply", a.step.ID, // not tried again at once: each try is a certificate
			"the issuer of identity %s signs under authority %s, which its mesh does not publish; the live certificate stays", c.Identity.Name, leaf.Authority)
	}
	c.Leaf = leaf.SHA256
	return &pair, nil
}

// identity is a body's identity as a Keyring is asked for it: what the cloud is not
// sent, only the Spec knows.
func (a *applier) identity(body *Certificate, leaf *lbmodel.Leaf) lbmodel.Identity {
	if spec, ok := a.step.Want.(*Certificate); ok {
		return spec.wanted(leaf)
	}
	return body.wanted(leaf)
}

// result is what the service answered, with our references.
func (a *applier) result(object *Object) (lbmodel.Resource, error) {
	spec, err := decode(object.Kind, object.Body)
	if err != nil {
		return lbmodel.Resource{}, err
	}
	spec.references(func(ref *Ref) {
		if our, ok := a.refs[lbmodel.Handle(*ref)]; ok {
			*ref = our
		}
	})
	if slices.Equal(encode(spec), encode(a.step.Want)) {
		return resourceOf(a.step.ID, a.step.Want, object, a.step.Hold), nil // with its sources
	}
	return resourceOf(a.step.ID, spec, object, a.step.Hold), nil
}

// stillPending is the error of an object that is not finished: an address that is
// not there yet, or a group of endpoints none of which is known to work while
// that can still be hoped for. What uses it waits, so that no traffic is moved to
// where nothing answers.
func stillPending(o *Object) error {
	switch o.Kind {
	case KindAddress:
		if !o.Ready {
			return pending("the address is on its way")
		}
	case KindEndpointGroup:
		initial := false
		for _, h := range o.Health {
			if h == lbmodel.HealthHealthy {
				return nil
			}
			initial = initial || h == lbmodel.HealthInitial
		}
		if initial {
			return pending("no endpoint is healthy yet")
		}
	}
	return nil
}

func pending(why string) *CallError {
	return &CallError{Code: NotReady, Message: why, RetryAfter: pollAfter}
}

// factsOf are what the cloud says of an object. Addresses are those that a
// Balancer answers at: one that is reserved and serves nobody yet is no gateway's.
func factsOf(o *Object) lbmodel.Facts {
	out := lbmodel.Facts{Version: strconv.Itoa(o.Version), Since: o.Since, DroppedAt: o.Dropped, Leaf: o.Leaf, Health: o.Health}
	for _, address := range o.Serves {
		out.Addresses = append(out.Addresses, lbmodel.Address{Type: lbmodel.AddressIP, Value: address})
	}
	return out
}
