package gcp

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/gcp/settings"
)

// maxWeight is the greatest weight of a backend service.
const maxWeight = 1000

// deed is what a rule does with one part of its requests.
type deed struct {
	service  Ref
	action   *RouteAction
	redirect *URLRedirect
	headers  *HeaderAction
	template string // the path template that it needs as a match, instead of the part's own
}

// answered is an answer of the load balancer's own; a service must be named, though
// none is asked.
func (c *compiler) answered(status int) deed {
	return deed{service: c.nobody(), action: abort(status, 100)}
}

func abort(status int, percent float64) *RouteAction {
	return &RouteAction{FaultInjectionPolicy: &FaultPolicy{Abort{HTTPStatus: int32(status), Percentage: percent}}}
}

// nobody is a backend service without backends, for requests that none gets. A
// connection that comes to it is closed.
func (c *compiler) nobody() Ref {
	return c.addNobody(protocolHTTP)
}

func (c *compiler) addNobody(protocol string) Ref {
	if ref, ok := c.nobodies[protocol]; ok {
		return ref
	}
	c.nobodies[protocol] = c.add(c.name(KindBackendService, "nobody", "nobody", protocol), &BackendService{
		LoadBalancingScheme: c.f.scheme, Protocol: protocol, TimeoutSec: c.s.TimeoutSeconds,
		ConnectionDraining: Draining{c.s.DrainSeconds}, SessionAffinity: "NONE", sources: sources(c.source),
	})
	return c.nobodies[protocol]
}

// brokenStatus is what Gateway API asks for where a backend cannot be reached, and for
// gRPC what its clients read as UNAVAILABLE.
func brokenStatus(m *lbmodel.Match) int {
	if m.GRPC != nil {
		return 503
	}
	return 500
}

// deed is what a rule does with requests of one part. An error says what of it Google
// Cloud cannot do; the rule answers 500 then.
func (c *compiler) deed(l *lbmodel.Listener, r *lbmodel.Rule, part pathPart) (deed, error) {
	switch a := &r.Action; {
	case a.Fixed != nil:
		return c.fixed(a.Fixed)
	case a.Redirect != nil:
		return c.redirect(l, r, part)
	case a.Forward != nil:
		return c.forward(l, r, part)
	default:
		return deed{}, errors.New("the rule does nothing")
	}
}

func (c *compiler) fixed(f *lbmodel.Fixed) (deed, error) {
	if f.Body != "" || f.Status < 200 || f.Status > 599 {
		return deed{}, fmt.Errorf("an answer of status %d with %d bytes: Google Cloud gives statuses 200 to 599, without a body of one's own", f.Status, len(f.Body))
	}
	return c.answered(f.Status), nil
}

// forward shares requests among backend services. Shares that are answered by the load
// balancer are a percentage that it aborts.
func (c *compiler) forward(l *lbmodel.Listener, r *lbmodel.Rule, part pathPart) (deed, error) {
	a := &r.Action
	shares, status, percent, err := c.shares(l, r)
	if err != nil {
		return deed{}, err
	}
	if len(shares) == 0 {
		return c.answered(status), nil
	}
	out := deed{action: &RouteAction{}}
	if percent > 0 {
		out.action = abort(status, percent)
	}
	rewrite, template, err := rewrites(a.Edits.Rewrite, part)
	out.action.URLRewrite, out.template = rewrite, template
	if err := errors.Join(err, c.extras(out.action, r), c.place(&out, r, shares)); err != nil {
		return deed{}, err
	}
	if encode(out.action) == "{}" {
		out.action = nil
	}
	return out, nil
}

// share is a backend service with its weight.
type share struct {
	service Ref
	weight  int64
	edits   *lbmodel.Edits
}

