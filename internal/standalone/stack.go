package standalone

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/local"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/providers"
)

// Config says what a Stack reads and what it runs on.
type Config struct {
	Dir     string // of manifests
	Cluster string
	Local   local.Config
	// ServiceDefault and ServiceParameters are those of translate.Options.
	ServiceDefault    string
	ServiceParameters map[string]types.NamespacedName
	// Schemas are kept between stacks, so that each kind is compiled once; nil is
	// fresh ones.
	Schemas *manifest.Schemas

	// Dialects are those of translate.Options: the meshes that are known.
	Dialects map[string]meshsync.Dialect
	// Members make gateways members of those meshes; nil: nobody answers for what no
	// Secret holds. Their clock should be Clock.
	Members *member.Members
	// Roots reads those that no file has; nil: nobody does. It is run by whoever made it,
	// who calls Fetched when it has changed.
	Roots *rootsync.Sync
	// Keyring, if it is set, answers before those of Members and of the files, which
	// it is given.
	Keyring func(next providers.Keyring) providers.Keyring
	// Clock is the time by which roots and certificates come and go. Who moves it
	// passes again: nothing waits for it.
	Clock providers.Clock
	// Patience bounds how hard a pass tries; zero is what suits the cloud.
	Patience providers.Patience
	// Pacer keeps the calls to the cloud within a quota; nil is none.
	Pacer providers.Pacer
	// Over is a Stack whose cloud and data plane this one works on, as another process
	// would. They stay that one's: close this one first. Local is not looked at then.
	Over *Stack
}

// Stack is files, loop, cloud and data plane. It belongs to one goroutine.
type Stack struct {
	Local *local.Local
	Loop  *reconcile.Loop
	// Now are the objects as they were last read.
	Now translate.Snapshot
	// Problems are what was wrong with the files when they were last read.
	Problems []manifest.Problem

	config   Config
	doubt    bool // the files were never read whole
	account  *providers.Account
	provider providers.Provider
	keys     atomic.Pointer[manifest.Keys]
	answer   providers.Keyring
	outcomes map[translate.Key]translate.Outcome // of the last pass of each gateway
}

// Open reads the folder, opens the cloud and starts the data plane. Nothing is
// planned or applied yet.
func Open(ctx context.Context, config Config) (*Stack, error) {
	s := &Stack{config: config, outcomes: map[translate.Key]translate.Outcome{}}
	if s.config.Schemas == nil {
		s.config.Schemas = new(manifest.Schemas)
	}
	if s.config.Clock.Now == nil {
		s.config.Clock.Now = time.Now
	}
	loaded, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	s.Now = loaded.Snapshot
	s.keys.Store(loaded.Keys)
	s.answer = s.keyring()
	if err := s.open(); err != nil {
		return nil, err
	}
	s.account = providers.NewAccount(providers.Config{
		Provider: s.provider, Cluster: config.Cluster, Name: "fake", Patience: cmp.Or(config.Patience, s.Local.Patience()), Clock: config.Clock, Pacer: config.Pacer,
	})
	s.Loop = reconcile.New(translate.New(s.Now, s.options()), map[string]*providers.Account{"fake": s.account})
	s.fetch()
	if config.Members != nil {
		config.Members.Over(s.Loop)
	}
	s.doubt = loaded.Incomplete
	s.Loop.Doubt(reconcile.Doubt{Incomplete: loaded.Incomplete, Bad: loaded.Bad, Remains: loaded.Remains})
	if config.Over != nil {
		return s, nil
	}
	return s, s.Local.Serve(ctx)
}

// open opens the cloud, or takes that of another.
func (s *Stack) open() (err error) {
	if over := s.config.Over; over != nil {
		s.Local, s.provider = over.Local, over.Local.Client(s.answer)
		return nil
	}
	s.config.Local.Keyring = s.answer
	if s.Local, err = local.Open(s.config.Local); err != nil {
		return err
	}
	s.provider = s.Local.Provider
	return nil
}

func (s *Stack) options() translate.Options {
	return translate.Options{
		Controllers:    map[string]string{"gatehouse.dev/fake": "fake"},
		ServiceDefault: s.config.ServiceDefault, ServiceParameters: s.config.ServiceParameters,
		Offers: func(_ string, settings json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
			return s.Local.Provider.Offers(settings)
		},
		AllowLoopback: func(_ string, settings json.RawMessage) bool { return local.AllowsLoopback(settings) },
		Dialects:      s.config.Dialects,
	}
}

// keyring answers by the files as they are when it is asked.
func (s *Stack) keyring() providers.Keyring {
	answer := func(ctx context.Context, id lbmodel.Identity) (tls.Certificate, error) {
		return s.keys.Load().Keyring()(ctx, id)
	}
	if m := s.config.Members; m != nil {
		answer = m.Keyring(answer) // who probes reads keys before anything is applied
	}
	if wrap := s.config.Keyring; wrap != nil {
		answer = wrap(answer)
	}
	return answer
}

