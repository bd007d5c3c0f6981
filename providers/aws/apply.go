package aws

import (
	"context"
	"errors"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Apply implements providers.Cloud. A create that finds its thing there (an earlier
// reply was lost) goes on from what it finds.
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
	r.Handle, r.Facts = lbmodel.Handle(m.handle), m.facts
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
	spec   lbmodel.Spec
	handle string
	facts  lbmodel.Facts
}

// bring makes the resource what the step wants.
func (c *change) bring(ctx context.Context) (made, error) {
	if c.step.Hold == lbmodel.Adopted || c.step.Hold == lbmodel.External {
		return made{}, lbmodel.Errorf(lbmodel.CodeInternal, "Apply", c.step.ID, "it is %s and not ours to change", c.step.Hold)
	}
	if c.step.Verb == lbmodel.Update {
		return c.update(ctx)
	}
	return c.create(ctx)
}

// create makes the resource. Names that somebody else has are not tried: AWS lets a
// create succeed that asks for what is there. Where a create may have been done
// already, and AWS would do it twice, it is looked for first.
func (c *change) create(ctx context.Context) (made, error) {
	foreign, again := false, c.memory.attempt(c.step.ID)
	c.memory.with(func() { foreign = c.memory.foreign[c.step.ID] })
	if foreign {
		return made{}, c.taken()
	}
	if again && c.step.ID.Kind == KindCertificate {
		if m, err := c.adopt(ctx); !errors.Is(err, errNotThere) {
			return m, err
		}
	}
	if err := c.room(ctx, "Create"+c.step.ID.Kind, c.step.ID, c.step.Want); err != nil {
		return made{}, err
	}
	m, err := c.make(ctx)
	switch {
	case err != nil && hasCode(err, "DuplicateLoadBalancerName", "DuplicateTargetGroupName", "DuplicateListener", "DuplicateTrustStoreName",
		"PriorityInUse", "InvalidGroup.Duplicate"):
		if m, err := c.adopt(ctx); !errors.Is(err, errNotThere) {
			return m, err
		}
		return made{}, c.taken()
	case err == nil:
		c.memory.settle(c.step.ID)
		c.limits.made(c.step.Want, 1)
	}
	return m, err
}

// errNotThere says that what a create was refused for is not ours.
var errNotThere = errors.New("it is not there, or not ours")

// adopt goes on from what an earlier create has left.
func (c *change) adopt(ctx context.Context) (made, error) {
	there, err := c.Observe(ctx, c.owner, nil)
	if err != nil {
		return made{}, err
	}
	have, ours := there[c.step.ID]
	if !ours || have.Hold == lbmodel.External {
		return made{}, errNotThere
	}
	c.memory.settle(c.step.ID)
	update := *c
	update.step.Verb, update.step.Have = lbmodel.Update, have
	return update.update(ctx)
}

// taken is the error of a name or a place that somebody else has.
func (c *change) taken() error {
	return lbmodel.Errorf(lbmodel.CodeConflict, "", c.step.ID,
		"somebody else has a %s of that name or place, %q; it is not touched, so remove it, or rename the gateway", c.step.ID.Kind, c.step.ID.Name)
}

// make creates by kind.
func (c *change) make(ctx context.Context) (made, error) {
	switch want := c.step.Want.(type) {
	case *LoadBalancer:
		return c.makeBalancer(ctx, want)
	case *Address:
		return c.awaitAddress(ctx, want)
	case *Listener:
		return c.makeListener(ctx, want)
	case *ListenerCertificate:
		return c.addCertificate(ctx, want)
	case *Rule:
		return c.makeRule(ctx, want)
	case *TargetGroup:
		return c.makeGroup(ctx, want)
	case *Targets:
		return c.register(ctx, want)
	case *SecurityGroup:
		return c.makeSecurity(ctx, want)
	case *SecurityGroupRule:
		return c.letIn(ctx, want)
	case *Certificate:
		return c.importCertificate(ctx, want)
	case *TrustBundle:
		return c.putBundle(ctx, want)
	case *TrustStore:
		return c.makeStore(ctx, want)
	}
	return made{}, c.alien()
}

// update changes by kind.
func (c *change) update(ctx context.Context) (made, error) {
	switch want := c.step.Want.(type) {
	case *LoadBalancer:
		return changeOf(ctx, c, want, c.changeBalancer)
	case *Listener:
		return changeOf(ctx, c, want, c.changeListener)
	case *Rule:
		return changeOf(ctx, c, want, c.changeRule)
	case *TargetGroup:
		return changeOf(ctx, c, want, c.changeGroup)
	case *SecurityGroup:
		return changeOf(ctx, c, want, c.changeSecurity)
	case *TrustStore:
		return changeOf(ctx, c, want, c.changeStore)
	default: // what is made and changed in the same way
		return c.make(ctx)
	}
}

// changeOf updates what is there; what it was is the step's.
func changeOf[T lbmodel.Spec](ctx context.Context, c *change, want T, do func(context.Context, T, T) (made, error)) (made, error) {
	have, ok := c.step.Have.Spec.(T)
	if !ok {
		return made{}, c.alien()
	}
	m, err := do(ctx, want, have)
	if err != nil {
		return made{}, err
	}
	m.handle, m.facts = string(c.step.Have.Handle), c.step.Have.Facts
	return m, nil
}

func (c *change) alien() error {
	return lbmodel.Errorf(lbmodel.CodeInternal, "Apply", c.step.ID, "a %T, or a %T, is not of this provider", c.step.Want, c.step.Have.Spec)
}

// arn is the handle of what a reference names.
func (c *change) arn(ref Ref) (string, error) {
	need, ok := c.resolve(ref.id())
	if !ok || need.Handle == "" {
		return "", lbmodel.Errorf(lbmodel.CodeNotFound, "Apply", c.step.ID, "it needs %s, which is not there", ref)
	}
	return string(need.Handle), nil
}

// there is the handle of the resource itself.
func (c *change) there() string { return string(c.step.Have.Handle) }

func (c *change) tags() tags { return tagsFor(c.owner, c.step.ID, c.step.Hold) }

// How long to wait before the next look at what takes AWS a while.
const (
	soon   = 2 * time.Second
	slower = 5 * time.Second
	// longest is what a run waits for at most (providers.Patience).
	longest = 30 * time.Second
)

// pending is the error of what is on its way.
func (c *change) pending(after time.Duration, text string, args ...any) error {
	err := lbmodel.Errorf(lbmodel.CodePending, string(c.step.Verb)+c.step.ID.Kind, c.step.ID, text, args...)
	err.RetryAfter = after
	return err
}
