package gcptraffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/live"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/gcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	project = "test-project"
	region  = "us-central1"
	zone    = "us-central1-a"
	node    = "10.128.0.10" // of node-a, in that zone
	cluster = "traffic"
)

// propagation is how long after an operation's end its effect reaches traffic.
const propagation = 30 * time.Millisecond

// world is a project that serves, with one process that works in it, and pods.
type world struct {
	*testing.T
	live    *live.Live
	account *providers.Account
	vault   *vault

	mu    sync.Mutex
	where map[string]string // real addresses, by those that endpoints have
	log   []live.Entry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, where: map[string]string{}, vault: newVault()}
	w.live = live.Start(t.Context(), live.Config{
		API:   gcpapi.Config{Times: store.Times{Operations: map[string]time.Duration{"": time.Millisecond}, Propagation: propagation}},
		Reach: w.reach, Access: w.logged, Every: 2 * time.Millisecond, CheckEvery: 25 * time.Millisecond,
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = w.live.Close(ctx) // nothing that is cut now counts
	})
	p, err := gcp.New(gcp.Config{Project: project, Endpoint: "http://gcp.test", HTTP: w.live.Server, Keyring: w.vault.key})
	w.do(err)
	w.account = providers.NewAccount(providers.Config{Provider: p, Cluster: cluster, CallTimeout: gcp.CallTimeout,
		Patience: providers.Patience{Cap: 20 * time.Millisecond, Pending: 10 * time.Second}})
	return w
}

func (w *world) do(errs ...error) {
	w.Helper()
	if err := errors.Join(errs...); err != nil {
		w.Fatal(err)
	}
}

// reach says where an endpoint really is; nobody listens at port 1.
func (w *world) reach(host string, port int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.where[fmt.Sprintf("%s:%d", host, port)]; ok {
		return at
	}
	return "127.0.0.1:1"
}

// place says where an endpoint really is.
func (w *world) place(endpoint, at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.where[endpoint] = at
}

func (w *world) logged(e live.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, e)
}

// details are what the load balancers logged of a backend service's requests, each once.
func (w *world) details() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int{}
	for _, e := range w.log {
		if e.Details != "" {
			out[e.Details]++
		}
	}
	return out
}

// bring makes a gateway what it should be, and waits until all of it is served.
func (w *world) bring(gw lbmodel.Gateway) {
	w.Helper()
	for _, f := range w.account.Want(gw) {
		w.Errorf("finding: %+v", f)
	}
	var out lbmodel.Outcome
	w.until(func() string { return fmt.Sprintf("it settles: %v, later %v", out.Err(), out.Held.Later) }, func() bool {
		plan, err := w.account.Plan(w.Context(), []lbmodel.Owner{gw.Owner}, lbmodel.HoldDisruptive)
		w.do(err)
		out = w.account.Apply(w.Context(), plan, nil)
		return out.Settled()
	})
	w.served()
}

// served waits until everything that was called for has reached traffic.
func (w *world) served() {
	w.Helper()
	time.Sleep(2 * propagation)
	w.until(func() string { return "nothing is on its way" }, func() bool {
		_, due := w.live.Due()
		return !due
	})
}

// remove deletes a gateway, and expects nothing to be left.
func (w *world) remove(owner lbmodel.Owner) {
	w.Helper()
	w.account.Drop(owner)
	var out lbmodel.Outcome
	w.until(func() string { return fmt.Sprintf("it is gone: %v; left is %s", out.Err(), w.live.Dump()) }, func() bool {
		plan, err := w.account.Plan(w.Context(), []lbmodel.Owner{owner})
		w.do(err)
		out = w.account.Apply(w.Context(), plan, nil)
		gone, err := w.account.Gone(w.Context(), owner)
		return err == nil && gone
	})
	if left := w.live.Dump(); left != gcpapi.Empty() {
		w.Errorf("something is left: %s", left)
	}
}

