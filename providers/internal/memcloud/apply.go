package memcloud

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Observe implements providers.Cloud.
func (p *Provider) Observe(ctx context.Context, owner lbmodel.Owner, named []lbmodel.Handle) (lbmodel.Graph, error) {
	if p.service.bug == IgnoresCancel {
		ctx = context.WithoutCancel(ctx)
	}
	objects, err := p.service.list(ctx)
	if err != nil {
		return nil, err
	}
	p.service.mu.Lock()
	defer p.service.mu.Unlock()
	out := lbmodel.Graph{}
	for _, o := range objects {
		shared := o.owner == lbmodel.Owner{Cluster: owner.Cluster}
		switch {
		case shared, o.owner == owner, owner.Name == "" && o.owner.Cluster == owner.Cluster:
			out[o.id] = p.resource(o)
		case slices.Contains(named, o.handle):
			p.observeForeign(out, o, objects)
		}
	}
	return out, nil
}

// observeForeign adds an adopted balancer under our name for it, and the rules
// of others that hold priorities there.
func (p *Provider) observeForeign(out lbmodel.Graph, o object, all []object) {
	id := lbmodel.ID{Kind: o.id.Kind, Location: o.id.Location, Name: heldPrefix + string(o.handle)}
	r := lbmodel.NewResource(id, Held{Label: o.spec.(Address).Label}).With(lbmodel.External)
	r.Handle = o.handle
	out[id] = r
	for _, other := range all {
		if rule, ok := other.spec.(Rule); ok && rule.Address == o.id && other.owner.Cluster == "" {
			rule.Address = id
			foreign := lbmodel.ID{Kind: "Rule", Location: o.id.Location, Name: "foreign-" + string(other.handle)}
			out[foreign] = lbmodel.NewResource(foreign, rule).With(lbmodel.External)
		}
	}
}

// resource is an object as the model sees it.
func (p *Provider) resource(o object) lbmodel.Resource {
	if a, ok := o.spec.(Address); ok && p.service.bug == ReadsDefaults && a.Label == "" {
		a.Label = "default"
		o.spec = a
	}
	if t, ok := o.spec.(Trust); ok && p.service.bug == ForgetsDropped {
		o.spec = Trust{Roots: lbmodel.Published(t.Roots)}
	}
	r := lbmodel.NewResource(o.id, fromCloud(o.spec))
	r.Handle, r.Facts = o.handle, p.service.facts(o)
	if o.owner.Name == "" {
		return r.With(lbmodel.Shared)
	}
	r.Owner = o.owner
	return r
}

func (s *Service) facts(o object) lbmodel.Facts {
	f := lbmodel.Facts{Since: o.since, DroppedAt: o.dropped}
	switch spec := o.spec.(type) {
	case Address:
		if s.ready(o.since, addressAfter) {
			f.Addresses = []lbmodel.Address{{Type: lbmodel.AddressIP, Value: "ip-of-" + string(o.handle)}}
		}
	case Group:
		f.Health = s.health(o)
	case Identity:
		life := cmp.Or(time.Duration(spec.Wish.Renew.Lifetime), 24*time.Hour)
		f.Leaf = &lbmodel.Leaf{SHA256: spec.Leaf, NotBefore: o.since, NotAfter: o.since.Add(life), Authority: spec.authority}
	}
	return f
}

func (s *Service) health(o object) map[lbmodel.Target]lbmodel.Health {
	out := map[lbmodel.Target]lbmodel.Health{}
	for e, joined := range o.joined {
		out[lbmodel.Target(e)] = lbmodel.HealthInitial
		if s.ready(joined, healthAfter) {
			out[lbmodel.Target(e)] = lbmodel.HealthHealthy
		}
	}
	return out
}

