package gcp

import (
	"context"
	"errors"
	"time"

	"gatehouse.dev/internal/gcpcalls"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Apply implements providers.Cloud. What finds its effect there already (an earlier
// reply was lost, or an operation took longer than a worker waits) goes on from what it
// finds.
func (p *Provider) Apply(ctx context.Context, owner lbmodel.Owner, step lbmodel.Step, resolve providers.Resolve) (lbmodel.Resource, error) {
	c := &change{Provider: p, owner: owner, step: step, resolve: resolve}
	op := string(step.Verb) + step.ID.Kind
	if step.Verb == lbmodel.Delete {
		return lbmodel.Resource{}, codeError(op, step.ID, c.remove(ctx))
	}
	m, err := c.bring(ctx)
	if m.spec == nil {
		return lbmodel.Resource{}, codeError(op, step.ID, err)
	}
	r := lbmodel.NewResource(step.ID, m.spec).With(step.Hold)
	r.Handle, r.Facts = lbmodel.Handle(c.path()), m.facts
	if r.Hold == lbmodel.Own {
		r.Owner = owner
	}
	return r, codeError(op, step.ID, err)
}

// change is the working state of one Apply.
type change struct {
	*Provider
	owner   lbmodel.Owner
	step    lbmodel.Step
	resolve providers.Resolve
}

// made is what came of a create or an update.
type made struct {
	spec  lbmodel.Spec
	facts lbmodel.Facts
}

// path is where the resource is, or will be.
func (c *change) path() string {
	if c.step.Have.Handle != "" {
		return string(c.step.Have.Handle)
	}
	if entry, ok := c.step.Want.(*CertificateMapEntry); ok {
		return entry.Map.path(c.project) + "/" + collection(KindCertificateMapEntry) + "/" + c.step.ID.Name
	}
	return Path(c.step.ID, c.project)
}

// bring makes the resource what the step wants.
func (c *change) bring(ctx context.Context) (made, error) {
	if c.step.Hold == lbmodel.Adopted || c.step.Hold == lbmodel.External {
		return made{}, lbmodel.Errorf(lbmodel.CodeInternal, "Apply", c.step.ID, "it is %s and not ours to change", c.step.Hold)
	}
	if err := c.calls.Settle(ctx, c.path()); err != nil {
		return c.result(err)
	}
	if c.step.Verb == lbmodel.Update {
		return c.update(ctx)
	}
	return c.create(ctx)
}

// result is what the resource is when a step ends so: while an operation runs, what it
// will be.
func (c *change) result(err error) (made, error) {
	if !errors.Is(err, gcpcalls.ErrRunning) {
		return made{}, err
	}
	m := made{spec: c.step.Want, facts: c.step.Have.Facts}
	if cert, ok := c.step.Want.(*Certificate); ok && cert.Leaf == lbmodel.KnownAfterApply {
		m = made{} // its leaf is not known before it is there
	}
	return m, c.pending(soon, "Google Cloud is at it")
}

// create makes the resource. One that is there is gone on from, if it is ours.
func (c *change) create(ctx context.Context) (made, error) {
	if want, ok := c.step.Want.(*NetworkEndpoints); ok {
		return c.bringEndpoints(ctx, want, &NetworkEndpoints{Group: want.Group})
	}
	if c.memory.doubted(c.path()) { // tried before, and nobody knows what came of it
		if m, err := c.adopt(ctx); !isMissing(err) {
			return m, err
		}
	}
	if err := c.room(ctx, "Create"+c.step.ID.Kind, c.step.ID, c.step.Want); err != nil {
		return made{}, err
	}
	body, facts, err := c.body(ctx)
	if err != nil {
		return made{}, err
	}
	c.memory.begin(c.path())
	op, err := c.calls.Insert(ctx, c.path(), body)
	if err == nil {
		err = c.calls.Wait(ctx, op)
	}
	switch {
	case isTaken(err):
		m, err := c.adopt(ctx)
		if isMissing(err) {
			return made{}, c.pending(soon, "it is being made, or deleted")
		}
		return m, err
	case err != nil:
		return c.result(err)
	}
	return c.created(ctx, facts)
}

// created is what was made. Of an address the value is not known before.
func (c *change) created(ctx context.Context, facts lbmodel.Facts) (made, error) {
	c.memory.settle(c.path())
	m := made{spec: c.step.Want, facts: facts}
	switch want := c.step.Want.(type) {
	case *Address:
		have, err := c.read(ctx)
		if err != nil {
			return made{}, err
		}
		m.facts = have.Facts
	case *ForwardingRule:
		m.facts.Addresses = c.addressesAt(want.IPAddress)
	case *NetworkEndpointGroup:
		c.memory.group(c.path(), c.step.ID, want)
	case *Certificate:
		m.spec = want.holding(facts.Leaf)
	}
	return m, nil
}

// addressesAt are those of an address that a rule is at.
func (c *change) addressesAt(ref Ref) []lbmodel.Address {
	id, ok := ref.id()
	if !ok {
		return addressesOf(string(ref))
	}
	r, _ := c.resolve(id)
	return r.Facts.Addresses
}

// body is what makes the resource, with whose it is. Of a certificate it has the key,
// and is for the API alone.
func (c *change) body(ctx context.Context) (body []byte, facts lbmodel.Facts, err error) {
	fields, err := bodyOf(c.step.Want, c.project)
	if err != nil {
		return nil, facts, err
	}
	if want, ok := c.step.Want.(*Certificate); ok {
		pair, leaf, err := c.key(ctx, want)
		if err != nil {
			return nil, facts, err
		}
		if fields["selfManaged"], err = c.selfManaged(pair); err != nil {
			return nil, facts, err
		}
		facts.Leaf = leaf
	}
	fields["description"] = ownershipFor(c.owner, c.step.Hold, c.step.Want).text()
	return []byte(encode(fields)), facts, nil
}

// adopt goes on from what an earlier create has left. It is not ours if its description
// does not say so, whatever its name.
func (c *change) adopt(ctx context.Context) (made, error) {
	have, err := c.read(ctx)
	if err != nil {
		return made{}, err
	}
	update := *c
	update.step.Verb, update.step.Have = lbmodel.Update, have
	return update.updateFrom(ctx, lbmodel.Resource{})
}

// read is the resource as it is there now.
func (c *change) read(ctx context.Context) (lbmodel.Resource, error) {
	i, n, err := c.get(ctx)
	if err != nil {
		return lbmodel.Resource{}, err
	}
	if !i.isOf(c.owner.Cluster) || i.own.hold() != c.step.Hold || c.step.Hold == lbmodel.Own && i.own.owner() != c.owner {
		return lbmodel.Resource{}, c.taken()
	}
	r, err := n.resource(&i)
	if err != nil {
		return lbmodel.Resource{}, lbmodel.Errorf(lbmodel.CodeInternal, "Apply", c.step.ID, "%w", err)
	}
	c.memory.see(&i)
	return r, nil
}

// get reads the resource. References in it stand for what is wanted, and for what was
// there.
func (c *change) get(ctx context.Context) (item, *names, error) {
	body, err := c.calls.Get(ctx, c.path())
	if err != nil {
		return item{}, nil, err
	}
	n := c.newNames()
	i, err := n.itemOf(c.step.ID.Kind, body)
	if err != nil {
		return item{}, nil, err
	}
	for _, spec := range []lbmodel.Spec{c.step.Want, c.step.Have.Spec} {
		if spec == nil {
			continue
		}
		for _, id := range spec.Needs() {
			need, known := c.resolve(id)
			if !known || need.Hold == lbmodel.External {
				continue
			}
			n.ours[string(need.Handle)] = id
			if len(need.Facts.Addresses) > 0 {
				n.ips[string(need.Handle)] = need.Facts.Addresses[0].Value
			}
			if config, ok := need.Spec.(*BackendAuthenticationConfig); ok {
				n.shows[id] = config.ClientCertificate != ""
			}
		}
	}
	return i, &n, nil
}

// taken is the error of a name that somebody else has.
func (c *change) taken() error {
	return lbmodel.Errorf(lbmodel.CodeConflict, "", c.step.ID,
		"there is a %s of that name, %s, whose description does not say that it is this gateway's; it is not touched, so delete it, or give it its description back", c.step.ID.Kind, c.path())
}

func (c *change) alien() error {
	return lbmodel.Errorf(lbmodel.CodeInternal, "Apply", c.step.ID, "a %T, or a %T, is not of this provider", c.step.Want, c.step.Have.Spec)
}

// How long to wait before the next look at what takes Google Cloud a while.
const (
	soon   = 2 * time.Second
	slower = 5 * time.Second
)

// pending is the error of what is on its way.
func (c *change) pending(after time.Duration, text string, args ...any) error {
	err := lbmodel.Errorf(lbmodel.CodePending, string(c.step.Verb)+c.step.ID.Kind, c.step.ID, text, args...)
	err.RetryAfter = after
	return err
}

// call makes a change by a verb of its own and waits for it.
func (c *change) call(ctx context.Context, verb string, fields map[string]any) error {
	c.memory.begin(c.path())
	op, err := c.calls.Do(ctx, c.path(), verb, []byte(encode(fields)))
	if err == nil {
		err = c.calls.Wait(ctx, op)
	}
	if err == nil {
		c.memory.settle(c.path())
	}
	return err
}
