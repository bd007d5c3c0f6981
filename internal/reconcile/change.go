package reconcile

import (
	"context"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Difference is what changed between two snapshots.
type Difference struct {
	translate.Change
	// Backends are the Services whose EndpointSlices changed.
	Backends []translate.Key
}

// Empty says that nothing changed.
func (d Difference) Empty() bool { return len(d.Put)+len(d.Delete) == 0 }

// Absence says what it means that an object is no longer there.
type Absence string

// The meanings.
const (
	Removed  Absence = "Removed"  // it was removed
	Unproven Absence = "Unproven" // something could not be read: its last version stays
)

// Compare finds what changed. Objects are compared by content.
func Compare(old, next translate.Snapshot, absent Absence) Difference {
	var d Difference
	before := map[translate.Key]any{}
	for obj := range objects(old) {
		if key, ok := translate.KeyOf(obj); ok {
			before[key] = obj
		}
	}
	for obj := range objects(next) {
		key, ok := translate.KeyOf(obj)
		if !ok {
			continue
		}
		was := before[key]
		delete(before, key)
		if !reflect.DeepEqual(was, obj) {
			d.Put = append(d.Put, obj)
			d.backends(was, obj)
		}
	}
	if absent == Removed {
		for _, key := range slices.SortedFunc(maps.Keys(before), compareKeys) {
			d.Delete = append(d.Delete, key)
			d.backends(before[key])
		}
	}
	return d
}

func (d *Difference) backends(all ...any) {
	for _, obj := range all {
		if s, ok := obj.(*discoveryv1.EndpointSlice); ok && s != nil {
			if key := translate.ServiceKey(s); !slices.Contains(d.Backends, key) {
				d.Backends = append(d.Backends, key)
			}
		}
	}
}

// objects yields everything in a snapshot.
func objects(s translate.Snapshot) iter.Seq[any] {
	return func(yield func(any) bool) {
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			if v.Field(i).Kind() != reflect.Slice {
				continue
			}
			for j := range v.Field(i).Len() {
				if !yield(v.Field(i).Index(j).Interface()) {
					return
				}
			}
		}
	}
}

// Endpoints is the fast path of a difference that is EndpointsOnly: it brings the
// endpoints of the pools concerned up to date, each shared set once, and plans
// nothing. The keys are the gateways concerned.
func (l *Loop) Endpoints(ctx context.Context, d Difference) ([]translate.Key, error) {
	next, concerned := l.index.With(d.Change)
	l.index = next
	changes := map[string][]providers.PoolChange{}
	for _, key := range concerned {
		g, ok := l.gateways[key]
		if !ok || !g.Planned() || l.accounts[g.Result.Provider] == nil {
			continue
		}
		for _, pool := range l.pools(&g, d.Backends) {
			changes[g.Result.Provider] = append(changes[g.Result.Provider],
				providers.PoolChange{Owner: g.Result.Gateway.Owner, Settings: g.Result.Gateway.Settings, Pool: pool})
		}
		l.gateways[key] = g
	}
	var errs []error
	for _, provider := range slices.Sorted(maps.Keys(changes)) {
		outcome, err := l.accounts[provider].Endpoints(ctx, changes[provider]...)
		errs = append(errs, err, outcome.Err())
	}
	return concerned, errors.Join(errs...)
}

// pools are a gateway's pools with new endpoints, as its provider serves them.
// The gateway is brought up to date with them.
func (l *Loop) pools(g *Gateway, backends []translate.Key) []lbmodel.Pool {
	fresh := map[string]lbmodel.Pool{}
	for _, backend := range backends {
		pools, _ := l.index.PoolsOf(backend, g.Result) // the findings about refused endpoints come with the next full pass
		for _, p := range pools {
			fresh[p.Name] = p
		}
	}
	replace := func(pools []lbmodel.Pool) []lbmodel.Pool {
		pools = slices.Clone(pools)
		for i, p := range pools {
			if now, ok := fresh[p.Name]; ok {
				pools[i].Endpoints = now.Endpoints
			}
		}
		return pools
	}
	g.Result.Gateway.Pools = replace(g.Result.Gateway.Pools)
	*g = restricted(*g, l.index)
	var out []lbmodel.Pool
	for _, p := range g.Served.Pools {
		if _, ok := fresh[p.Name]; ok {
			out = append(out, p)
		}
	}
	return out
}

// Overlay is next with those objects of old that next does not have, but for those
// that are gone.
func Overlay(old, next translate.Snapshot, gone ...translate.Key) translate.Snapshot {
	there := map[translate.Key]bool{}
	for _, key := range gone {
		there[key] = true
	}
	for obj := range objects(next) {
		if key, ok := translate.KeyOf(obj); ok {
			there[key] = true
		}
	}
	out := reflect.New(reflect.TypeFor[translate.Snapshot]()).Elem()
	out.Set(reflect.ValueOf(next))
	from := reflect.ValueOf(old)
	for i := range out.NumField() {
		if out.Field(i).Kind() != reflect.Slice {
			continue
		}
		list := reflect.AppendSlice(reflect.MakeSlice(out.Field(i).Type(), 0, 0), out.Field(i))
		for j := range from.Field(i).Len() {
			if key, ok := translate.KeyOf(from.Field(i).Index(j).Interface()); ok && !there[key] {
				list = reflect.Append(list, from.Field(i).Index(j))
			}
		}
		out.Field(i).Set(list)
	}
	return out.Interface().(translate.Snapshot)
}
