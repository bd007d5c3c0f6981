package memcloud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// healthAfter is how long a new endpoint takes to become healthy, and
// addressAfter how long an address takes to come.
const (
	healthAfter  = 3 * time.Second
	addressAfter = 5 * time.Second
)

// Service is the cloud: objects, and calls that refuse what is wrong.
type Service struct {
	keyring providers.Keyring
	now     func() time.Time
	bug     Bug

	mu      sync.Mutex
	hook    providertest.Hook
	objects map[lbmodel.Handle]object
	past    []map[lbmodel.Handle]object // before the last writes, for stale reads
	made    int
}

// object is one thing in the cloud.
type object struct {
	id      lbmodel.ID // the name that its maker gave it
	handle  lbmodel.Handle
	owner   lbmodel.Owner // a tag; Cluster alone for what is shared
	spec    lbmodel.Spec
	note    string // a field that is never ours
	since   time.Time
	dropped time.Time // a tag: since when nobody wants it
	version int
	joined  map[string]time.Time // of a Group: when its endpoints came
}

// New makes a cloud with some foreign objects in it: a balancer with a rule of
// somebody's, and things of another cluster.
func New(env providertest.Env, bug Bug) *Service {
	s := &Service{keyring: env.Keyring, now: env.Now, bug: bug, objects: map[lbmodel.Handle]object{}}
	for _, location := range Locations {
		s.plant(location)
	}
	return s
}

// Locations that this cloud has.
var Locations = []string{"east", "west"}

// AdoptHandle is the foreign balancer of a location that gateways may adopt.
func AdoptHandle(location string) lbmodel.Handle {
	return lbmodel.Handle("foreign-balancer-" + location)
}

// theirs is the cloud's name of the foreign balancer; heldPrefix begins ours.
const (
	theirs     = "theirs"
	heldPrefix = "held-"
)

func (s *Service) plant(location string) {
	balancer := lbmodel.ID{Kind: "Address", Location: location, Name: theirs}
	listener := lbmodel.ID{Kind: "Listener", Location: location, Name: "theirs/9999"}
	rule := lbmodel.ID{Kind: "Rule", Location: location, Name: "theirs/9999/1"}
	trust := lbmodel.ID{Kind: "Trust", Location: location, Name: "other-cluster"}
	handle := AdoptHandle(location)
	s.objects[handle] = object{id: balancer, handle: handle, spec: Address{Class: "theirs"}, note: "made by hand"}
	for id, spec := range map[lbmodel.ID]lbmodel.Spec{
		listener: Listener{Address: balancer, Port: 9999, Protocol: lbmodel.ProtocolHTTP},
		rule:     Rule{Listener: listener, Address: balancer, Priority: step, Fixed: 418},
	} {
		h := lbmodel.Handle("foreign-" + id.String())
		s.objects[h] = object{id: id, handle: h, spec: spec, note: "made by hand"}
	}
	h := lbmodel.Handle("foreign-" + trust.String())
	s.objects[h] = object{id: trust, handle: h, spec: Trust{Roots: []lbmodel.Root{{SHA256: "x"}}}, owner: lbmodel.Owner{Cluster: "other"}, note: "theirs"}
}

// call carries out one API call under what the hook makes of it.
func (s *Service) call(ctx context.Context, c providertest.Call, effect func(view map[lbmodel.Handle]object) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fault := s.before(c)
	switch fault.Kind {
	case providertest.Refuse:
		return lbmodel.Errorf(fault.Code, c.Name, lbmodel.ID{}, "refused")
	case providertest.Hang:
		<-ctx.Done()
		return ctx.Err()
	}
	if err := s.carryOut(c, fault, effect); err != nil {
		return err
	}
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		hook.After(c)
	}
	if fault.Kind == providertest.LoseReply {
		return lbmodel.Errorf(fault.Code, c.Name, lbmodel.ID{}, "connection reset")
	}
	return nil
}

func (s *Service) before(c providertest.Call) providertest.Fault {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook == nil {
		return providertest.Fault{}
	}
	return hook.Before(c)
}

func (s *Service) carryOut(c providertest.Call, fault providertest.Fault, effect func(map[lbmodel.Handle]object) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := s.objects
	if fault.Kind == providertest.Stale && !c.Write && len(s.past) > 0 {
		view = s.past[0]
	}
	if c.Write {
		s.past = append(s.past, maps.Clone(s.objects))
		s.past = s.past[max(0, len(s.past)-3):]
	}
	return effect(view)
}

// list returns every object, by handle.
func (s *Service) list(ctx context.Context) ([]object, error) {
	var out []object
	err := s.call(ctx, providertest.Call{Name: "List"}, func(view map[lbmodel.Handle]object) error {
		for _, handle := range slices.Sorted(maps.Keys(view)) {
			out = append(out, view[handle])
		}
		return nil
	})
	return out, err
}