// shares are the backends that get requests, and what percentage is answered with which
// status instead.
func (c *compiler) shares(l *lbmodel.Listener, r *lbmodel.Rule) (out []share, status int, percent float64, _ error) {
	var sum, own int64
	for i := range r.Action.Forward.Backends {
		b := &r.Action.Forward.Backends[i]
		sum += int64(b.Weight)
		switch {
		case b.Weight == 0:
			continue
		case b.Redirect != nil:
			return nil, 0, 0, errors.New("a share of requests cannot be redirected")
		}
		answer := b.Fixed
		service, err := c.service(b.Pool, r.Action.Persistence)
		if err != nil && answer == nil {
			c.refuseFor(cmp.Or(b.Source, r.Source), l.Source, err)
			answer = &lbmodel.Fixed{Status: brokenStatus(&r.Match)}
		}
		switch {
		case answer == nil:
			out = append(out, share{service, int64(b.Weight), &b.Edits})
		case answer.Body != "" || status != 0 && status != answer.Status:
			return nil, 0, 0, errors.New("shares are answered with one status, and without a body")
		default:
			status, own = answer.Status, own+int64(b.Weight)
		}
	}
	if len(out) == 0 && status == 0 {
		status = brokenStatus(&r.Match) // weights of zero alone: what becomes of them is not documented
	}
	if sum > 0 {
		percent = 100 * float64(own) / float64(sum)
	}
	return out, status, percent, nil
}

// place puts the shares, and what becomes of headers, where they belong.
func (c *compiler) place(d *deed, r *lbmodel.Rule, shares []share) error {
	a := &r.Action
	plain := !slices.ContainsFunc(shares, func(s share) bool { return s.edits.Request != nil || s.edits.Response != nil })
	if len(shares) > 1 && a.Persistence != nil {
		return errors.New("no client is kept at an endpoint where requests are shared by weight")
	}
	var err error
	if plain {
		d.headers, err = headerAction(&a.Edits)
	}
	if len(shares) == 1 && plain {
		d.service = shares[0].service
		return err
	}
	weights := make([]int64, len(shares))
	for i, s := range shares {
		weights[i] = s.weight
	}
	for i, w := range scaled(weights) {
		one := WeightedService{BackendService: shares[i].service, Weight: w}
		if !plain {
			var wrong error
			one.HeaderAction, wrong = headerAction(&a.Edits, shares[i].edits)
			err = errors.Join(err, wrong)
		}
		d.action.WeightedBackendServices = append(d.action.WeightedBackendServices, one)
	}
	return err
}