// Apply implements providers.Cloud.
func (p *Provider) Apply(ctx context.Context, owner lbmodel.Owner, step lbmodel.Step, resolve providers.Resolve) (lbmodel.Resource, error) {
	if step.Hold == lbmodel.Shared {
		owner = lbmodel.Owner{Cluster: owner.Cluster}
	}
	switch {
	case step.Hold == lbmodel.Adopted:
		return p.label(ctx, step)
	case step.Verb == lbmodel.Delete && p.service.bug == ForgetsDelete && step.ID.Kind == "Group":
		return lbmodel.Resource{}, nil
	case step.Verb == lbmodel.Delete:
		return lbmodel.Resource{}, p.service.remove(ctx, step.ID.Kind, step.Have.Handle)
	}
	want, key, err := p.issue(ctx, step.Want)
	if err != nil {
		return lbmodel.Resource{}, err
	}
	o, err := p.make(ctx, owner, step, want)
	if err != nil {
		if p.service.bug == LeaksKey && key != nil {
			return lbmodel.Resource{}, fmt.Errorf("%w: while uploading %x", err, key)
		}
		return lbmodel.Resource{}, err
	}
	return p.settle(step, o)
}

// Mark implements providers.Marker.
func (p *Provider) Mark(ctx context.Context, r lbmodel.Resource, dropped time.Time) (lbmodel.Facts, error) {
	o, err := p.service.write(ctx, "Mark", r.Handle, func(o *object) error {
		if p.service.bug != ForgetsMark {
			o.dropped = dropped
		}
		return nil
	})
	if err != nil {
		return lbmodel.Facts{}, err
	}
	p.service.mu.Lock()
	defer p.service.mu.Unlock()
	out := p.service.facts(o)
	out.DroppedAt = dropped
	return out, nil
}

// label sets the one field that is ours of an adopted balancer.
func (p *Provider) label(ctx context.Context, step lbmodel.Step) (lbmodel.Resource, error) {
	want := step.Want.(Held)
	_, err := p.service.update(ctx, step.Have.Handle, func(o *object) error {
		a := o.spec.(Address)
		a.Label = want.Label
		o.spec = a
		if p.service.bug == TouchesForeign {
			o.note = ""
		}
		return nil
	})
	if err != nil {
		return lbmodel.Resource{}, err
	}
	r := lbmodel.NewResource(step.ID, want)
	r.Handle = step.Have.Handle
	return r, nil
}

// issue asks the keyring for the key of an identity.
func (p *Provider) issue(ctx context.Context, want lbmodel.Spec) (lbmodel.Spec, []byte, error) {
	identity, ok := want.(Identity)
	if !ok {
		return want, nil, nil
	}
	pair, err := p.service.keyring(ctx, identity.asked())
	if err != nil {
		return nil, nil, err
	}
	if identity.authority, err = authorityOf(pair); err != nil {
		return nil, nil, err
	}
	if identity.Leaf == "" {
		sum := sha256.Sum256(pair.Certificate[0])
		identity.Leaf = hex.EncodeToString(sum[:])
	}
	return identity, keyBytes(pair), nil
}

func authorityOf(pair tls.Certificate) (string, error) {
	var chain []*x509.Certificate
	for _, der := range pair.Certificate {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return "", fmt.Errorf("the chain cannot be read: %w", err)
		}
		chain = append(chain, cert)
	}
	return lbmodel.AuthorityOf(chain), nil
}

func keyBytes(pair tls.Certificate) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		panic(err) // the suite makes keys that can be written
	}
	return der
}

