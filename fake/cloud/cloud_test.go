package cloud

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

func TestLaws(t *testing.T) {
	providertest.Run(t, providertest.Harness{
		New: newWorld,
		Settings: func(location string) json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"location":%q}`, location))
		},
		Locations: []string{"local", "remote"},
		Adopt: func(w providertest.World, gw lbmodel.Gateway) lbmodel.Gateway {
			gw.Settings = json.RawMessage(fmt.Sprintf(`{"location":"local","network":%q,"networkIdleSeconds":30}`, w.(*world).network))
			return gw
		},
	})
}

// world is a fake cloud under the laws: with every trait on, pages of twenty, and
// other people's objects in it.
type world struct {
	*Cloud
	keys    providers.Keyring
	network lbmodel.Handle
}

func newWorld(tb testing.TB, env providertest.Env) providertest.World {
	w := &world{Cloud: newCloud(tb, func(o *Options) {
		o.Now, o.PageSize = env.Now, 20
		o.Locations = []string{"local", "remote"}
	}), keys: env.Keyring}
	w.addForeign(tb)
	return w
}

// foreignRoot is the same in every world, so that worlds can be compared.
var foreignRoot = sync.OnceValue(func() lbmodel.Root {
	pair, err := selfSigned(lbmodel.Identity{Name: "other"}, time.Now())
	if err != nil {
		panic(err)
	}
	return rootOf(pair.Certificate[0])
})

// addForeign fills the account with what is nearly ours: an address that we would
// get, a rule with a number that we would choose, trust and endpoints of another
// cluster under the names that ours have.
func (w *world) addForeign(tb testing.TB) {
	w.network = mustCreate(tb, w.Cloud, KindNetwork, "prod", &Network{CIDR: "10.0.0.0/8", Description: "theirs", IdleSeconds: 600}).Handle
	mustCreate(tb, w.Cloud, KindAddress, "theirs", &Address{Value: "127.71.0.1", Prefixes: []string{defaultPrefix}})
	balancer := mustCreate(tb, w.Cloud, KindBalancer, "theirs", &Balancer{Network: string(w.network)})
	listener := mustCreate(tb, w.Cloud, KindListener, "theirs", &Listener{Balancer: ref(balancer), Port: 80, Protocol: lbmodel.ProtocolHTTP})
	mustCreate(tb, w.Cloud, KindRule, "theirs", &Rule{
		Listener: ref(listener), Number: stride, Action: lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 418}},
	})
	other := NewProvider(w.Cloud, nil)
	gw := lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "other", Kind: "Gateway", Namespace: "apps", Name: "gw0", UID: "uid-gw0"},
		Trust: []lbmodel.Trust{{Name: "mesh", Roots: []lbmodel.Root{foreignRoot()}}},
		Pools: []lbmodel.Pool{{Name: "p0", Group: "apps/a:80", Protocol: lbmodel.PoolHTTP1, Endpoints: []lbmodel.Endpoint{{Address: "10.9.9.9", Port: 80, Ready: true}}}},
	}
	own, shared, _ := other.Compile(gw)
	createAll(tb, other, gw.Owner, own, shared)
}

func (w *world) Provider() providers.Provider { return NewProvider(w.Cloud, w.keys) }

func (w *world) Hook(h providertest.Hook) {
	if h == nil {
		w.Intercept(nil)
		return
	}
	w.Intercept(hook{h})
}

// hook lets the suite's hook see our calls.
type hook struct{ providertest.Hook }

func (h hook) Before(c Call) Fault {
	f := h.Hook.Before(providertest.Call{Name: c.Name, Write: c.Write})
	kinds := map[providertest.FaultKind]FaultKind{
		providertest.Works: Works, providertest.Refuse: Refuse, providertest.LoseReply: LoseReply,
		providertest.Hang: Hang, providertest.Stale: Stale,
	}
	return Fault{Kind: kinds[f.Kind], Error: &CallError{Code: FaultOf(f.Code), Message: "injected"}}
}

func (h hook) After(c Call) { h.Hook.After(providertest.Call{Name: c.Name, Write: c.Write}) }

func (w *world) Dump() []providertest.Object {
	var out []providertest.Object
	for _, o := range w.Cloud.Dump() {
		one := providertest.Object{Name: o.Kind + " " + string(o.Handle), Text: string(encode(o))}
		switch {
		case o.Handle == w.network:
			one.Foreign = foreignFields(o)
		case o.Tags.Owner.Cluster != "laws":
			one.Foreign = foreignObject(o)
		}
		out = append(out, one)
	}
	return out
}

// foreignFields are those of a network that are never ours.
func foreignFields(o Object) string {
	var n Network
	if err := json.Unmarshal(o.Body, &n); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s %s %+v", n.CIDR, n.Description, o.Name, o.Tags)
}

// foreignObject is all of an object but what the cloud itself changes.
func foreignObject(o Object) string {
	o.Health, o.Ready, o.Address, o.Serves = nil, true, "", nil
	return string(encode(o))
}

func (w *world) Answer(p providertest.Probe) []lbmodel.Target {
	var out []lbmodel.Target
	for _, s := range w.Serving() {
		if s.Gateway.Owner == p.Owner && len(s.Addresses) > 0 {
			out = append(out, answers(w.Cloud, s, p)...)
		}
	}
	return out
}

// answers are the healthy endpoints that a balancer would send a request to.
func answers(c *Cloud, s Serving, p providertest.Probe) []lbmodel.Target {
	matcher, err := lbmodel.NewGatewayMatcher(s.Gateway.Listeners)
	if err != nil {
		return nil
	}
	answer := matcher.Match(&lbmodel.Request{Method: "GET", Host: p.Host, Path: p.Path, Port: p.Port})
	if answer.Rule == nil || answer.Rule.Action.Forward == nil || !canServe(s, answer.Listener) {
		return nil
	}
	var out []lbmodel.Target
	for _, b := range answer.Rule.Action.Forward.Backends {
		if b.Weight > 0 && b.Pool != "" {
			out = append(out, healthyOf(c, lbmodel.Handle(b.Pool))...)
		}
	}
	return out
}

// canServe says whether the keys of a listener are there.
func canServe(s Serving, l *lbmodel.Listener) bool {
	if l.TLS == nil {
		return true
	}
	for _, name := range l.TLS.Certificates {
		if _, ok := s.Keys[name]; !ok {
			return false
		}
	}
	return true
}

func healthyOf(c *Cloud, pool lbmodel.Handle) []lbmodel.Target {
	c.mu.Lock()
	defer c.mu.Unlock()
	group := c.state.objects[lbmodel.Handle(c.state.objects[pool].body.(*Pool).Group)]
	var out []lbmodel.Target
	for target, health := range c.view(group).Health {
		if health == lbmodel.HealthHealthy {
			out = append(out, target)
		}
	}
	return out
}