// scaled brings weights to at most 1000 and keeps their shares, to a thousandth. One
// that gets traffic goes on getting some.
func scaled(weights []int64) []int32 {
	var divisor, greatest int64
	for _, w := range weights {
		divisor, greatest = gcd(divisor, w), max(greatest, w)
	}
	out := make([]int32, len(weights))
	for i, w := range weights {
		switch {
		case w == 0:
		case greatest/divisor <= maxWeight:
			out[i] = int32(w / divisor)
		default:
			out[i] = int32(max(1, (w*maxWeight+greatest/2)/greatest))
		}
	}
	return out
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// extras are what else is done with a request on its way.
func (c *compiler) extras(to *RouteAction, r *lbmodel.Rule) error {
	a := &r.Action
	to.Timeout = durationOf(a.Timeouts.Request)
	return errors.Join(attempts(to, a), c.mirror(to, a), c.cors(to, a.CORS))
}

// attempts sets what bounds and repeats them. Without a retry there is one attempt, so
// its time is the request's.
func attempts(to *RouteAction, a *lbmodel.Action) error {
	if a.Retry == nil {
		if b := a.Timeouts.Backend; b != 0 && (a.Timeouts.Request == 0 || b < a.Timeouts.Request) {
			to.Timeout = durationOf(b)
		}
		return nil
	}
	conditions, err := retryConditions(a.Retry.Codes)
	switch {
	case err != nil:
		return err
	case a.Retry.Attempts < 1:
		return errors.New("that nothing is tried again cannot be said to Google Cloud; leave retry out, and requests without a body are tried again once after 502, 503 and 504")
	case a.Retry.Backoff != 0:
		return errors.New("the time between attempts is Google's to choose; leave retry.backoff out")
	}
	to.RetryPolicy = &RetryPolicy{NumRetries: int32(a.Retry.Attempts), RetryConditions: conditions, PerTryTimeout: durationOf(a.Timeouts.Backend)}
	return nil
}

// retryConditions are the codes in Google's groups, and a connection that fails.
func retryConditions(codes []int) ([]string, error) {
	out := []string{"connect-failure"}
	rest := slices.Sorted(slices.Values(codes))
	if i := slices.Index(rest, 409); i >= 0 {
		rest, out = slices.Delete(rest, i, i+1), append(out, "retriable-4xx")
	}
	switch {
	case len(rest) == 0:
	case slices.Equal(rest, []int{502, 503, 504}):
		out = append(out, "gateway-error")
	case len(slices.Compact(rest)) == 100 && rest[0] == 500 && rest[99] == 599:
		out = append(out, "5xx")
	default:
		return nil, errors.New("retry.codes must be one or several of Google's groups: 502, 503 and 504 together; 409; all of 500 to 599")
	}
	return out, nil
}

func (c *compiler) mirror(to *RouteAction, a *lbmodel.Action) error {
	for _, m := range a.Edits.Mirrors {
		if m.Numerator == 0 {
			continue
		}
		if to.RequestMirrorPolicy != nil {
			return errors.New("requests are mirrored to one backend only")
		}
		service, err := c.service(m.Pool, nil)
		if err != nil {
			return err
		}
		to.RequestMirrorPolicy = &MirrorPolicy{BackendService: service, MirrorPercent: 100 * float64(m.Numerator) / float64(max(1, m.Denominator))}
	}
	return nil
}

func (c *compiler) cors(to *RouteAction, from *lbmodel.CORS) error {
	switch {
	case from == nil:
		return nil
	case !assumes(c.s, settings.CORSByLoadBalancer):
		return fmt.Errorf("who answers preflights is not documented; have the operator assume %s", settings.CORSByLoadBalancer)
	case slices.ContainsFunc(slices.Concat(from.AllowOrigins, from.AllowMethods, from.AllowHeaders, from.ExposeHeaders), func(s string) bool { return strings.Contains(s, "*") }):
		return errors.New("origins, methods and headers are named one by one: Google Cloud has no wildcards in CORS")
	}
	to.CORSPolicy = &CORSPolicy{AllowOrigins: from.AllowOrigins, AllowMethods: from.AllowMethods, AllowHeaders: from.AllowHeaders,
		ExposeHeaders: from.ExposeHeaders, MaxAge: from.MaxAge, AllowCredentials: from.AllowCredentials}
	return nil
}

// plainTarget is a path that means itself in rewrites and redirects: no query begins in
// it, no variable, and nothing is encoded twice.
var plainTarget = regexp.MustCompile(`^/[A-Za-z0-9._~!$&'()*+,;=:@/%-]*$`)

func checkTarget(path string) error {
	if !plainTarget.MatchString(path) || len(path) >= maxPathMatch {
		return fmt.Errorf("the path %q has characters that Google Cloud may not take as they are, or more than %d", path, maxPathMatch-1)
	}
	return nil
}

// rewrites change what the backend sees. A path that is known is replaced by an
// expression, since what a prefix rewrite replaces of a whole path is not documented.
// One under a prefix is replaced by a template, which must then be its match.
func rewrites(r *lbmodel.Rewrite, part pathPart) (_ *URLRewrite, template string, _ error) {
	if r == nil {
		return nil, "", nil
	}
	out := &URLRewrite{HostRewrite: r.Hostname}
	if r.Path == nil {
		return out, "", nil
	}
	switch full := r.Path.Kind == lbmodel.ReplaceFullPath; {
	case part.exact != "":
		to := r.Path.Apply(part.exact, part.matched)
		out.RegexRewrite = &RegexRewrite{PathPattern: "^" + regexp.QuoteMeta(part.exact), PathSubstitution: to}
		return out, "", checkTarget(to)
	case part.prefix == "":
		return nil, "", errors.New("the path is rewritten for exact paths and prefixes only")
	case full:
		to := r.Path.Apply("/", "/")
		out.PathTemplateRewrite = to
		if strings.ContainsAny(part.prefix+to, "{}*") {
			return nil, "", fmt.Errorf("the path %s has characters of a path template", part.prefix)
		}
		return out, part.prefix + "{rest=**}", checkTarget(to)
	default:
		out.PathPrefixRewrite = r.Path.Apply(part.prefix, part.prefix)
		return out, "", checkTarget(out.PathPrefixRewrite)
	}
}
