package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/fake/awsapi/serve"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/aws"
)

// lab is an account with AWS's token buckets and one process that works in it.
type lab struct {
	*testing.T
	api     *awsapi.Server
	account *providers.Account

	mu      sync.Mutex
	since   map[string]time.Time // when a target of a group was first seen, by both names
	served  map[string]bool      // groups that had a healthy target
	emptied int                  // how often one that had, had none after a call
	edit    time.Duration        // how long an edit took, among other things
	stop    int                  // calls until the process is killed; 0 is never
}

const (
	initial = 10 * time.Second // until a new target's checks have passed
	cluster = "bench"
	key     = "AKIDBENCH"
)

func newLab(t *testing.T, times awsapi.Times) *lab {
	l := &lab{T: t, since: map[string]time.Time{}, served: map[string]bool{}}
	l.api = awsapi.New(awsapi.Config{Buckets: awsapi.Buckets(), Times: times})
	l.start()
	return l
}

// start begins a process that knows nothing.
func (l *lab) start() {
	p := aws.New(aws.Config{
		Region: "us-east-1", Endpoint: "http://aws.test", HTTP: &http.Client{Transport: l}, Pacer: aws.NewPacer(providers.Clock{}),
		Credentials: credentials.NewStaticCredentialsProvider(key, "secret", ""),
	})
	l.account = providers.NewAccount(providers.Config{Provider: p, Cluster: cluster, CallTimeout: aws.CallTimeout,
		Patience: providers.Patience{Pending: 10 * time.Minute}})
}

// RoundTrip implements http.RoundTripper: it reaches the account without a socket, and
// looks after each call whether a group has lost its last healthy target.
func (l *lab) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop > 0 {
		if l.stop--; l.stop == 0 {
			l.stop = -1
		}
	}
	if l.stop < 0 {
		return nil, fmt.Errorf("the process was killed: %w", http.ErrServerClosed)
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
	l.api.ServeHTTP(answer, in)
	l.look(l.api.Serving().TargetGroups, time.Now())
	out := answer.Result()
	out.Request = r
	return out, nil
}

func (l *lab) look(groups []serve.TargetGroup, now time.Time) {
	for _, g := range groups {
		healthy := false
		for _, target := range g.Targets {
			key := g.Name + " " + target.ID
			if target.State != "" {
				delete(l.since, key)
				continue
			}
			if _, seen := l.since[key]; !seen {
				l.since[key] = now
			}
			healthy = healthy || now.Sub(l.since[key]) >= initial
		}
		if l.served[g.Name] && !healthy && len(g.Targets) > 0 {
			l.emptied++
		}
		l.served[g.Name] = healthy
	}
}

// result is what came of one scenario.
type result struct {
	calls   tally
	took    time.Duration
	waits   time.Duration // what AWS itself takes at least: checks, draining
	refused int           // calls that were throttled
	emptied int
}

// measure does something with full buckets and says what it cost.
func (l *lab) measure(do func()) result {
	l.Helper()
	time.Sleep(10 * time.Minute) // buckets fill, here and there
	l.api.Forget()
	l.mu.Lock()
	l.emptied = 0
	l.mu.Unlock()
	began := time.Now()
	do()
	out := result{took: time.Since(began), calls: tally{}, emptied: l.emptied}
	for _, c := range l.api.Calls() {
		if c.Key != key {
			continue
		}
		out.calls[c.Action]++
		if strings.Contains(c.Code, "Throttling") {
			out.refused++
		}
	}
	return out
}

// takeOne is a change that somebody else asks for; that it is refused costs them a
// token all the same.
func (l *lab) takeOne() {
	form := "Action=DeleteRule&Version=2015-12-01&RuleArn=arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/x/1/2/3"
	r := httptest.NewRequest(http.MethodPost, "http://aws.test/", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDOTHERS/20261201/us-east-1/elasticloadbalancing/aws4_request, SignedHeaders=host, Signature=0")
	l.api.ServeHTTP(httptest.NewRecorder(), r)
}

// pass plans for gateways and does it, once.
func (l *lab) pass(all ...lbmodel.Gateway) lbmodel.Outcome {
	l.Helper()
	var owners []lbmodel.Owner
	for _, gw := range all {
		l.account.Want(gw)
		owners = append(owners, gw.Owner)
	}
	return l.run(owners...)
}

func (l *lab) run(owners ...lbmodel.Owner) lbmodel.Outcome {
	l.Helper()
	plan, err := l.account.Plan(l.Context(), owners)
	if err != nil {
		return lbmodel.Outcome{Failed: map[lbmodel.ID]error{{Kind: "Plan"}: err}}
	}
	return l.account.Apply(l.Context(), plan, nil)
}

// bring passes until nothing is left to do.
func (l *lab) bring(all ...lbmodel.Gateway) {
	l.Helper()
	for range 60 {
		out := l.pass(all...)
		if out.Settled() {
			return
		}
		if err := out.Err(); err != nil {
			l.Log(err)
		}
		time.Sleep(2 * time.Second)
	}
	l.Fatal("it does not settle")
}

// target brings endpoints until nothing is left to do.
func (l *lab) target(gw lbmodel.Gateway) {
	l.Helper()
	var changes []providers.PoolChange
	for _, p := range gw.Pools {
		changes = append(changes, providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: p})
	}
	for range 600 {
		out, err := l.account.Endpoints(l.Context(), changes...)
		if err == nil && out.Settled() {
			return
		}
		time.Sleep(2 * time.Second)
	}
	l.Fatal("endpoints do not settle")
}

// shop is a gateway with routes to so many services, of two pods each.
func shop(name string, routes, services int) lbmodel.Gateway {
	gw := lbmodel.Gateway{
		Owner:    lbmodel.Owner{Cluster: cluster, Kind: "Gateway", Namespace: "shop", Name: name, UID: "uid-" + name},
		Settings: json.RawMessage(`{"region":"us-east-1","scheme":"internet-facing"}`),
	}
	for i := range services {
		gw.Pools = append(gw.Pools, pool(i, pods(2, i, 0)))
	}
	http := lbmodel.Listener{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP}
	for i := range routes {
		http.Rules = append(http.Rules, route(i, i%services))
	}
	gw.Listeners = []lbmodel.Listener{http}
	return gw
}

func pool(i int, endpoints []lbmodel.Endpoint) lbmodel.Pool {
	name := fmt.Sprintf("s%03d", i)
	return lbmodel.Pool{Name: name, Group: "shop/" + name + ":80", Protocol: lbmodel.PoolHTTP1,
		Source: lbmodel.Source{Kind: "Service", Namespace: "shop", Name: name}, Endpoints: endpoints}
}

// pods are n endpoints of a service; each generation has its own addresses.
func pods(n, service, generation int) []lbmodel.Endpoint {
	var out []lbmodel.Endpoint
	for i := range n {
		k := service*2 + i + generation*4000
		out = append(out, lbmodel.Endpoint{Address: fmt.Sprintf("10.0.%d.%d", 48+k/250, 1+k%250), Port: 8080, Ready: true})
	}
	return out
}

func route(i, service int) lbmodel.Rule {
	return lbmodel.Rule{
		Source: lbmodel.Source{Kind: "HTTPRoute", Namespace: "shop", Name: fmt.Sprintf("r%03d", i), Section: "rules[0].matches[0]"},
		Match:  lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: fmt.Sprintf("/r%03d", i)}},
		Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: fmt.Sprintf("s%03d", service), Weight: 1}}}},
	}
}

// quick are times in which nothing waits but for checks of targets.
func quick() awsapi.Times { return awsapi.Times{Times: elb.Times{Initial: initial}} }
