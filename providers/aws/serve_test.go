package aws

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"gatehouse.dev/fake/awsapi/serve"
	"gatehouse.dev/lbmodel"
)

// serveConfig is a compiled graph as the emulator serves it, as far as rules go.
func serveConfig(own lbmodel.Graph) serve.Config {
	var out serve.Config
	listeners := map[Ref]*serve.Listener{}
	lb := serve.LoadBalancer{Name: "lb", Kind: serve.Application, Listeners: make([]serve.Listener, 0, len(own))}
	for id, r := range own {
		if l, ok := r.Spec.(*Listener); ok && (l.Protocol == "HTTP" || l.Protocol == "HTTPS") {
			lb.Listeners = append(lb.Listeners, serve.Listener{Name: portText(l.Port), Port: l.Port, Protocol: serve.Protocol(l.Protocol), Default: serveActions(&l.Default)})
			listeners[refTo(id)] = &lb.Listeners[len(lb.Listeners)-1]
		}
	}
	for id, r := range own {
		if rule, ok := r.Spec.(*Rule); ok {
			l := listeners[rule.Listener]
			l.Rules = append(l.Rules, serveRule(id.Name, rule))
		}
	}
	out.LoadBalancers = []serve.LoadBalancer{lb}
	return out
}

func serveRule(name string, r *Rule) serve.Rule {
	out := serve.Rule{Name: name, Priority: r.Priority, Actions: serveActions(&r.Action)}
	for _, c := range r.Conditions {
		out.Conditions = append(out.Conditions, serve.Condition{Field: serve.Field(c.Field), Header: c.Header, Values: c.Values, Regex: c.Regex})
	}
	for _, t := range r.Transforms {
		out.Transforms = append(out.Transforms, serve.Transform{Type: t.Type, Regex: t.Regex, Replace: t.Replace})
	}
	return out
}

func serveActions(a *Action) []serve.Action {
	switch {
	case a.Fixed != nil:
		return []serve.Action{{Fixed: &serve.FixedResponse{Status: a.Fixed.Status, ContentType: a.Fixed.ContentType, Body: a.Fixed.Body}}}
	case a.Redirect != nil:
		r := a.Redirect
		return []serve.Action{{Redirect: &serve.Redirect{Status: r.Status, Protocol: r.Protocol, Host: r.Host, Port: r.Port, Path: r.Path, Query: r.Query}}}
	default:
		f := &serve.Forward{}
		for _, s := range a.Forward {
			f.Groups = append(f.Groups, serve.WeightedGroup{Group: string(s.Group), Weight: s.Weight})
		}
		return []serve.Action{{Forward: f}}
	}
}

// request is one request in both forms.
func serveRequest(r *lbmodel.Request) serve.Request {
	return serve.Request{Method: r.Method, Host: r.Host, Path: r.Path, Query: r.Query, Header: http.Header(r.Headers), Source: netip.MustParseAddr("192.0.2.1")}
}

// served is what AWS does with a request, in words.
func served(e *serve.Explanation, r *lbmodel.Request, u serve.Undocumented, groups map[string]string) string {
	if e.Failed != "" {
		return "failed: " + e.Failed
	}
	switch a := e.Actions[0]; {
	case a.Fixed != nil:
		return fmt.Sprintf("fixed %d %s", a.Fixed.Status, a.Fixed.Body)
	case a.Redirect != nil:
		return fmt.Sprintf("redirect %d %s", a.Redirect.Status, servedLocation(a.Redirect, e, r, u))
	default:
		var shares []string
		sum := 0
		for _, g := range a.Forward.Groups {
			sum += int(g.Weight)
		}
		for _, g := range a.Forward.Groups {
			shares = append(shares, shareText(groups[g.Group], int(g.Weight), sum))
		}
		return fmt.Sprintf("forward %s as %s%s?%s", shares, plainHostOf(e.Host, r.Scheme), e.Path, e.Query)
	}
}

