package cloud

import (
	"context"
	"crypto/tls"
	"encoding/json/jsontext"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// CreateRequest asks for a new object.
type CreateRequest struct {
	Kind     string
	Location string
	Name     string // unique in the kind and location
	Tags     Tags
	Body     jsontext.Value
	Key      *tls.Certificate // of a Certificate, and required there
}

// Create makes an object. Its handle is known from the reply on. A name that is
// there already is AlreadyExists, also when an earlier call made it whose reply
// was lost: [Cloud.Find] tells which.
func (c *Cloud) Create(ctx context.Context, r CreateRequest) (Object, error) {
	var out Object
	call := Call{Name: "Create" + r.Kind, Write: true, Object: r.Name, Owner: r.Tags.Owner}
	err := c.do(ctx, call, func(*state) error {
		body, err := c.admitNew(r)
		if err != nil {
			return err
		}
		o := &object{Seq: c.state.next, Kind: r.Kind, Location: r.Location, Name: r.Name, Tags: r.Tags}
		o = o.withBody(encode(body), body, c.now())
		if err := c.admit(nil, o); err != nil {
			return err
		}
		if err := c.furnish(o, r.Key); err != nil {
			return err
		}
		out = c.view(o)
		return nil
	})
	return out, err
}

// furnish gives a new or changed object what only the cloud can, and commits it.
func (c *Cloud) furnish(o *object, key *tls.Certificate) error {
	old := c.state.objects[o.handle()]
	switch body := o.body.(type) {
	case *Address:
		if err := c.allocate(o, body); err != nil {
			return err
		}
	case *Certificate:
		leaf, err := c.checkKey(old, body, key)
		if err != nil {
			return err
		}
		o.Leaf = leaf
	}
	if err := c.commit(old, o); err != nil {
		return err
	}
	if key != nil && o.Kind == KindCertificate {
		c.vault[o.handle()] = *key
	}
	return nil
}

// UpdateRequest changes the body of an object.
type UpdateRequest struct {
	Handle  lbmodel.Handle
	Version int // the version that the body was made from; 0 is any
	Body    jsontext.Value
	Key     *tls.Certificate // required when a Certificate's leaf changes
}

// Update replaces an object's body. An equal body changes nothing and succeeds.
func (c *Cloud) Update(ctx context.Context, r UpdateRequest) (Object, error) {
	var out Object
	call := Call{Name: "Update" + kindOf(r.Handle), Write: true, Object: string(r.Handle)}
	err := c.do(ctx, call, func(*state) error {
		old, err := c.lookup(r.Handle)
		if err != nil {
			return err
		}
		next, err := c.revised(old, r)
		if err != nil {
			return err
		}
		if err := c.admit(old, next); err != nil {
			return err
		}
		if slices.Equal(old.Raw, next.Raw) && r.Key == nil {
			out = c.view(old)
			return nil
		}
		if err := c.furnish(next, r.Key); err != nil {
			return err
		}
		out = c.view(next)
		return nil
	})
	return out, err
}

// revised is an object with the body of a request.
func (c *Cloud) revised(old *object, r UpdateRequest) (*object, error) {
	if r.Version != 0 && r.Version != old.Version {
		return nil, refuse(VersionMismatch, "%s is at version %d, not %d: read it again", r.Handle, old.Version, r.Version)
	}
	body, err := decode(old.Kind, r.Body)
	if err != nil {
		return nil, refuse(InvalidArgument, "%w", err)
	}
	return old.withBody(encode(body), body, c.now()), nil
}

// Delete removes an object that nothing refers to.
func (c *Cloud) Delete(ctx context.Context, h lbmodel.Handle) error {
	call := Call{Name: "Delete" + kindOf(h), Write: true, Object: string(h)}
	return c.do(ctx, call, func(*state) error {
		o, err := c.lookup(h)
		if err != nil {
			return err
		}
		if users := c.state.usersOf(h, ""); len(users) > 0 {
			return refuse(InUse, "%s %s is used by %s", o.Kind, o.Name, listOf(users))
		}
		if err := c.commit(o, nil); err != nil {
			return err
		}
		delete(c.vault, h)
		delete(c.reports, h)
		return nil
	})
}

// Mark notes with an object since when it is no longer wanted; the zero time takes
// the note away.
func (c *Cloud) Mark(ctx context.Context, h lbmodel.Handle, dropped time.Time) (Object, error) {
	var out Object
	call := Call{Name: "Mark" + kindOf(h), Write: true, Object: string(h)}
	err := c.do(ctx, call, func(*state) error {
		old, err := c.lookup(h)
		if err != nil {
			return err
		}
		next := *old
		next.Dropped = dropped
		if err := c.commit(old, &next); err != nil {
			return err
		}
		out = c.view(&next)
		return nil
	})
	return out, err
}

// Get reads one object.
func (c *Cloud) Get(ctx context.Context, h lbmodel.Handle) (Object, error) {
	var out Object
	err := c.do(ctx, Call{Name: "Get" + kindOf(h), Object: string(h)}, func(seen *state) error {
		o := seen.objects[h]
		if o == nil {
			return refuse(NotFound, "there is no %s", h)
		}
		out = c.view(o)
		return nil
	})
	return out, err
}

// Find reads one object by its name. It is never stale.
func (c *Cloud) Find(ctx context.Context, kind, location, name string) (Object, error) {
	var out Object
	err := c.do(ctx, Call{Name: "Find" + kind, Object: name}, func(*state) error {
		o := c.state.names[key{location, kind, name}]
		if o == nil {
			return refuse(NotFound, "there is no %s %s in %s", kind, name, location)
		}
		out = c.view(o)
		return nil
	})
	return out, err
}

// ListRequest asks for a page of objects in the order of their creation.
type ListRequest struct {
	Location string // "" is every location
	Cluster  string // only those tagged with it; "" is all
	Kind     string // "" is every kind
	After    int    // Page.Next of the page before; 0 is the first page
}

// Page is a part of a list. Next is 0 on the last page.
type Page struct {
	Objects []Object
	Next    int
}

// List reads objects, Options.PageSize at most at a time. Lists are eventually
// consistent: under the fault [Stale] they lack the last writes.
func (c *Cloud) List(ctx context.Context, r ListRequest) (Page, error) {
	var out Page
	err := c.do(ctx, Call{Name: "ListObjects", Object: r.Location}, func(seen *state) error {
		out = c.page(seen.order, r)
		if seen.reordered {
			slices.Reverse(out.Objects)
		}
		return nil
	})
	return out, err
}

func (c *Cloud) page(order []*object, r ListRequest) Page {
	start, _ := slices.BinarySearchFunc(order, r.After+1, func(o *object, seq int) int { return o.Seq - seq })
	var out Page
	for _, o := range order[start:] {
		if !r.asksFor(o) {
			continue
		}
		if len(out.Objects) == c.options.PageSize {
			out.Next = seqOf(out.Objects[len(out.Objects)-1].Handle)
			return out
		}
		out.Objects = append(out.Objects, c.view(o))
	}
	return out
}

func (r ListRequest) asksFor(o *object) bool {
	fits := func(want, is string) bool { return want == "" || want == is }
	return fits(r.Location, o.Location) && fits(r.Cluster, o.Tags.Owner.Cluster) && fits(r.Kind, o.Kind)
}

// past is the state without the last writes.
func (c *Cloud) past() *state {
	past := newState()
	for _, o := range c.state.order {
		past.replace(nil, o)
	}
	for _, ch := range slices.Backward(c.recent) {
		past.replace(ch.next, ch.old)
	}
	return &past
}

func (c *Cloud) lookup(h lbmodel.Handle) (*object, error) {
	if o := c.state.objects[h]; o != nil {
		return o, nil
	}
	return nil, refuse(NotFound, "there is no %s", h)
}