// find returns our object of a name.
func (s *Service) find(ctx context.Context, cluster string, id lbmodel.ID) (object, bool, error) {
	var found object
	err := s.call(ctx, providertest.Call{Name: "Get" + id.Kind}, func(view map[lbmodel.Handle]object) error {
		for _, o := range view {
			if o.id == id && o.owner.Cluster == cluster {
				found = o
			}
		}
		return nil
	})
	return found, found.handle != "", err
}

func (s *Service) create(ctx context.Context, o object) (object, error) {
	err := s.call(ctx, providertest.Call{Name: "Create" + o.id.Kind, Write: true}, func(map[lbmodel.Handle]object) error {
		for _, other := range s.objects {
			if other.id == o.id && other.owner.Cluster == o.owner.Cluster && s.bug != DoublesAfterLostReply {
				return refuse(lbmodel.CodeConflict, o.id, "exists already")
			}
		}
		s.made++
		o.handle, o.since = lbmodel.Handle(fmt.Sprintf("h-%d", s.made)), s.now()
		return s.store(&o)
	})
	return o, err
}

func (s *Service) update(ctx context.Context, handle lbmodel.Handle, change func(*object) error) (object, error) {
	return s.write(ctx, "Update", handle, change)
}

// write changes an object by a call of some name.
func (s *Service) write(ctx context.Context, verb string, handle lbmodel.Handle, change func(*object) error) (object, error) {
	var o object
	kind := s.kindOf(handle)
	err := s.call(ctx, providertest.Call{Name: verb + kind, Write: true}, func(map[lbmodel.Handle]object) error {
		var there bool
		if o, there = s.objects[handle]; !there {
			return refuse(lbmodel.CodeNotFound, lbmodel.ID{Kind: kind, Name: string(handle)}, "is not there")
		}
		if err := change(&o); err != nil {
			return err
		}
		return s.store(&o)
	})
	return o, err
}

func (s *Service) kindOf(handle lbmodel.Handle) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[handle].id.Kind
}

func (s *Service) remove(ctx context.Context, kind string, handle lbmodel.Handle) error {
	return s.call(ctx, providertest.Call{Name: "Delete" + kind, Write: true}, func(map[lbmodel.Handle]object) error {
		o, there := s.objects[handle]
		if !there {
			return refuse(lbmodel.CodeNotFound, lbmodel.ID{Kind: kind, Name: string(handle)}, "is not there")
		}
		for _, user := range s.objects {
			if slices.Contains(user.spec.Needs(), o.id) && user.owner.Cluster == o.owner.Cluster {
				return refuse(lbmodel.CodeConflict, o.id, "is used by "+user.id.String())
			}
		}
		delete(s.objects, handle)
		return nil
	})
}

// store checks an object against the rest of the cloud and keeps it.
func (s *Service) store(o *object) error {
	for _, need := range o.spec.Needs() {
		if !s.exists(need) {
			return refuse(lbmodel.CodeInvalid, o.id, "refers to "+need.String()+", which does not exist")
		}
		if need.Location != o.id.Location {
			return refuse(lbmodel.CodeInvalid, o.id, "refers to another location")
		}
	}
	if l, ok := o.spec.(Listener); ok && l.Protocol == lbmodel.ProtocolTCP {
		return refuse(lbmodel.CodeUnsupported, o.id, "of TCP is not served here")
	}
	for _, other := range s.objects {
		if other.handle != o.handle && slotOf(o.spec) != "" && slotOf(other.spec) == slotOf(o.spec) {
			return refuse(lbmodel.CodeConflict, o.id, "wants what "+other.id.String()+" holds: "+slotOf(o.spec))
		}
	}
	if old, there := s.objects[o.handle]; there && immutable(old.spec) != immutable(o.spec) {
		return refuse(lbmodel.CodeInvalid, o.id, "changes a field that cannot be changed")
	}
	o.version++
	s.join(o)
	s.objects[o.handle] = *o
	return nil
}

// join notes when the endpoints of a Group came.
func (s *Service) join(o *object) {
	g, ok := o.spec.(Group)
	if !ok {
		return
	}
	joined := map[string]time.Time{}
	for _, e := range g.Endpoints {
		joined[e] = s.now()
		if at, before := o.joined[e]; before {
			joined[e] = at
		}
	}
	o.joined = joined
}

func (s *Service) exists(id lbmodel.ID) bool {
	for _, o := range s.objects {
		if o.id == id {
			return true
		}
	}
	return false
}

// ready says whether something that began at since has finished.
func (s *Service) ready(since time.Time, after time.Duration) bool {
	return !s.now().Before(since.Add(after))
}

func refuse(code lbmodel.Code, id lbmodel.ID, why string) error {
	return lbmodel.Errorf(code, "", id, "%s %s", strings.ToLower(id.Kind), why)
}

func slotOf(spec lbmodel.Spec) string {
	if s, ok := spec.(lbmodel.Slotted); ok {
		return s.Slot()
	}
	return ""
}