// shareText is a share in percent; a group of no weight is nobody.
func shareText(pool string, weight, sum int) string {
	return fmt.Sprintf("%s=%d", pool, (100*weight+sum/2)/sum)
}

// plainHostOf is a host without the port that its scheme implies.
func plainHostOf(host, scheme string) string {
	return strings.TrimSuffix(strings.TrimSuffix(host, ":"), map[string]string{"http": ":80", "https": ":443"}[scheme])
}

func servedLocation(d *serve.Redirect, e *serve.Explanation, r *lbmodel.Request, u serve.Undocumented) string {
	host, path, query := e.Host, e.Path, e.Query
	if u.RedirectPath == serve.Original {
		host, path, query = r.Host, r.Path, r.Query
	}
	name, _, _ := strings.Cut(host, ":")
	fill := strings.NewReplacer("#{protocol}", r.Scheme, "#{host}", name, "#{port}", strconv.Itoa(int(r.Port)),
		"#{path}", strings.TrimPrefix(path, "/"), "#{query}", query)
	out := strings.ToLower(fill.Replace(cmp.Or(d.Protocol, "#{protocol}"))) + "://" + fill.Replace(d.Host) + ":" + fill.Replace(d.Port) + fill.Replace(d.Path)
	if q := fill.Replace(d.Query); q != "" {
		out += "?" + q
	}
	return withoutPort(out)
}

// withoutPort is a URL without the port that its scheme implies: the two mean the
// same.
func withoutPort(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return location
	}
	u.Host = plainHostOf(u.Host, u.Scheme)
	return u.String()
}

// wanted is what the model says of a request, in the same words.
func wanted(a lbmodel.Answer, r *lbmodel.Request) string {
	if a.Rule == nil {
		return "fixed 404 "
	}
	switch act := &a.Rule.Action; {
	case act.Fixed != nil:
		return fmt.Sprintf("fixed %d %s", act.Fixed.Status, act.Fixed.Body)
	case act.Redirect != nil:
		status := cmp.Or(act.Redirect.Status, 302)
		return fmt.Sprintf("redirect %d %s", status, withoutPort(act.Redirect.Location(r, a.Listener.Port, a.Listener.Protocol, a.Prefix)))
	default:
		return wantedForward(act, a.Prefix, r)
	}
}

func wantedForward(act *lbmodel.Action, prefix string, r *lbmodel.Request) string {
	sum := 0
	for _, b := range act.Forward.Backends {
		sum += int(b.Weight)
	}
	if sum == 0 {
		return "fixed 500 "
	}
	var shares []string
	for _, b := range act.Forward.Backends {
		shares = append(shares, shareText(b.Pool, int(b.Weight), sum))
	}
	host := r.Host
	if rw := act.Edits.Rewrite; rw != nil && rw.Hostname != "" {
		host = rw.Hostname
	}
	return fmt.Sprintf("forward %s as %s%s?%s", shares, plainHostOf(host, r.Scheme), act.Edits.Rewrite.EditPath(r.Path, prefix), r.Query)
}

// asCompiled is a listener without what Compile refuses and tells: matches that AWS
// cannot take are gone, and actions that it cannot do answer 500.
func asCompiled(t *testing.T, gw lbmodel.Gateway) (lbmodel.Gateway, int) {
	t.Helper()
	c := newCompiler(gw)
	c.addPools()
	out, refused := gw, 0
	out.Listeners = nil
	for _, l := range gw.Listeners {
		rules := l.Rules
		l.Rules = nil
		for _, r := range rules {
			e, err := c.encoder.entry(&l, &r)
			if err == nil {
				_, err = e.conditions(c.ruleQuotas())
			}
			if err != nil {
				refused++
				continue
			}
			if _, err := c.deed(&l, &r); err != nil {
				refused++
				r.Action = lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 500}}
			}
			l.Rules = append(l.Rules, r)
		}
		out.Listeners = append(out.Listeners, l)
	}
	return out, refused
}
