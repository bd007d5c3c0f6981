package gcp

import (
	"cmp"
	"context"

	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gatehouse.dev/internal/gcpcalls"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

var (
	_ providers.Provider     = (*Provider)(nil)
	_ providers.Marker       = (*Provider)(nil)
	_ providers.HealthReader = (*Provider)(nil)
)

// Observe implements providers.Cloud. It lists what a project has of each kind, in all
// places, once, keeps what is ours by its description, and asks each network endpoint
// group of ours who is in it. So nothing that was left behind stays unseen, wherever it
// is.
func (p *Provider) Observe(ctx context.Context, owner lbmodel.Owner, named []lbmodel.Handle) (lbmodel.Graph, error) {
	o := p.newObserver(owner)
	if err := o.observe(ctx, named); err != nil {
		return nil, codeError("Observe", lbmodel.ID{}, err)
	}
	o.remember()
	return o.out, nil
}

// observer is the working state of one Observe.
type observer struct {
	*Provider
	names
	owner lbmodel.Owner

	mu    sync.Mutex // guards what follows while reads are made side by side
	items []item
	out   lbmodel.Graph
}

func (p *Provider) newObserver(owner lbmodel.Owner) *observer {
	return &observer{Provider: p, owner: owner, out: lbmodel.Graph{}, names: p.newNames()}
}

func (p *Provider) newNames() names {
	return names{project: p.project, ours: map[string]lbmodel.ID{}, ips: map[string]string{}, shows: map[lbmodel.ID]bool{}}
}

func (o *observer) observe(ctx context.Context, named []lbmodel.Handle) error {
	if err := each(ctx, kinds(), o.list); err != nil {
		return err
	}
	if err := o.listEntries(ctx); err != nil {
		return err
	}
	for i := range o.items {
		o.learn(&o.items[i], o.owner.Cluster)
	}
	all, err := o.read()
	if err != nil {
		return err
	}
	noteByUsers(all)
	for i := range o.items {
		if r, ours := all[o.items[i].id]; ours && o.concerns(&o.items[i]) {
			o.out[r.ID] = r
		}
	}
	if err := each(ctx, o.groups(), o.showEndpoints); err != nil {
		return err
	}
	return each(ctx, named, o.showNamed)
}

// list lists a kind in all places. An API that the project has not enabled holds
// nothing.
func (o *observer) list(ctx context.Context, kind string) error {
	var at string
	switch {
	case kind == KindCertificateMapEntry:
		return nil // they are in maps
	case kind == KindFirewall:
		at = "projects/" + o.names.project + "/global/" + collection(kind)
	case inLocations(kind) != "":
		at = "projects/" + o.names.project + "/locations/-/" + collection(kind)
	default:
		at = "projects/" + o.names.project + "/aggregated/" + collection(kind)
	}
	return o.listAt(ctx, kind, at)
}

func (o *observer) listAt(ctx context.Context, kind, at string) error {
	all, err := o.calls.List(ctx, at, "")
	switch {
	case isDisabled(err) && service(kind) != service(KindBackendService):
		return nil
	case err != nil:
		return err
	}
	for _, body := range all {
		i, err := o.itemOf(kind, body)
		if err != nil {
			return err
		}
		o.mu.Lock()
		o.items = append(o.items, i)
		o.mu.Unlock()
	}
	return nil
}

// listEntries lists what is in our certificate maps.
func (o *observer) listEntries(ctx context.Context) error {
	var maps []string
	for _, i := range o.items {
		if i.id.Kind == KindCertificateMap && i.isOf(o.owner.Cluster) {
			maps = append(maps, i.path)
		}
	}
	return each(ctx, maps, func(ctx context.Context, at string) error {
		err := o.listAt(ctx, KindCertificateMapEntry, at+"/certificateMapEntries")
		return exceptGone(err)
	})
}

// isOf says whether a thing is our cluster's.
func (i *item) isOf(cluster string) bool { return i.ours && i.own.Cluster == cluster }

// learn takes down what references to a thing stand for.
func (n *names) learn(i *item, cluster string) {
	if i.isOf(cluster) {
		n.ours[i.path] = i.id
	}
	switch i.id.Kind {
	case KindAddress:
		n.ips[i.path] = i.fields.Address
	case KindBackendAuthenticationConfig:
		n.shows[i.id] = i.fields.ClientCertificate != ""
	}
}

// concerns says whether something of ours is to be shown: it is shared, or the owner's.
func (o *observer) concerns(i *item) bool {
	return i.isOf(o.owner.Cluster) && (o.owner.Name == "" || i.own.hold() == lbmodel.Shared || i.own.owner() == o.owner)
}

// read is all that is the cluster's.
func (o *observer) read() (lbmodel.Graph, error) {
	out := lbmodel.Graph{}
	for i := range o.items {
		one := &o.items[i]
		if !one.isOf(o.owner.Cluster) {
			continue
		}
		r, err := o.resource(one)
		if err != nil {
			return nil, lbmodel.Errorf(lbmodel.CodeInternal, "Observe", one.id, "%w", err)
		}
		out[one.id] = r
	}
	return out, nil
}

// resource is a thing of ours as a Graph has it.
func (n *names) resource(i *item) (lbmodel.Resource, error) {
	spec, err := n.specOf(i)
	if err != nil {
		return lbmodel.Resource{}, err
	}
	r := lbmodel.NewResource(i.id, spec).With(i.own.hold())
	r.Handle, r.Facts = lbmodel.Handle(i.path), i.facts()
	if r.Hold == lbmodel.Own {
		r.Owner = i.own.owner()
	}
	return r, nil
}

// facts are what is known of a thing beside its Spec.
func (i *item) facts() lbmodel.Facts {
	out := lbmodel.Facts{DroppedAt: i.own.unwanted(i.fields.Labels), Leaf: i.leaf(), Version: i.fields.Fingerprint}
	out.Addresses = addressesOf(cmp.Or(i.fields.Address, i.fields.IPAddress))
	return out
}

func addressesOf(ip string) []lbmodel.Address {
	if ip == "" {
		return nil
	}
	return []lbmodel.Address{{Type: lbmodel.AddressIP, Value: ip}}
}

// groups are our network endpoint groups that are shown.
func (o *observer) groups() []lbmodel.ID {
	var out []lbmodel.ID
	for id := range o.out {
		if id.Kind == KindNetworkEndpointGroup {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, lbmodel.ID.Compare)
	return out
}

// showEndpoints adds who is in a group, and how they are. One that went meanwhile has
// nobody.
func (o *observer) showEndpoints(ctx context.Context, id lbmodel.ID) error {
	o.mu.Lock()
	group := o.out[id]
	o.mu.Unlock()
	spec, _ := group.Spec.(*NetworkEndpointGroup)
	endpoints, health, err := o.endpointsIn(ctx, string(group.Handle), spec)
	if err != nil {
		return exceptGone(err)
	}
	to := endpointsID(id)
	r := lbmodel.NewResource(to, &NetworkEndpoints{Group: refTo(id), Endpoints: endpoints}).With(group.Hold)
	r.Owner, r.Handle, r.Facts.Health = group.Owner, group.Handle, health
	r.Facts.DroppedAt = group.Facts.DroppedAt
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out[to] = r
	return nil
}

// endpointsID is who is attached to a group.
func endpointsID(group lbmodel.ID) lbmodel.ID {
	group.Kind = KindNetworkEndpoints
	return group
}

// attached is one endpoint in a list of them.
type attached struct {
	Endpoint Endpoint `json:"networkEndpoint"`
	Healths  []struct {
		State string `json:"healthState"`
	} `json:"healths"`
}

// endpointsIn asks who is in a group: sorted, with what its health checks say.
func (p *Provider) endpointsIn(ctx context.Context, path string, group *NetworkEndpointGroup) ([]Endpoint, map[lbmodel.Target]lbmodel.Health, error) {
	all, err := p.calls.AskAll(ctx, path, "listNetworkEndpoints", []byte(`{"healthStatus":"SHOW"}`))
	if err != nil {
		return nil, nil, err
	}
	out, health := make([]Endpoint, 0, len(all)), make(map[lbmodel.Target]lbmodel.Health, len(all))
	for _, text := range all {
		var one attached
		if err := gcpcalls.Read(text, &one); err != nil {
			return nil, nil, err
		}
		one.Endpoint.Instance = lastOf(one.Endpoint.Instance)
		health[one.Endpoint.target()] = one.health()
		if group.NetworkEndpointType == typeNode {
			one.Endpoint.IPAddress = "" // the server's: it is the instance that is attached
		}
		out = append(out, one.Endpoint)
	}
	slices.SortFunc(out, compareEndpoints)
	return out, health, nil
}

func compareEndpoints(a, b Endpoint) int {
	return cmp.Or(strings.Compare(a.IPAddress, b.IPAddress), strings.Compare(a.Instance, b.Instance), strings.Compare(a.FQDN, b.FQDN), cmp.Compare(a.Port, b.Port))
}

// target is the endpoint as health reports name it.
func (e Endpoint) target() lbmodel.Target {
	return lbmodel.Target(net.JoinHostPort(cmp.Or(e.IPAddress, e.FQDN, e.Instance), strconv.Itoa(int(e.Port))))
}

// health is the worst of what is said of an endpoint: gateways may look at different
// things. Where nobody looks, as on the internet, nothing is known.
func (a *attached) health() lbmodel.Health {
	rank := []lbmodel.Health{lbmodel.HealthUnhealthy, lbmodel.HealthDraining, lbmodel.HealthInitial, lbmodel.HealthUnknown, lbmodel.HealthHealthy}
	worst := len(rank)
	for _, h := range a.Healths {
		worst = min(worst, slices.Index(rank, healthOf(h.State)))
	}
	if worst == len(rank) {
		return lbmodel.HealthUnknown
	}
	return rank[worst]
}

func healthOf(state string) lbmodel.Health {
	switch state {
	case "HEALTHY":
		return lbmodel.HealthHealthy
	case "UNHEALTHY":
		return lbmodel.HealthUnhealthy
	case "DRAINING":
		return lbmodel.HealthDraining
	default:
		return lbmodel.HealthUnknown
	}
}

// showNamed adds something of somebody else's, if it is there.
func (o *observer) showNamed(ctx context.Context, handle lbmodel.Handle) error {
	path := string(handle)
	i, known := o.find(path)
	if !known {
		parts := strings.Split(path, "/")
		kind := ""
		if len(parts) > 4 {
			kind = kindOf(parts[len(parts)-2])
		}
		if kind == "" || strings.HasPrefix(path, "projects/"+o.names.project+"/") {
			return nil // it would have been in the list
		}
		body, err := o.calls.Get(ctx, path)
		if err != nil {
			return exceptGone(err)
		}
		if i, err = o.itemOf(kind, body); err != nil {
			return err
		}
	}
	o.external(&i)
	return nil
}

func (o *observer) find(path string) (item, bool) {
	at := slices.IndexFunc(o.items, func(i item) bool { return i.path == path })
	if at < 0 {
		return item{}, false
	}
	return o.items[at], true
}

// external adds something of somebody else's. Of a firewall rule it matters what it lets
// in: the operator has made it for us, under the name that we would give it.
func (o *observer) external(i *item) {
	id, spec := i.id, lbmodel.Spec(&Foreign{})
	if rule, err := o.specOf(i); err == nil && id.Kind == KindFirewall {
		spec = rule
	} else {
		id.Name = i.path
	}
	r := lbmodel.NewResource(id, spec).With(lbmodel.External)
	r.Handle = lbmodel.Handle(i.path)
	r.Facts.Addresses = addressesOf(i.fields.Address)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out[id] = r
}

// readSideBySide is how many reads are made at a time.
const readSideBySide = 8

// each does something with every item, some at a time, and returns the first error.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	room := make(chan struct{}, readSideBySide)
	for _, item := range items {
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			if ctx.Err() != nil {
				return
			}
			if err := do(ctx, item); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// exceptGone drops the error that something is not there.
func exceptGone(err error) error {
	if isMissing(err) {
		return nil
	}
	return err
}

// remember takes down what later changes must name.
func (o *observer) remember() {
	for i := range o.items {
		if o.items[i].isOf(o.owner.Cluster) {
			o.memory.see(&o.items[i])
		}
	}
	o.memory.look(o.out, o.now())
}
