package aws

import (
	"encoding/json/v2"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/serve"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

const testRegion = "us-east-1"

// accountWorld is an emulated account, reached without sockets.
type accountWorld struct {
	*awsapi.Server
	keys providers.Keyring
	now  func() time.Time
	held string // a listener of somebody else's

	mu      sync.Mutex // one call at a time, so that a fault meets the call that it is meant for
	hook    providertest.Hook
	serving *snapshot                    // what is served; nil after a change
	tags    map[string]map[string]string // of load balancers, by ARN
}

// clockOf is an account's clock that the suite moves.
type clockOf func() time.Time

// Now implements account.Clock.
func (c clockOf) Now() time.Time { return c() }

// Provider implements providertest.World.
func (w *accountWorld) Provider() providers.Provider { return w.client(w) }

// client is a provider whose requests go a way of their own.
func (w *accountWorld) client(way http.RoundTripper) *Provider {
	return newProvider(Config{Keyring: w.keys, Now: w.now}, aws.Config{
		Region: testRegion, Credentials: credentials.NewStaticCredentialsProvider("AKIDTEST", "secret", ""),
		BaseEndpoint: aws.String("http://aws.test"), HTTPClient: &http.Client{Transport: way},
		Retryer: func() aws.Retryer { return atOnceRetryer{newRetryer()} },
	})
}

// atOnceRetryer tries again without a wait: the tests' time does not pass.
type atOnceRetryer struct{ aws.Retryer }

// RetryDelay implements aws.Retryer.
func (atOnceRetryer) RetryDelay(int, error) (time.Duration, error) { return 0, nil }

// Hook implements providertest.World.
func (w *accountWorld) Hook(h providertest.Hook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = h
}

// RoundTrip implements http.RoundTripper.
func (w *accountWorld) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	fault, call := providertest.Fault{}, callOf(r)
	if w.hook != nil {
		fault = w.hook.Before(call)
	}
	if fault.Kind == providertest.Hang {
		w.mu.Unlock()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	defer w.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w.SetFaults(nativeFault(fault, call)...)
	out, err := emulator{w.Server}.RoundTrip(r)
	w.SetFaults()
	if call.Write {
		w.serving = nil
	}
	if w.hook != nil && fault.Kind != providertest.Refuse {
		w.hook.After(call)
	}
	return out, err
}

// callOf is a request as the suite sees it.
func callOf(r *http.Request) providertest.Call {
	op := Paced(awsmiddleware.GetServiceID(r.Context()), awsmiddleware.GetOperationName(r.Context()))
	_, name, _ := strings.Cut(op, ":")
	return providertest.Call{Name: name, Write: name != "" && !reads(op)}
}

// nativeFault is a fault as the emulator does it.
func nativeFault(f providertest.Fault, call providertest.Call) []awsapi.Fault {
	native := map[lbmodel.Code][2]string{
		lbmodel.CodeUnavailable: {"503", "ServiceUnavailable"}, lbmodel.CodeDenied: {"403", "AccessDenied"}, lbmodel.CodeThrottled: {"400", "Throttling"},
	}[f.Code]
	one := awsapi.Fault{Code: native[1], Status: map[string]int{"503": 503, "403": 403, "400": 400}[native[0]]}
	switch f.Kind {
	case providertest.Works:
		return nil
	case providertest.Refuse:
		if one.Kind = awsapi.Refuse; f.Code == lbmodel.CodeThrottled {
			one.Kind = awsapi.Throttle
		}
	case providertest.LoseReply:
		one.Kind = awsapi.CutAfter
	case providertest.Stale:
		one.Kind = awsapi.Stale
	}
	return []awsapi.Fault{one}
}

// Settle implements providertest.World: everything happens at once here, by the clock.
func (w *accountWorld) Settle() {}

// Dump implements providertest.World.
func (w *accountWorld) Dump() []providertest.Object {
	var services map[string]map[string]any
	if err := json.Unmarshal([]byte(w.Server.Dump()), &services); err != nil {
		return []providertest.Object{{Name: "dump", Text: err.Error()}}
	}
	var out []providertest.Object
	for service, kinds := range services {
		for kind, rows := range kinds {
			list, _ := rows.([]any)
			for i, row := range list {
				out = append(out, objectOf(service+" "+kind, i, row)...)
			}
		}
	}
	return out
}

// objectOf is one thing of the account; nothing of what comes with another thing.
func objectOf(kind string, i int, row any) []providertest.Object {
	fields, _ := row.(map[string]any)
	if kind == "elasticloadbalancing Interfaces" || fields["Priority"] == "default" {
		return nil
	}
	name := fmt.Sprint(kind, " ", i)
	for _, key := range []string{"LoadBalancerArn", "ListenerArn", "RuleArn", "TargetGroupArn", "TrustStoreArn", "ARN", "ID"} {
		if arn, ok := fields[key].(string); ok {
			name = kind + " " + arn
		}
	}
	text, _ := json.Marshal(row, json.Deterministic(true))
	one := providertest.Object{Name: name, Text: string(text)}
	labels, _ := fields["Tags"].(map[string]any)
	if labels[tagCluster] != "laws" {
		one.Foreign = one.Text
	}
	return []providertest.Object{one}
}

// snapshot is what is served at a time, with what was computed of it.
type snapshot struct {
	serve.Config
	tags     map[string]map[string]string
	matchers map[string]*serve.Matcher
	groups   map[string]*serve.TargetGroup
}

// Answer implements providertest.World: by the rules of the emulator, and not by what
// we think they mean.
func (w *accountWorld) Answer(p providertest.Probe) []lbmodel.Target {
	s := w.served()
	var out []lbmodel.Target
	for i := range s.LoadBalancers {
		lb := &s.LoadBalancers[i]
		if lb.Kind == serve.Application && (s.tags[lb.Name][tagUID] == p.Owner.UID || strings.HasPrefix(strings.Replace(w.held, ":listener/", ":loadbalancer/", 1), lb.Name+"/")) {
			out = append(out, s.answers(lb, p)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (w *accountWorld) served() *snapshot {
	if w.serving != nil {
		return w.serving
	}
	s := &snapshot{Config: w.Serving(), tags: w.tags, matchers: map[string]*serve.Matcher{}, groups: map[string]*serve.TargetGroup{}}
	for _, lb := range s.LoadBalancers {
		if w.tags[lb.Name] == nil {
			w.tags = w.tagsOfAll()
			s.tags = w.tags
		}
	}
	for i := range s.TargetGroups {
		s.groups[s.TargetGroups[i].Name] = &s.TargetGroups[i]
	}
	w.serving = s
	return s
}

func (w *accountWorld) tagsOfAll() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, o := range w.Dump() {
		var row struct {
			LoadBalancerArn string
			DNSName         string
			Tags            map[string]string
		}
		if json.Unmarshal([]byte(o.Text), &row) == nil && row.DNSName != "" {
			out[row.LoadBalancerArn] = row.Tags
			if row.Tags == nil {
				out[row.LoadBalancerArn] = map[string]string{}
			}
		}
	}
	return out
}

// answers are the targets that a load balancer would send a probe to.
func (s *snapshot) answers(lb *serve.LoadBalancer, p providertest.Probe) []lbmodel.Target {
	var out []lbmodel.Target
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		if l.Port != p.Port || l.Protocol == serve.HTTPS && len(l.Certificates) == 0 {
			continue
		}
		m := s.matchers[l.Name]
		if m == nil {
			var err error
			if m, err = serve.NewMatcher(s.Config, lb.Name, l.Name); err != nil {
				return nil
			}
			s.matchers[l.Name] = m
		}
		e := m.Explain(serveRequest(&lbmodel.Request{Method: "GET", Host: p.Host, Path: p.Path}))
		if len(e.Actions) == 1 && e.Actions[0].Forward != nil {
			out = append(out, s.healthy(e.Actions[0].Forward)...)
		}
	}
	return out
}

// healthy are the targets of a forward: here everybody is who is registered.
func (s *snapshot) healthy(f *serve.Forward) []lbmodel.Target {
	var out []lbmodel.Target
	for _, g := range f.Groups {
		if group := s.groups[g.Group]; group != nil && g.Weight > 0 {
			for _, t := range group.Targets {
				if t.State != serve.StateDraining {
					out = append(out, lbmodel.Target(t.ID))
				}
			}
		}
	}
	return out
}

// must is a value that a test cannot go on without.
func must[T any](tb testing.TB, v T, err error) T {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}
