package cloud

import (
	"encoding/json/jsontext"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// Object is one thing that the cloud holds, as calls return it. It has no key.
type Object struct {
	Handle   lbmodel.Handle `json:"handle"`
	Kind     string         `json:"kind"`
	Location string         `json:"location"`
	Name     string         `json:"name"`
	Tags     Tags           `json:"tags,omitzero"`
	Version  int            `json:"version"` // grows with every change
	Since    time.Time      `json:"since"`   // when it took its present form
	Dropped  time.Time      `json:"dropped,omitzero"`
	Body     jsontext.Value `json:"body"`

	Ready   bool                              `json:"ready"`            // false while an address is on its way
	Address string                            `json:"address,omitzero"` // of an Address
	Serves  []string                          `json:"serves,omitempty"` // the addresses that a Balancer answers at
	Leaf    *lbmodel.Leaf                     `json:"leaf,omitempty"`
	Health  map[lbmodel.Target]lbmodel.Health `json:"health,omitempty"` // of an EndpointGroup
}

// Tags are what a client writes beside an object. Only an owner and an ID are ever
// written; objects of other software have none.
type Tags struct {
	Owner lbmodel.Owner `json:"owner,omitzero"`
	ID    lbmodel.ID    `json:"id,omitzero"`
}

// object is an Object inside the cloud: what is stored.
type object struct {
	Seq      int                          `json:"seq"` // the number in its handle, and the order of lists
	Kind     string                       `json:"kind"`
	Location string                       `json:"location"`
	Name     string                       `json:"name"`
	Tags     Tags                         `json:"tags,omitzero"`
	Version  int                          `json:"version"`
	Since    time.Time                    `json:"since"`
	Dropped  time.Time                    `json:"dropped,omitzero"`
	Raw      jsontext.Value               `json:"body"`
	Address  netip.Addr                   `json:"address,omitzero"`
	Leaf     *lbmodel.Leaf                `json:"leaf,omitempty"`
	ReadyAt  time.Time                    `json:"readyAt,omitzero"` // of an Address
	Seen     map[lbmodel.Target]time.Time `json:"seen,omitempty"`   // when each endpoint was first there

	body Body
}

func (o *object) handle() lbmodel.Handle { return handleOf(o.Location, o.Kind, o.Seq) }

func (o *object) key() key { return key{o.Location, o.Kind, o.Name} }

// withBody is a copy of the object in its next form.
func (o *object) withBody(raw jsontext.Value, body Body, now time.Time) *object {
	next := *o
	next.Raw, next.body, next.Since = raw, body, now
	next.Version++
	if g, ok := body.(*EndpointGroup); ok {
		next.Seen = seenOf(g, o.Seen, now)
	}
	return &next
}

// seenOf keeps when known endpoints were first seen; others are seen now.
func seenOf(g *EndpointGroup, before map[lbmodel.Target]time.Time, now time.Time) map[lbmodel.Target]time.Time {
	out := make(map[lbmodel.Target]time.Time, len(g.Endpoints))
	for _, e := range g.Endpoints {
		target := e.Target()
		out[target] = now
		if t, ok := before[target]; ok {
			out[target] = t
		}
	}
	return out
}

// view is the object as the API shows it now.
func (c *Cloud) view(o *object) Object {
	out := Object{
		Handle: o.handle(), Kind: o.Kind, Location: o.Location, Name: o.Name, Tags: o.Tags,
		Version: o.Version, Since: o.Since, Dropped: o.Dropped, Body: slices.Clone(o.Raw), Leaf: o.Leaf,
		Ready: c.passed(o.ReadyAt),
	}
	if o.Address.IsValid() && out.Ready {
		out.Address = o.Address.String()
	}
	switch body := o.body.(type) {
	case *EndpointGroup:
		out.Health = c.healthOf(o, body)
	case *Balancer:
		out.Serves = c.addressesOf(body)
	}
	return out
}

// addressesOf are where a balancer answers. A stale reader may see a balancer
// whose address is gone.
func (c *Cloud) addressesOf(b *Balancer) []string {
	var out []string
	for _, ref := range b.Addresses {
		if a := c.state.objects[lbmodel.Handle(ref)]; a != nil && a.Address.IsValid() {
			out = append(out, a.Address.String())
		}
	}
	return out
}

// passed says whether a moment has come.
func (c *Cloud) passed(t time.Time) bool { return !t.After(c.now()) }

// now is the time as objects keep it.
func (c *Cloud) now() time.Time { return c.options.Now().UTC() }

// Dump is every object, in the order of creation. It makes no call.
func (c *Cloud) Dump() []Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Object, 0, len(c.state.order))
	for _, o := range c.state.order {
		out = append(out, c.view(o))
	}
	return out
}

