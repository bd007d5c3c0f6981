package cloud

import (
	"context"

	"gatehouse.dev/lbmodel"
)

// Observe implements providers.Cloud. It reads every page of the one list that the
// service has, and sorts the objects by their tags.
func (p *Provider) Observe(ctx context.Context, owner lbmodel.Owner, named []lbmodel.Handle) (lbmodel.Graph, error) {
	objects, err := p.list(ctx, ListRequest{})
	if err != nil {
		return nil, located("Observe", lbmodel.ID{}, err)
	}
	o := newObserver(owner, objects, named)
	out := lbmodel.Graph{}
	for i := range objects {
		hold, ok := o.holdOf(&objects[i])
		if !ok {
			continue
		}
		r, err := o.resource(&objects[i], hold)
		if err != nil {
			return nil, located("Observe", r.ID, err)
		}
		out[r.ID] = r
	}
	return out, nil
}

// Health implements providers.HealthReader: only groups of endpoints have any.
func (p *Provider) Health(ctx context.Context, cluster string) (map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health, error) {
	groups, err := p.list(ctx, ListRequest{Cluster: cluster, Kind: KindEndpointGroup})
	if err != nil {
		return nil, located("Health", lbmodel.ID{}, err)
	}
	out := make(map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health, len(groups))
	for _, g := range groups {
		out[g.Tags.ID] = g.Health
	}
	return out, nil
}

// list reads all pages.
func (p *Provider) list(ctx context.Context, r ListRequest) ([]Object, error) {
	var out []Object
	for {
		page, err := p.cloud.List(ctx, r)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Objects...)
		if page.Next == 0 {
			return out, nil
		}
		r.After = page.Next
	}
}

// observer turns objects into resources.
type observer struct {
	owner lbmodel.Owner
	named map[lbmodel.Handle]bool
	ids   map[lbmodel.Handle]lbmodel.ID // of every object
	ours  map[lbmodel.Handle]bool       // tagged with our cluster
}

func newObserver(owner lbmodel.Owner, objects []Object, named []lbmodel.Handle) *observer {
	o := &observer{
		owner: owner, named: map[lbmodel.Handle]bool{},
		ids: make(map[lbmodel.Handle]lbmodel.ID, len(objects)), ours: make(map[lbmodel.Handle]bool, len(objects)),
	}
	for _, h := range named {
		o.named[h] = true
	}
	for i := range objects {
		object := &objects[i]
		o.ids[object.Handle] = foreignID(object.Kind, object.Location, object.Handle)
		if o.isOurs(object) {
			o.ids[object.Handle], o.ours[object.Handle] = object.Tags.ID, true
		}
	}
	return o
}

// isOurs says whether an object is our cluster's: its tags say so and fit it.
func (o *observer) isOurs(object *Object) bool {
	id := object.Tags.ID
	return object.Tags.Owner.Cluster == o.owner.Cluster && id.Kind == object.Kind && id.Location == object.Location && id.Name != ""
}

// holdOf says what an object is to the owner, and whether it is of interest.
func (o *observer) holdOf(object *Object) (lbmodel.Hold, bool) {
	if !o.ours[object.Handle] {
		return o.foreignHold(object)
	}
	if isShared(object.Kind) {
		return lbmodel.Shared, true
	}
	return lbmodel.Own, o.owner.Name == "" || object.Tags.Owner == o.owner
}

// foreignHold is the hold of somebody else's object: of interest when it was asked
// for, or fills a slot that we might want.
func (o *observer) foreignHold(object *Object) (lbmodel.Hold, bool) {
	switch {
	case object.Kind == KindNetwork:
		return lbmodel.Adopted, o.named[object.Handle]
	case object.Kind == KindAddress, o.named[object.Handle]:
		return lbmodel.External, true
	case object.Kind != KindRule && object.Kind != KindListener:
		return lbmodel.External, false
	}
	body, err := decode(object.Kind, object.Body)
	if err != nil {
		return lbmodel.External, false // not of a form that we would ever write
	}
	for parent := range referencesOf(body) {
		if o.ours[parent] {
			return lbmodel.External, true
		}
	}
	return lbmodel.External, false
}

// isShared says whether objects of a kind belong to the cluster, not to one owner.
func isShared(kind string) bool { return kind == KindTrust || kind == KindEndpointGroup }

// resource is an object as the engine knows it.
func (o *observer) resource(object *Object, hold lbmodel.Hold) (lbmodel.Resource, error) {
	spec, err := decode(object.Kind, object.Body)
	if err != nil {
		return lbmodel.Resource{ID: o.ids[object.Handle]}, err
	}
	spec.references(func(ref *Ref) {
		if id, ok := o.ids[lbmodel.Handle(*ref)]; ok {
			*ref = RefTo(id)
		}
	})
	if a, ok := spec.(*Address); ok && hold == lbmodel.External {
		a.Value = object.Address // whoever has it holds that slot
	}
	return resourceOf(o.ids[object.Handle], spec, object, hold), nil
}

// resourceOf puts together what an object is, as a Spec and as facts.
func resourceOf(id lbmodel.ID, spec lbmodel.Spec, object *Object, hold lbmodel.Hold) lbmodel.Resource {
	r := lbmodel.NewResource(id, spec).With(hold)
	r.Handle, r.Facts = object.Handle, factsOf(object)
	if hold == lbmodel.Own {
		r.Owner = object.Tags.Owner
	}
	return r
}