// make creates or updates, and takes what an earlier try made.
func (p *Provider) make(ctx context.Context, owner lbmodel.Owner, step lbmodel.Step, want lbmodel.Spec) (object, error) {
	there := object{handle: step.Have.Handle}
	if step.Verb == lbmodel.Create {
		o, err := p.service.create(ctx, object{id: step.ID, owner: owner, spec: inCloud(want)})
		if lbmodel.CodeOf(err) != lbmodel.CodeConflict {
			return o, err
		}
		var ok bool
		var findErr error
		if there, ok, findErr = p.service.find(ctx, owner.Cluster, step.ID); findErr != nil || !ok || there.owner != owner {
			return object{}, err
		}
	}
	if _, isRule := want.(Rule); isRule && p.service.bug == LosesTraffic {
		if err := p.service.remove(ctx, step.ID.Kind, there.handle); err != nil {
			return object{}, err
		}
		return p.service.create(ctx, object{id: step.ID, owner: owner, spec: inCloud(want)})
	}
	return p.service.update(ctx, there.handle, func(o *object) error {
		if next, ok := want.(Identity); ok && o.spec.(Identity).Leaf != next.Leaf {
			o.since = p.service.now()
		}
		if next, ok := want.(Rule); ok && p.service.serves(o.spec.(Rule)) && !p.service.serves(next) {
			return refuse(lbmodel.CodePending, step.ID, "would leave the endpoints that answer for some that do not yet")
		}
		o.spec = p.service.gently(*o, inCloud(want))
		return nil
	})
}

// serves says whether a rule has an answer: healthy endpoints, or none to wait
// for.
func (s *Service) serves(r Rule) bool {
	endpoints := 0
	for _, share := range r.Shares {
		b, _ := s.named(share.Backend).spec.(Backend)
		if len(s.targets(share.Backend)) > 0 {
			return true
		}
		endpoints += len(s.named(b.Group).joined)
	}
	return endpoints == 0
}

// gently is what an object should be next: a group keeps its old endpoints until
// one of the new ones is healthy.
func (s *Service) gently(o object, want lbmodel.Spec) lbmodel.Spec {
	next, ok := want.(Group)
	if !ok || len(next.Endpoints) == 0 || s.anyHealthy(o, next.Endpoints) {
		return want
	}
	both := append(slices.Clone(next.Endpoints), slices.Collect(maps.Keys(o.joined))...)
	slices.Sort(both)
	return Group{Endpoints: slices.Compact(both)}
}

func (s *Service) anyHealthy(o object, endpoints []string) bool {
	return slices.ContainsFunc(endpoints, func(e string) bool {
		joined, there := o.joined[e]
		return there && s.ready(joined, healthAfter)
	})
}

// settle says what an object became, and that it is Pending while nothing could
// use it yet.
func (p *Provider) settle(step lbmodel.Step, o object) (lbmodel.Resource, error) {
	p.service.mu.Lock()
	defer p.service.mu.Unlock()
	r := p.resource(o)
	switch want := step.Want.(type) {
	case Address:
		if !p.service.ready(o.since, addressAfter) {
			return r, refuse(lbmodel.CodePending, step.ID, "has no address yet")
		}
	case Group:
		if len(want.Endpoints) > 0 && !p.service.anyHealthy(o, want.Endpoints) {
			return r, refuse(lbmodel.CodePending, step.ID, "has no healthy endpoint yet")
		}
	}
	return r, nil
}

// inCloud and fromCloud translate between our name of an adopted balancer and
// its own.
func inCloud(spec lbmodel.Spec) lbmodel.Spec {
	return renamed(spec, func(id lbmodel.ID) lbmodel.ID {
		if strings.HasPrefix(id.Name, heldPrefix) {
			id.Name = theirs
		}
		return id
	})
}

func fromCloud(spec lbmodel.Spec) lbmodel.Spec {
	return renamed(spec, func(id lbmodel.ID) lbmodel.ID {
		if id.Name == theirs {
			id.Name = heldPrefix + string(AdoptHandle(id.Location))
		}
		return id
	})
}

func renamed(spec lbmodel.Spec, name func(lbmodel.ID) lbmodel.ID) lbmodel.Spec {
	switch s := spec.(type) {
	case Listener:
		s.Address = name(s.Address)
		return s
	case Rule:
		s.Address = name(s.Address)
		return s
	default:
		return spec
	}
}
