package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/roots"
	"gatehouse.dev/providers"
)

// engine is the loop of one command with the accounts it works on.
type engine struct {
	app      *app
	options  Options // that accounts are opened with
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

// open opens the accounts that are on this machine. Others follow when it is known
// that they are needed.
func (a *app) open(ctx context.Context, o Options) (*engine, error) {
	e := &engine{app: a, accounts: map[string]*providers.Account{}, backends: map[string]Backend{}, keys: &liveKeys{}}
	o.Cluster, o.Log, o.Keyring, o.Trouble = a.flags.cluster, a.log, e.keys.keyring, a.trouble
	e.options = o
	for _, p := range a.config.Providers {
		if p.Remote {
			continue
		}
		if err := e.reach(ctx, p, nil); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	return e, nil
}

// reach opens one provider's account.
func (e *engine) reach(ctx context.Context, p Provider, settings []json.RawMessage) error {
	o := e.options
	o.Settings = settings
	if o.StateDir != "" {
		o.StateDir = state{o.StateDir}.provider(p.Name)
	}
	b, err := p.Open(ctx, o)
	if err != nil {
		return fmt.Errorf("opening provider %s: %w", p.Name, err)
	}
	e.backends[p.Name] = b
	e.accounts[p.Name] = providers.NewAccount(providers.Config{
		Provider: b.Provider, Cluster: o.Cluster, Name: p.Name, Log: e.app.log, Patience: b.Patience, CallTimeout: b.CallTimeout,
	})
	return nil
}

// need opens the accounts elsewhere that objects name, or that something was applied
// to. It must be done before there is a loop.
func (e *engine) need(ctx context.Context, s translate.Snapshot) error {
	for _, p := range e.app.config.Providers {
		if _, open := e.accounts[p.Name]; open || !asksFor(s, p.Name) && !e.record.names(p.Name) {
			continue
		}
		if err := e.reach(ctx, p, sections(s, p.Name)); err != nil {
			return err
		}
	}
	return nil
}

// reachRest opens the accounts that neither objects nor the record name: what is in them
// says by itself whose it is. It says whether there are any.
func (e *engine) reachRest(ctx context.Context) (more bool) {
	for _, p := range e.app.config.Providers {
		if _, open := e.accounts[p.Name]; open {
			continue
		}
		if err := e.reach(ctx, p, nil); err != nil {
			e.app.err.Printf("%s provider %s was not asked: %v\n", e.app.err.Paint(term.Yellow, "!"), p.Name, err)
			continue
		}
		more = true
	}
	return more
}

// remote are the providers elsewhere whose accounts are open.
func (e *engine) remote() []string {
	var out []string
	for _, p := range e.app.config.Providers {
		if _, open := e.accounts[p.Name]; open && p.Remote {
			out = append(out, p.Name)
		}
	}
	return out
}

// closed are the providers that objects ask for and whose accounts are not open.
func (e *engine) closed(s translate.Snapshot) []string {
	var out []string
	for _, p := range e.app.config.Providers {
		if _, open := e.accounts[p.Name]; !open && asksFor(s, p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}

// asksFor says whether objects ask for a provider's load balancers: by a class, or by
// the class of a Service.
func asksFor(s translate.Snapshot, provider string) bool {
	name := controllerPrefix + provider
	return slices.ContainsFunc(s.GatewayClasses, func(c *gwv1.GatewayClass) bool { return string(c.Spec.ControllerName) == name }) ||
		slices.ContainsFunc(s.Services, func(svc *corev1.Service) bool {
			return svc.Spec.LoadBalancerClass != nil && *svc.Spec.LoadBalancerClass == name
		})
}

// sections are a provider's settings in the GatewayParameters, each once.
func sections(s translate.Snapshot, provider string) []json.RawMessage {
	var out []json.RawMessage
	for _, p := range s.Parameters {
		var fields map[string]json.RawMessage
		text, err := json.Marshal(p.Spec)
		if err != nil || json.Unmarshal(text, &fields) != nil {
			continue // translation tells what is wrong with it
		}
		section := fields[provider]
		if section != nil && !slices.ContainsFunc(out, func(other json.RawMessage) bool { return bytes.Equal(other, section) }) {
			out = append(out, section)
		}
	}
	return out
}

// take gives the engine its first files, with what they leave open.
func (e *engine) take(ctx context.Context, loaded *manifest.Loaded, o translate.Options) error {
	if err := e.need(ctx, loaded.Snapshot); err != nil {
		return err
	}
	e.keys.now.Store(loaded.Keys)
	e.loop = reconcile.New(translate.New(loaded.Snapshot, o), e.accounts)
	doubt := reconcile.Doubt{
		Incomplete: loaded.Incomplete, Bad: loaded.Bad, Remains: loaded.Remains, Restricting: loaded.Restricting,
	}
	for _, place := range loaded.Astray {
		doubt.Astray = append(doubt.Astray, place.String())
	}
	e.loop.Doubt(doubt)
	return nil
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