func (s *Stack) load(ctx context.Context) (*manifest.Loaded, error) {
	loaded, err := manifest.Load(ctx, manifest.Options{
		Paths: []string{s.config.Dir}, Cluster: s.config.Cluster, Schemas: s.config.Schemas, MeshKinds: s.options().Reads(),
	})
	if err != nil {
		return nil, err
	}
	s.Problems = loaded.Problems
	return loaded, nil
}

// Reload takes the files as they are now and says which gateways that concerns.
// What is not there any more is removed, unless something could not be read.
func (s *Stack) Reload(ctx context.Context) ([]translate.Key, error) {
	loaded, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	absent := reconcile.Removed
	if loaded.Incomplete {
		absent = reconcile.Unproven
	}
	latest := reconcile.Latest{Snapshot: s.Now}
	difference, _ := latest.Take(loaded.Snapshot, absent, time.Now())
	s.Now = latest.Snapshot
	s.keys.Store(loaded.Keys.Keeping(s.keys.Load(), latest.Usable()))
	keys := append(s.Loop.Change(difference.Change), s.fetch()...)
	slices.SortFunc(keys, func(a, b translate.Key) int { return cmp.Compare(a.String(), b.String()) })
	keys = slices.Compact(keys)
	if s.config.Members != nil {
		s.config.Members.See()
	}
	if s.doubt && !loaded.Incomplete { // what the start left open concerns everybody
		s.doubt = false
		s.Loop.Doubt(reconcile.Doubt{})
		return s.Loop.Index().Gateways(), nil
	}
	return keys, nil
}

// fetch has the places read that bindings name now, and takes what is known of them.
func (s *Stack) fetch() []translate.Key {
	if s.config.Roots == nil {
		return nil
	}
	s.config.Roots.Want(s.Loop.Index().Bounds())
	return s.Loop.Change(s.config.Roots.Change())
}

// Fetched takes the roots as Config.Roots knows them now, and says which gateways that
// concerns.
func (s *Stack) Fetched() []translate.Key {
	keys := s.fetch()
	if s.config.Members != nil {
		s.config.Members.See()
	}
	return keys
}

// Passed is what one pass did.
type Passed struct {
	Plan    lbmodel.Plan
	Patches []translate.Patch // of the gateways, what is attached to them, and MeshBindings
	Failed  map[lbmodel.ID]error
	Settled bool // everything is there
	// Next is when the first of what waits is due, by Config.Clock; zero is never.
	Next time.Time
}

// Pass plans and applies for some gateways, and returns when the data plane
// serves the result. Gateways whose parameters want a person's word, or say to
// plan only, are planned and no more. Steps that failed are in the result; the
// error is about planning or serving.
func (s *Stack) Pass(ctx context.Context, keys []translate.Key) (Passed, error) {
	keys, policies := s.probe(ctx, keys)
	planned, err := s.Loop.Plan(ctx, keys, policies...)
	if err != nil {
		return Passed{}, fmt.Errorf("planning: %w", err)
	}
	agreed := reconcile.Pass{Groups: slices.DeleteFunc(slices.Clone(planned.Groups), func(g reconcile.Group) bool {
		return g.Apply != v1alpha1.ApplyAuto && !g.Plan.Empty()
	})}
	done := s.Loop.Apply(ctx, agreed, nil)
	out := Passed{
		Plan: planned.Plan(), Failed: map[lbmodel.ID]error{},
		Settled: done.Settled() && len(agreed.Groups) == len(planned.Groups),
		Patches: s.statuses(keys, planned, done),
	}
	for _, group := range done.Groups {
		if next := group.Outcome.Held.Next(); out.Next.IsZero() || !next.IsZero() && next.Before(out.Next) {
			out.Next = next
		}
		for id, err := range group.Outcome.Failed {
			out.Failed[id] = err
		}
	}
	return out, s.Local.Program(ctx)
}

// statuses are what the pass leads to.
func (s *Stack) statuses(keys []translate.Key, planned, done reconcile.Pass) []translate.Patch {
	now := s.config.Clock.Now()
	maps.Copy(s.outcomes, s.Loop.OutcomesOf(keys, planned, done))
	results := map[translate.Key]translate.Result{}
	for _, g := range s.Loop.Gateways() {
		results[g.Key] = g.Result
	}
	return append(s.Loop.Statuses(planned, done, now), translate.BindingStatus(s.Loop.Index(), results, s.outcomes, metav1.NewTime(now))...)
}

// Calls are the calls made to the cloud so far, by operation.
func (s *Stack) Calls() map[string]int { return s.account.Calls() }

// Address is where the listeners of a gateway's port really answer, but for UDP.
func (s *Stack) Address(gateway string, port int32) (netip.AddrPort, error) {
	for _, b := range s.Local.Bound() {
		if b.Port == port && b.Owner.Name == gateway && b.Protocol != lbmodel.ProtocolUDP {
			return b.Addr, nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("port %d of gateway %s is not served: %w", port, gateway, errors.Join(errors.New("no listener is programmed there"), s.Local.Broken()))
}

// Close drains the data plane and gives everything back.
func (s *Stack) Close(ctx context.Context) error {
	if s.config.Over != nil {
		return nil
	}
	return errors.Join(s.Local.Shutdown(ctx), s.Local.Close())
}
