package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/roots"
	"gatehouse.dev/providers"
)

// engine is the loop of one command with the accounts it works on.
type engine struct {
	loop     *reconcile.Loop
	accounts map[string]*providers.Account
	backends map[string]Backend
	keys     *liveKeys
	record   record                    // of the commands before
	spared   keptBack                  // gateways that --prune does not remove
	strays   []lbmodel.Finding         // about routes that no gateway of the files has
	fetched  map[string][]roots.Bundle // roots that no file has, to be remembered
}

// liveKeys is a Keyring whose files may be read again.
type liveKeys struct {
	now  atomic.Pointer[manifest.Keys]
	mesh atomic.Pointer[providers.Keyring] // who answers before the files; nil is nobody
}

func (k *liveKeys) keyring(ctx context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	if mesh := k.mesh.Load(); mesh != nil {
		return (*mesh)(ctx, id)
	}
	return k.files(ctx, id)
}

func (k *liveKeys) files(ctx context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	keys := k.now.Load()
	if keys == nil {
		return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeUnresolved, "keyring", lbmodel.ID{Kind: "Identity", Name: id.Name}, "no files with keys were read")
	}
	return keys.Keyring()(ctx, id)
}

// open opens every provider's account.
func (a *app) open(ctx context.Context, o Options) (*engine, error) {
	e := &engine{accounts: map[string]*providers.Account{}, backends: map[string]Backend{}, keys: &liveKeys{}}
	o.Cluster, o.Log, o.Keyring, o.Trouble = a.flags.cluster, a.log, e.keys.keyring, a.trouble
	dir := o.StateDir
	for _, p := range a.config.Providers {
		if dir != "" {
			o.StateDir = state{dir}.provider(p.Name)
		}
		b, err := p.Open(ctx, o)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening provider %s: %w", p.Name, err), e.close())
		}
		e.backends[p.Name] = b
		e.accounts[p.Name] = providers.NewAccount(providers.Config{
			Provider: b.Provider, Cluster: o.Cluster, Name: p.Name, Log: a.log, Patience: b.Patience,
		})
	}
	return e, nil
}

// take gives the engine its first files, with what they leave open.
func (e *engine) take(loaded *manifest.Loaded, o translate.Options) {
	e.keys.now.Store(loaded.Keys)
	e.loop = reconcile.New(translate.New(loaded.Snapshot, o), e.accounts)
	doubt := reconcile.Doubt{
		Incomplete: loaded.Incomplete, Bad: loaded.Bad, Remains: loaded.Remains, Restricting: loaded.Restricting,
	}
	for _, place := range loaded.Astray {
		doubt.Astray = append(doubt.Astray, place.String())
	}
	e.loop.Doubt(doubt)
}

func (e *engine) close() error {
	var errs []error
	for _, b := range e.backends {
		if b.Close != nil {
			errs = append(errs, b.Close())
		}
	}
	return errors.Join(errs...)
}

// serves says whether the loop has a gateway of an owner's name.
func (e *engine) serves(owner lbmodel.Owner) bool {
	return slices.ContainsFunc(e.loop.Gateways(), func(g reconcile.Gateway) bool {
		return keyName(g.Key) == ownerName(owner)
	})
}

// unclassed notes the gateways that were applied once and that the files name with
// a class that is none of ours. Whether that is meant or a typo nobody can say: they
// are left alone, and told.
func (e *engine) unclassed(s translate.Snapshot) {
	for _, g := range e.record.Gateways {
		if holds(s, g.Owner) && !e.serves(g.Owner) {
			e.spare(g.Owner)
		}
	}
}

// spare notes once that an owner stays although no gateway of ours stands for it.
func (e *engine) spare(owner lbmodel.Owner) {
	text := fmt.Sprintf("%s: the files name it, but its class is not one of ours: correct the class, or use destroy", owner)
	if !slices.Contains(e.spared.firm, text) {
		e.spared.firm = append(e.spared.firm, text)
	}
}

// gateways are those of some keys.
func (e *engine) gateways(keys []translate.Key) []reconcile.Gateway {
	var out []reconcile.Gateway
	for _, key := range keys {
		if g, ok := e.loop.Gateway(key); ok {
			out = append(out, g)
		}
	}
	return out
}
