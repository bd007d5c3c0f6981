package providers

import (
	"context"
	"maps"

	"gatehouse.dev/lbmodel"
)

// HealthReader is a Cloud that tells its targets' health without all the rest.
// Clouds tell nobody of a change by themselves, so whoever waits for one polls.
type HealthReader interface {
	// Health reads the health of targets (Facts.Health) of every resource that the
	// cluster owns or shares and that has any.
	Health(ctx context.Context, cluster string) (map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health, error)
}

const opHealth = "Health"

// ReadHealth asks the cloud how all targets are, remembers it (see Health), and
// returns the owners for whose targets anything is not as it was remembered. Of a
// provider that is no HealthReader it observes the whole cluster. It asks once:
// whoever polls comes again.
func (a *Account) ReadHealth(ctx context.Context) ([]lbmodel.Owner, error) {
	ctx = InBackground(ctx)
	reader, ok := a.provider.(HealthReader)
	if !ok {
		changed, err := a.observe(ctx, lbmodel.Owner{Cluster: a.config.Cluster})
		return a.owners(changed), err
	}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	if err := a.config.Pacer.Wait(ctx, opHealth); err != nil {
		return nil, located(opHealth, lbmodel.ID{}, err)
	}
	look := a.beginObservation(lbmodel.Owner{Cluster: a.config.Cluster})
	type health = map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health
	now, err := do(ctx, a, attempt[health]{
		op:     opHealth,
		call:   func(ctx context.Context) (health, error) { return reader.Health(ctx, a.config.Cluster) },
		finish: func(h health, err error) (health, error) { return h, err },
	})
	if err != nil {
		return nil, err
	}
	return a.owners(a.rememberHealth(now, look)), nil
}

// rememberHealth returns the resources of which something else is known now. What
// was written since the look began is newer than it.
func (a *Account) rememberHealth(now map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health, look observation) []lbmodel.ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	var changed []lbmodel.ID
	for id, health := range now {
		r, there := a.shadow.entries[id]
		if !there || a.shadow.writes[id].turn > look.since {
			continue
		}
		a.shadow.read[id] = look.began
		if maps.Equal(r.Facts.Health, health) {
			continue
		}
		r.Facts.Health = health
		a.shadow.entries[id] = r
		changed = append(changed, id)
	}
	return changed
}

// owners are those that own or use some of the resources, sorted.
func (a *Account) owners(ids []lbmodel.ID) []lbmodel.Owner {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.concerned(ids)
}