// key is what a name is unique in.
type key struct{ location, kind, name string }

// state is the objects and what is found quickly among them. Objects in it are
// never changed: another form of one is another *object.
type state struct {
	next    int       // the next object's number
	order   []*object // by Seq
	objects map[lbmodel.Handle]*object
	names   map[key]*object
	slots   map[string]*object // by location and slot
	users   map[lbmodel.Handle]map[lbmodel.Handle]bool
	used    map[string]map[netip.Addr]*object // addresses by location

	reordered bool // lists are read in another order
}

func newState() state {
	return state{
		next:    1,
		objects: map[lbmodel.Handle]*object{},
		names:   map[key]*object{},
		slots:   map[string]*object{},
		users:   map[lbmodel.Handle]map[lbmodel.Handle]bool{},
		used:    map[string]map[netip.Addr]*object{},
	}
}

// replace puts next where old is: either may be nil.
func (s *state) replace(old, next *object) {
	if old != nil {
		s.unlink(old)
	}
	if next != nil {
		s.link(next)
		s.next = max(s.next, next.Seq+1)
	}
	switch i, found := s.position(old, next); {
	case next == nil:
		s.order = slices.Delete(s.order, i, i+1)
	case found:
		s.order[i] = next
	default:
		s.order = slices.Insert(s.order, i, next)
	}
}

func (s *state) position(old, next *object) (int, bool) {
	o := old
	if o == nil {
		o = next
	}
	return slices.BinarySearchFunc(s.order, o.Seq, func(o *object, seq int) int { return o.Seq - seq })
}

func (s *state) link(o *object) {
	s.objects[o.handle()] = o
	s.names[o.key()] = o
	if slot := slotOf(o.body); slot != "" {
		s.slots[o.Location+" "+slot] = o
	}
	if o.Address.IsValid() {
		if s.used[o.Location] == nil {
			s.used[o.Location] = map[netip.Addr]*object{}
		}
		s.used[o.Location][o.Address] = o
	}
	for ref := range referencesOf(o.body) {
		if s.users[ref] == nil {
			s.users[ref] = map[lbmodel.Handle]bool{}
		}
		s.users[ref][o.handle()] = true
	}
}

func (s *state) unlink(o *object) {
	delete(s.objects, o.handle())
	delete(s.names, o.key())
	if slot := slotOf(o.body); slot != "" {
		delete(s.slots, o.Location+" "+slot)
	}
	delete(s.used[o.Location], o.Address)
	for ref := range referencesOf(o.body) {
		delete(s.users[ref], o.handle())
		if len(s.users[ref]) == 0 {
			delete(s.users, ref)
		}
	}
}

// usersOf are the objects of a kind that refer to a handle, in list order.
func (s *state) usersOf(h lbmodel.Handle, kind string) []*object {
	var out []*object
	for user := range maps.Keys(s.users[h]) {
		if o := s.objects[user]; kind == "" || o.Kind == kind {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *object) int { return a.Seq - b.Seq })
	return out
}

func referencesOf(b Body) map[lbmodel.Handle]bool {
	out := map[lbmodel.Handle]bool{}
	b.references(func(ref *Ref) { out[lbmodel.Handle(*ref)] = true })
	return out
}

// listOf names objects for an error, three at most.
func listOf(objects []*object) string {
	var names []string
	for i, o := range objects {
		if i == 3 {
			names = append(names, "and others")
			break
		}
		names = append(names, o.Kind+" "+o.Name)
	}
	return strings.Join(names, ", ")
}
