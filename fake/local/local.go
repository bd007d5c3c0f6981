package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/fake/settings"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Config makes a Local. Every zero value is usable.
type Config struct {
	StateDir string // where the cloud keeps what it holds; "" is in memory
	ReadOnly bool   // the state directory belongs to another process
	Keyring  providers.Keyring
	Log      *slog.Logger

	Ports        dataplane.Ports
	DrainTimeout time.Duration // of requests in flight at Shutdown; 0 is the data plane's own
	AccessLog    func(dataplane.Entry)
	Trouble      func(dataplane.Trouble) // told of backends that cannot be reached or believed; nil is Log, at Warn
	Resolver     dataplane.Resolver      // of names that pools send to; nil is this machine's
	Intercept    cloud.Interceptor       // sees, and may spoil, every call; nil is nobody
	Now          func() time.Time        // by which backends' certificates are judged; nil is time.Now
	HealthEvery  time.Duration           // between two reports of the endpoints' health to the cloud; 500 ms
}

// Local is a cloud and its data plane. Its methods may be called concurrently.
type Local struct {
	Cloud    *cloud.Cloud
	Provider *cloud.Provider
	config   Config

	mu     sync.Mutex
	plane  *dataplane.DataPlane // nil until Serve
	stop   context.CancelFunc
	follow sync.WaitGroup
	over   bool  // Shutdown was called
	broken error // of the last Program
}

// Open makes a Local, with what its state directory holds. It serves nothing
// until Serve.
func Open(config Config) (*Local, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	c, err := cloud.New(cloud.Options{StateDir: config.StateDir, ReadOnly: config.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("opening the fake cloud: %w", err)
	}
	if config.Intercept != nil {
		c.Intercept(config.Intercept)
	}
	return &Local{Cloud: c, Provider: cloud.NewProvider(c, config.Keyring), config: config}, nil
}

// Patience suits a cloud whose slowest things take milliseconds.
func (l *Local) Patience() providers.Patience {
	return providers.Patience{Cap: 25 * time.Millisecond, Pending: 10 * time.Second}
}

// Serve starts a data plane that serves what the cloud holds, and follows every
// change of it until Shutdown. So long the cloud knows the endpoints' health from
// the data plane's checks, and assumes it otherwise. Keys that the cloud forgot with its last process
// are read again. After Shutdown it is dataplane.ErrClosed.
func (l *Local) Serve(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
		return dataplane.ErrClosed
	case l.plane != nil:
		return nil
	}
	if l.config.Keyring != nil {
		if err := l.Cloud.Unlock(ctx, l.config.Keyring); err != nil {
			l.config.Log.Warn("some certificates have no key yet; the next apply brings it", "err", err)
		}
	}
	l.plane = dataplane.New(dataplane.Config{
		Log: l.config.Log, Ports: l.config.Ports, DrainTimeout: l.config.DrainTimeout, AccessLog: l.config.AccessLog,
		Resolver: l.config.Resolver, Trouble: l.config.Trouble, Now: l.config.Now,
	})
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	health := reporter{cloud: l.Cloud, plane: l.plane}
	l.follow.Go(func() { l.run(ctx) })
	l.follow.Go(func() { health.run(ctx, cmp.Or(l.config.HealthEvery, healthEvery)) })
	return nil
}

// programAgain is how long to wait before what could not be served is tried again.
const programAgain = 500 * time.Millisecond

// run programs the data plane whenever the cloud holds something new. Changes
// that come while it is being programmed are served together, and what cannot be
// served is told when it is something else than before.
func (l *Local) run(ctx context.Context) {
	told := ""
	for {
		_, next := l.Cloud.Changed()
		now := ""
		if err := l.Program(ctx); err != nil {
			now = err.Error()
		}
		if now != "" && now != told {
			l.config.Log.Warn("not everything can be served", "err", now)
		}
		told = now
		var again <-chan time.Time
		if now != "" { // a port may be free later: of UDP, once its last answers are sent
			again = time.After(programAgain)
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
		case <-again:
		}
	}
}

// Program serves what the cloud holds now, and returns when it is served. Serve
// does so by itself; call it to be sure. The error is dataplane.DataPlane's.
func (l *Local) Program(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plane == nil {
		return errors.New("nothing is served before Serve or after Shutdown")
	}
	l.broken = l.plane.Program(ctx, l.gateways())
	return l.broken
}

func (l *Local) gateways() []dataplane.Gateway {
	var out []dataplane.Gateway
	for _, s := range l.Cloud.Serving() {
		s.Gateway.Settings = encode(settings.Settings{AllowLoopbackEndpoints: s.Loopback})
		out = append(out, dataplane.Gateway{Model: s.Gateway, Addresses: s.Addresses, Keys: s.Keys})
	}
	return out
}

// Client is another client of the cloud, with a keyring of its own: what a second
// process has of it.
func (l *Local) Client(keys providers.Keyring) providers.Provider {
	return cloud.NewProvider(l.Cloud, keys)
}

// Broken is what could not be served when the data plane was last programmed.
func (l *Local) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Bound is where the gateways answer, ordered by address.
func (l *Local) Bound() []dataplane.Bound {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plane == nil {
		return nil
	}
	return l.plane.Bound()
}

// Counters are the data plane's, zero before Serve.
func (l *Local) Counters() dataplane.Counters {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plane == nil {
		return dataplane.Counters{}
	}
	return l.plane.Counters()
}

// Shutdown stops taking traffic at once and returns when what is in flight is
// over, or when ctx or the drain timeout ends it: the error is then a
// *dataplane.CutError. The cloud keeps what it holds.
func (l *Local) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	l.over = true
	plane, stop := l.plane, l.stop
	l.mu.Unlock()
	if plane == nil {
		return nil
	}
	stop()
	l.follow.Wait()
	return plane.Shutdown(ctx)
}

// Close gives the state directory back.
func (l *Local) Close() error { return l.Cloud.Close() }

// Compiler is the provider without a cloud behind it: for reading only.
func Compiler() providers.Compiler { return cloud.NewProvider(nil, nil) }

// AllowsLoopback says whether settings let traffic go to loopback addresses.
func AllowsLoopback(raw json.RawMessage) bool {
	var s settings.Settings
	return json.Unmarshal(raw, &s) == nil && s.AllowLoopbackEndpoints
}

// Without are settings of a flavour that lacks some features, for the capability
// matrix.
func Without(features ...lbmodel.Feature) json.RawMessage {
	var s settings.Settings
	for _, f := range features {
		s.Without = append(s.Without, string(f))
	}
	return encode(s)
}

func encode(s settings.Settings) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic("local: settings are plain data and always encode: " + err.Error())
	}
	return raw
}