// until waits for something that happens by itself.
func (w *world) until(what func() string, holds func() bool) {
	w.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			w.Fatalf("it never comes that %s; the load balancers logged %v", what(), w.details())
		}
	}
}

// address is where a gateway is, as its status would say.
func (w *world) address(owner lbmodel.Owner) string {
	w.Helper()
	for _, r := range w.account.Observed(owner) {
		for _, a := range r.Facts.Addresses {
			return a.Value
		}
	}
	w.Fatal("the gateway has no address")
	return ""
}

var errNotServed = errors.New("nothing listens there")

// dial connects to a load balancer at its own address and port.
func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	for _, b := range w.live.Listeners() {
		if net.JoinHostPort(b.IP, fmt.Sprint(b.Port)) == address && b.UDP == strings.HasPrefix(network, "udp") {
			return new(net.Dialer).DialContext(ctx, network, b.Addr.String())
		}
	}
	return nil, fmt.Errorf("%s: %w", address, errNotServed)
}

// settingsOf are those of a flavour.
func settingsOf(f string, more ...string) json.RawMessage {
	fields := append([]string{`"project":"` + project + `"`, `"flavour":"` + f + `"`, `"zones":["` + zone + `"]`, `"drainSeconds":1`}, more...)
	switch f {
	case "RegionalExternal":
		fields = append(fields, `"location":"`+region+`"`, `"proxyRanges":["10.129.0.0/23"]`)
	case "RegionalInternal":
		fields = append(fields, `"location":"`+region+`"`, `"subnetwork":"default"`, `"proxyRanges":["10.129.0.0/23"]`)
	case "CrossRegionInternal":
		fields = append(fields, `"frontends":[{"region":"`+region+`","subnetwork":"default"}]`, `"proxyRanges":["10.129.2.0/23"]`)
	case "PassthroughExternal":
		fields = append(fields, `"location":"`+region+`"`, `"nodeSubnetwork":"default"`)
	case "PassthroughInternal":
		fields = append(fields, `"location":"`+region+`"`, `"subnetwork":"default"`, `"nodeSubnetwork":"default"`)
	}
	return json.RawMessage("{" + strings.Join(fields, ",") + "}")
}

// gateway is one without listeners.
func gateway(f string, more ...string) lbmodel.Gateway {
	return lbmodel.Gateway{Owner: lbmodel.Owner{Cluster: cluster, Kind: "Gateway", Namespace: "edge", Name: "shop", UID: "uid-shop"}, Settings: settingsOf(f, more...)}
}

// pool is a Service's, with endpoints at some addresses.
func pool(name string, protocol lbmodel.PoolProtocol, addresses ...string) lbmodel.Pool {
	p := lbmodel.Pool{Name: name, Group: "apps/" + name + ":80", Protocol: protocol, Source: lbmodel.Source{Kind: "Service", Namespace: "apps", Name: name}, Endpoints: []lbmodel.Endpoint{}}
	for _, a := range addresses {
		p.Endpoints = append(p.Endpoints, endpoint(a))
	}
	return p
}

const podPort = 8080

func endpoint(address string) lbmodel.Endpoint {
	return lbmodel.Endpoint{Address: address, Port: podPort, Zone: zone, Node: "node-a", Instance: "gce://" + project + "/" + zone + "/node-a", Ready: true, Serving: true}
}

func podAddress(n int) string { return fmt.Sprintf("10.4.0.%d", n) }

// rule is one of an HTTPRoute.
func rule(name string, match lbmodel.Match, action lbmodel.Action) lbmodel.Rule {
	return lbmodel.Rule{Source: lbmodel.Source{Kind: "HTTPRoute", Namespace: "apps", Name: name, Section: "rules[0].matches[0]"}, Hostname: host, Match: match, Action: action}
}

// host is what rules are for: whether rules without a hostname take any port is not
// documented.
const host = "shop.test"

func to(backends ...lbmodel.Backend) *lbmodel.Forward { return &lbmodel.Forward{Backends: backends} }

func prefix(p string) lbmodel.Match {
	return lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: p}}
}
