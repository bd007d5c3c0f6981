package aws

import (
	"strings"
	"testing"

	"gatehouse.dev/fake/awsapi/serve"
	"gatehouse.dev/lbmodel"
)

const (
	strictSettings  = `{"region":"eu-west-1"}`
	assumedSettings = `{"region":"eu-west-1","assume":["PathRegexCaseSensitive","HeaderRegexCaseSensitive","RedirectSeesRewrite"]}`
)

// Why: whatever AWS leaves open, a request reaches what the model says, as the model
// says; or the match or action is refused. With assumptions the switches that they
// speak of stand as assumed.
func TestMeaningIsKept(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		fixed          map[string]serve.Position
	}{
		{"nothing assumed", strictSettings, nil},
		{"all assumed", assumedSettings, map[string]serve.Position{"PathRegexCase": serve.Sensitive, "HeaderRegexCase": serve.Sensitive, "RedirectPath": serve.Rewritten}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sum tally
			for seed := range uint64(12) {
				w := newWorld(t, seed, c.settings)
				for i, u := range positions(newDice(seed), c.fixed) {
					if (i+int(seed)+firstCall(t))%2 == 0 { // each run asks in half of them
						w.ask(t, newDice(seed), u, &sum)
					}
				}
				if t.Failed() {
					return
				}
			}
			t.Logf("%+v", sum)
			if sum.Answered < sum.Asked/4 || sum.Forwards == 0 || sum.Redirects == 0 || sum.Packed == 0 {
				t.Errorf("%+v: the test asks hardly anything", sum)
			}
		})
	}
}

// tally says what a run was about.
type tally struct{ Asked, Answered, Forwards, Redirects, Refused, Packed int }

// named is a setting of all switches.
type named struct {
	name string
	u    serve.Undocumented
}

// positions are every switch in every position, one at a time, and some where all
// stand anyhow.
func positions(d dice, fixed map[string]serve.Position) []named {
	var base serve.Undocumented
	for _, s := range serve.Switches() {
		if p, ok := fixed[s.Name]; ok {
			base = s.Set(base, p)
		}
	}
	var out []named
	seen := map[string]bool{}
	base.EachPosition(func(name string, u serve.Undocumented) {
		for _, s := range serve.Switches() {
			if p, ok := fixed[s.Name]; ok && s.Get(u) != p {
				return
			}
		}
		if !seen[name] {
			out = append(out, named{name, u})
		}
	})
	for range 6 {
		u := base
		for _, s := range serve.Switches() {
			if _, ok := fixed[s.Name]; !ok {
				u = s.Set(u, s.Positions[d.IntN(len(s.Positions))])
			}
		}
		out = append(out, named{"anyhow", u})
	}
	return out
}

// world is a gateway, compiled.
type world struct {
	matcher *lbmodel.GatewayMatcher
	config  serve.Config
	groups  map[string]string
	gateway lbmodel.Gateway
	refused int
	packed  int
}

func newWorld(t *testing.T, seed uint64, settings string) *world {
	t.Helper()
	gw := newDice(seed).gateway(settings)
	features, findings := Compiler{}.Offers(gw.Settings)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	gw, told := lbmodel.Restrict(gw, features)
	own, _, more := Compiler{}.Compile(gw)
	for _, f := range more {
		if f.Code != lbmodel.CodeUnsupported {
			t.Fatalf("seed %d: %+v", seed, f)
		}
	}
	plain, _ := asCompiled(t, gw)
	w := &world{config: serveConfig(own), groups: map[string]string{}, gateway: plain, refused: len(told) + len(more)}
	for id, r := range own {
		if g, ok := r.Spec.(*TargetGroup); ok {
			w.groups[string(refTo(id))] = g.hop
		}
		if rule, ok := r.Spec.(*Rule); ok {
			w.packed += len(rule.Conditions[0].Regex) / 2
		}
	}
	w.matcher, _ = lbmodel.NewGatewayMatcher(plain.Listeners)
	return w
}

// ask compares both answers to many requests.
func (w *world) ask(t *testing.T, d dice, n named, sum *tally) {
	t.Helper()
	w.config.Undocumented = n.u
	matchers := map[int32]*serve.Matcher{}
	for _, port := range []int32{80, 443, 8080} {
		m, err := serve.NewMatcher(w.config, "lb", portText(port))
		if err != nil {
			t.Fatal(err)
		}
		matchers[port] = m
	}
	sum.Refused, sum.Packed = sum.Refused+w.refused, sum.Packed+w.packed
	for range 25 {
		r := w.request(d)
		answer := w.matcher.Match(r)
		if answer.Refused != "" || answer.Rule != nil && (rewritesForeignPort(answer.Rule, r) || rewritesDecoded(answer.Rule, r, n.u)) {
			continue
		}
		e := matchers[r.Port].Explain(serveRequest(r))
		want, got := wanted(answer, r), served(&e, r, n.u, w.groups)
		sum.count(&answer)
		if want != got {
			t.Errorf("%s: %s %s on %d%s?%s %v\n want %s\n by   %s\n got  %s\n by   %s: %s", n.name, r.Method, r.Host, r.Port, r.Path, r.Query, r.Headers, want, encode(answer.Rule), got, e.Rule, e.Why)
			return
		}
	}
}

// rewritesForeignPort: where the Host is rewritten and names a port that is not the
// one the client came to, whether that port stays is not documented.
func rewritesForeignPort(rule *lbmodel.Rule, r *lbmodel.Request) bool {
	edit := rule.Action.Edits.Rewrite
	return edit != nil && edit.Hostname != "" && strings.Contains(plainHostOf(r.Host, r.Scheme), ":")
}

// rewritesDecoded: if rules see paths wholly decoded, and rewrites see what rules see,
// then what is encoded below a replaced prefix is decoded for the backend. Either is
// no harm.
func rewritesDecoded(rule *lbmodel.Rule, r *lbmodel.Request, u serve.Undocumented) bool {
	return u.RewriteInput == serve.Normalised && u.PathDecoding == serve.All && strings.Contains(r.Path, "%") &&
		(rule.Action.Edits.Rewrite != nil || rule.Action.Redirect != nil)
}

// request is near a rule of the gateway's, mostly.
func (w *world) request(d dice) *lbmodel.Request {
	l := &w.gateway.Listeners[d.IntN(len(w.gateway.Listeners))]
	if len(l.Rules) == 0 || d.one(4) {
		return d.request()
	}
	return d.near(l, &l.Rules[d.IntN(len(l.Rules))])
}

func (s *tally) count(a *lbmodel.Answer) {
	s.Asked++
	if a.Rule == nil {
		return
	}
	s.Answered++
	if a.Rule.Action.Forward != nil {
		s.Forwards++
	}
	if a.Rule.Action.Redirect != nil {
		s.Redirects++
	}
}
