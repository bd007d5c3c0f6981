package awstraffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"go.uber.org/goleak"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/fake/awsapi/live"
	"gatehouse.dev/fake/awsapi/serve"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/aws"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	region  = "us-east-1"
	cluster = "traffic"
	bucket  = "traffic-roots"
	// speed is how much faster everything's time is than the machine's. Requests and
	// connections have the machine's.
	speed = 20
)

// clock is the time of everything but connections.
type clock struct{ began time.Time }

func (c clock) Now() time.Time { return c.began.Add(speed * time.Since(c.began)).UTC() }

func (c clock) After(d time.Duration) <-chan time.Time { return time.After(d / speed) }

// world is an account that serves, the pods behind it, and one process that works in
// the account.
type world struct {
	*testing.T
	clock   clock
	live    *live.Live
	account *providers.Account
	vault   *vault

	pods struct {
		sync.Mutex
		at map[netip.AddrPort]*httptest.Server
	}
	life      context.Context //nolint:containedctx // of the process, not of a call
	kill      context.CancelFunc
	calls     atomic.Int64 // that the process has left before it is killed; 0 is for ever
	published atomic.Pointer[[]string]
	client    lbmodel.Owner // the gateway whose addresses are published: the first
}

func newWorld(t *testing.T) *world {
	t.Parallel()
	w := &world{T: t, clock: clock{time.Now()}}
	w.vault = &vault{pairs: map[string]pair{}}
	w.pods.at = map[netip.AddrPort]*httptest.Server{}
	w.published.Store(new([]string))
	w.live = live.Start(t.Context(), live.Config{
		API:     awsapi.Config{Region: region, Clock: w.clock, Reach: w.reach, Times: awsapi.Times{Times: elb.Times{Provisioning: 10 * time.Second, TrustStore: 2 * time.Second}, Certificate: time.Second}},
		Traffic: serve.Options{Clock: serve.Clock{Now: w.clock.Now, After: w.clock.After}, DrainTimeout: time.Second},
		Every:   20 * time.Millisecond,
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		_ = w.live.Close(ctx) // nothing that is cut now counts
		w.pods.Lock()
		defer w.pods.Unlock()
		for _, p := range w.pods.at {
			p.Close()
		}
	})
	w.makeBucket()
	w.start()
	return w
}

// start begins a process that knows nothing of what is there.
func (w *world) start() {
	w.life, w.kill = context.WithCancel(w.Context())
	w.Cleanup(w.kill)
	p := aws.New(aws.Config{
		Region: region, Endpoint: "http://aws.test", HTTP: &http.Client{Transport: w}, Keyring: w.vault.key, Now: w.clock.Now,
		Credentials: credentials.NewStaticCredentialsProvider("AKIDTRAFFIC", "secret", ""),
	})
	w.account = providers.NewAccount(providers.Config{Provider: p, Cluster: cluster, CallTimeout: aws.CallTimeout,
		Clock: providers.Clock{Now: w.clock.Now, After: w.clock.After}, Patience: providers.Patience{Pending: 2 * time.Minute}})
}

// RoundTrip implements http.RoundTripper: it reaches the account without a socket.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if left := w.calls.Load(); left > 0 && w.calls.CompareAndSwap(left, left-1) && left == 1 {
		w.kill()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	in.Host, in.RequestURI = r.URL.Host, r.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	w.live.ServeHTTP(answer, in)
	out := answer.Result()
	out.Request = r
	return out, nil
}

// makeBucket makes the versioned bucket that roots are kept in.
func (w *world) makeBucket() {
	w.Helper()
	for _, step := range [][2]string{{"", ""}, {"?versioning", `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>`}} {
		req := httptest.NewRequest(http.MethodPut, "http://aws.test/"+bucket+step[0], strings.NewReader(step[1]))
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDTRAFFIC/20260101/"+region+"/s3/aws4_request, SignedHeaders=host, Signature=0")
		out := httptest.NewRecorder()
		if w.live.ServeHTTP(out, req); out.Code != http.StatusOK {
			w.Fatalf("bucket: status %d: %s", out.Code, out.Body)
		}
	}
}

// pass brings the account one turn of the loop nearer to what is wanted, and publishes
// the addresses as a Gateway's status does.
func (w *world) pass(owner lbmodel.Owner, policies ...lbmodel.Policy) lbmodel.Outcome {
	plan, err := w.account.Plan(w.life, []lbmodel.Owner{owner}, policies...)
	if err != nil {
		return lbmodel.Outcome{Failed: map[lbmodel.ID]error{{Kind: "Plan"}: err}}
	}
	out := w.account.Apply(w.life, plan, nil)
	if w.client == (lbmodel.Owner{}) {
		w.client = owner
	}
	if w.client == owner {
		w.publish(out.Observed)
	}
	return out
}

