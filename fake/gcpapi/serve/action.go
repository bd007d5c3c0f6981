package serve

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// act carries a route's action out. The order is Envoy's usual one: redirect, CORS,
// fault, then the way to a backend.
func (m *Matcher) act(v *view, r *route, p portion) (*Own, *Forward) {
	if r.redirect != nil {
		return m.own(v, r, m.redirect(v, r, p)), nil
	}
	action := r.action
	if action == nil {
		action = &RouteAction{}
	}
	allowed, refused := m.cors(v, action.CORSPolicy)
	if refused != nil {
		return m.own(v, r, refused), nil
	}
	if fault := action.FaultInjectionPolicy; fault != nil && fault.Abort != nil && fault.Abort.Percentage >= 100 {
		return m.own(v, r, m.abort(v, fault.Abort)), nil
	}
	f := &Forward{Method: v.Method, Host: v.Host, CORS: allowed}
	if f.Shares = m.shares(v, r, action); len(f.Shares) == 0 {
		return m.own(v, r, &Own{Status: http.StatusServiceUnavailable, Cause: "no_weight"}), nil
	}
	f.Path, f.Query = m.rewrite(v, r, p, action.URLRewrite)
	if action.URLRewrite != nil && action.URLRewrite.HostRewrite != "" {
		f.Host = action.URLRewrite.HostRewrite
	}
	if fault := action.FaultInjectionPolicy; fault != nil {
		f.Abort, f.Delay = fault.Abort, fault.Delay
	}
	f.Timeout = m.timeout(action, f.Shares)
	f.Retry = m.retry(action, f.Timeout)
	f.Mirror = m.mirror(v, action, f.Host)
	return nil, f
}

// own completes an answer of the load balancer's own.
func (m *Matcher) own(v *view, r *route, o *Own) *Own {
	if m.s.HeaderOwnAnswers == Changed {
		for _, h := range r.headers {
			o.Response = append(o.Response, m.responseEdits(v, h)...)
		}
	}
	return o
}

func (m *Matcher) abort(v *view, a *FaultAbort) *Own {
	o := &Own{Status: int(a.HTTPStatus), Cause: "fault_filter_abort"}
	if m.s.AbortGRPC == Mapped && strings.HasPrefix(v.Header.Get("Content-Type"), "application/grpc") {
		o.Status = http.StatusOK
		o.Header = http.Header{"Content-Type": {"application/grpc"}, "Grpc-Status": {strconv.Itoa(grpcStatus(int(a.HTTPStatus)))}}
	}
	return o
}

// grpcStatus is the gRPC status of an HTTP status
// (grpc/doc/http-grpc-status-mapping.md).
func grpcStatus(code int) int {
	switch code {
	case http.StatusBadRequest:
		return 13
	case http.StatusUnauthorized:
		return 16
	case http.StatusForbidden:
		return 7
	case http.StatusNotFound:
		return 12
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 14
	}
	return 2
}

// shares are the backend services; none when nobody has weight.
func (m *Matcher) shares(v *view, r *route, action *RouteAction) []Share {
	weighted := action.WeightedBackendServices
	if len(weighted) == 0 {
		weighted = []WeightedService{{BackendService: r.service, Weight: 1}}
	}
	var out []Share
	sum := int32(0)
	for _, w := range weighted {
		s := Share{Service: Ref(w.BackendService), Weight: w.Weight}
		s.Request, s.Response = m.edits(v, s.Service, append(outward(w.HeaderAction), r.headers...))
		out = append(out, s)
		sum += w.Weight
	}
	if sum > 0 {
		return out
	}
	if m.s.AllWeightsZero == Unavailable {
		return nil
	}
	for i := range out {
		out[i].Weight = 1
	}
	return out
}

// timeout is the route's, else the largest of its backend services.
func (m *Matcher) timeout(action *RouteAction, shares []Share) time.Duration {
	if t := action.Timeout; t != nil && (t.Time() > 0 || m.s.TimeoutZero == None) {
		return t.Time()
	}
	var longest time.Duration
	for _, s := range shares {
		service := m.services[s.Service]
		longest = max(longest, service.Timeout())
	}
	return longest
}

func (m *Matcher) retry(action *RouteAction, timeout time.Duration) Retry {
	out := Retry{Default: m.s.DefaultRetry == Once || m.config.Flavour == RegionalInternal || m.config.Flavour == CrossRegionInternal}
	p := action.RetryPolicy
	if p == nil {
		return out
	}
	out.Attempts, out.On, out.PerTry = 1, p.RetryConditions, timeout
	if p.NumRetries != nil {
		out.Attempts = int(*p.NumRetries)
	}
	if p.PerTryTimeout != nil {
		out.PerTry = p.PerTryTimeout.Time()
	}
	out.Default = out.Default && m.s.RetryPolicy == Adds
	return out
}

func (m *Matcher) mirror(v *view, action *RouteAction, host string) *Mirror {
	p := action.RequestMirrorPolicy
	if p == nil {
		return nil
	}
	if m.s.MirrorHost == Original {
		host = v.Host
	}
	name, port := splitPort(host)
	if port != "" {
		port = ":" + port
	}
	out := &Mirror{Service: Ref(p.BackendService), Host: name + "-shadow" + port, Percent: 100}
	if p.MirrorPercent != nil {
		out.Percent = *p.MirrorPercent
	}
	return out
}