func (w *world) publish(graph lbmodel.Graph) {
	var names []string
	for _, r := range graph {
		if !r.Facts.DroppedAt.IsZero() {
			continue // it lingers: reconcile.AddressesIn
		}
		for _, a := range r.Facts.Addresses {
			names = append(names, strings.ToLower(a.Value))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	w.published.Store(&names)
}

// bring passes until nothing is left to do.
func (w *world) bring(gw lbmodel.Gateway) {
	w.Helper()
	for _, f := range w.account.Want(gw) {
		w.Errorf("finding: %+v", f)
	}
	w.settle(gw.Owner)
}

func (w *world) settle(owner lbmodel.Owner) {
	w.Helper()
	var out lbmodel.Outcome
	for began := time.Now(); time.Since(began) < 15*time.Second; <-w.clock.After(clockTick) {
		if out = w.pass(owner); out.Settled() {
			return
		}
	}
	w.Fatalf("it does not settle: %v, later %v", out.Err(), out.Held.Later)
}

// bringKilled does it with processes of which each ends at its next call but one:
// the first at its first call, the second at its second, and so on.
func (w *world) bringKilled(gw lbmodel.Gateway) (kills int) {
	w.Helper()
	for n := int64(1); n < 300; n++ {
		w.calls.Store(n)
		w.start()
		w.account.Want(gw)
		settled := w.pass(gw.Owner).Settled()
		alive := w.life.Err() == nil
		w.calls.Store(0)
		if settled && alive {
			return kills
		}
		if !alive {
			kills++
		}
	}
	w.Fatal("it never ends")
	return kills
}

// target brings endpoints until nothing is left to do.
func (w *world) target(gw lbmodel.Gateway) {
	w.Helper()
	var changes []providers.PoolChange
	for _, p := range gw.Pools {
		changes = append(changes, providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: p})
	}
	var err error
	for began := time.Now(); time.Since(began) < 15*time.Second; <-w.clock.After(clockTick) {
		var out lbmodel.Outcome
		if out, err = w.account.Endpoints(w.life, changes...); err == nil && out.Settled() {
			return
		}
	}
	w.Fatalf("endpoints do not settle: %v", err)
}

// remove deletes a gateway, and expects nothing of it to be left.
func (w *world) remove(owner lbmodel.Owner) {
	w.Helper()
	w.account.Drop(owner)
	var out lbmodel.Outcome
	var err error
	for began := time.Now(); time.Since(began) < 15*time.Second; <-w.clock.After(clockTick) {
		out = w.pass(owner)
		var gone bool
		if gone, err = w.account.Gone(w.Context(), owner); err == nil && gone {
			return
		}
	}
	w.Fatalf("it does not go: %v, %v, later %v; the account holds %s", err, out.Err(), out.Held.Later, w.live.Dump())
}

// reach says where a pod listens; nobody listens at port 1.
func (w *world) reach(ip netip.Addr, port int) netip.AddrPort {
	w.pods.Lock()
	defer w.pods.Unlock()
	if p := w.pods.at[netip.AddrPortFrom(ip, uint16(port))]; p != nil {
		return netip.MustParseAddrPort(p.Listener.Addr().String())
	}
	return netip.MustParseAddrPort("127.0.0.1:1")
}

// run starts the pods of endpoints that have none yet. They answer with a name.
func (w *world) run(name string, endpoints []lbmodel.Endpoint) {
	w.pods.Lock()
	defer w.pods.Unlock()
	for _, e := range endpoints {
		if at := podAt(e); w.pods.at[at] == nil {
			w.pods.at[at] = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(out, name) }))
		}
	}
}

// grace is how long a pod goes on after it has left its Service: a preStop hook's sleep.
const grace = 5 * time.Second

// end ends pods as a kubelet does: after their grace they finish what they are at, and
// are gone.
func (w *world) end(endpoints []lbmodel.Endpoint) {
	<-w.clock.After(grace)
	w.pods.Lock()
	defer w.pods.Unlock()
	for _, e := range endpoints {
		if p := w.pods.at[podAt(e)]; p != nil {
			p.Close()
			delete(w.pods.at, podAt(e))
		}
	}
}

func podAt(e lbmodel.Endpoint) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(e.Address), uint16(e.Port))
}

// What a client hears of a name that no load balancer has, and of a port that none of
// its listeners has.
var errNoSuchHost, errRefused = errors.New("no such host"), errors.New("connection refused")

// dial connects to a load balancer by its DNS name, at the port that AWS's would have.
func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	arn, ok := w.live.Named(host)
	if !ok {
		return nil, fmt.Errorf("%s: %w", host, errNoSuchHost)
	}
	for _, b := range w.live.Listeners() {
		if b.LoadBalancer == arn && fmt.Sprint(b.Port) == port {
			return new(net.Dialer).DialContext(ctx, "tcp", b.Addr.String())
		}
	}
	return nil, fmt.Errorf("%s: %w", address, errRefused)
}

// clockTick is between two passes that have something to wait for.
const clockTick = time.Second
