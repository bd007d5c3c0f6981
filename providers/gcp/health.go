package gcp

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"gatehouse.dev/lbmodel"
)

// maxCookie is the longest life of an affinity cookie.
const maxCookie = 14 * 24 * time.Hour

// kubeProxyPort is where a node says that it sends traffic on; it is the default of
// kube-proxy and of what stands for it.
const kubeProxyPort = 10256

// addHealthCheck adds what finds out which endpoints of a pool answer. It is shared by
// the pools of one group; type and port are its name, so that gateways which look at
// different things do not undo each other's.
func (c *compiler) addHealthCheck(p *lbmodel.Pool) Ref {
	h := c.defaultHealth(p)
	if p.Health != nil {
		given, err := c.healthOf(p)
		if err != nil {
			c.refuse(cmp.Or(p.Health.Source, p.Source), c.source, "the health check is left out, and connections are tried instead: %v", err)
		} else {
			h = given
		}
	}
	spec := healthSpec(h)
	spec.source = p.Source
	group := cmp.Or(p.Group, p.Name)
	id := c.sharedName(KindHealthCheck, c.s.Location, group, group, h.Protocol, portText(h.Port), h.Service)
	return c.share(id, spec)
}

// defaultHealth finds out whether somebody listens: a path that everybody serves is not
// known. Passthrough load balancers send to nodes, not to endpoints.
func (c *compiler) defaultHealth(*lbmodel.Pool) *lbmodel.HealthCheck {
	out := &lbmodel.HealthCheck{Protocol: "TCP"}
	if c.f.passthrough {
		out.Protocol, out.Port, out.Path = "HTTP", kubeProxyPort, "/healthz"
	}
	return withTimes(out)
}

func withTimes(h *lbmodel.HealthCheck) *lbmodel.HealthCheck {
	h.Interval = cmp.Or(h.Interval, lbmodel.Duration(5*time.Second))
	h.Timeout = cmp.Or(h.Timeout, min(h.Interval, lbmodel.Duration(5*time.Second)))
	h.Healthy, h.Unhealthy = cmp.Or(h.Healthy, 2), cmp.Or(h.Unhealthy, 2)
	return h
}

// healthOf is a check as it was asked for, or what of it Google Cloud cannot do. Its
// probes show no certificate, so a port that demands one is only connected to.
func (c *compiler) healthOf(p *lbmodel.Pool) (*lbmodel.HealthCheck, error) {
	h := *p.Health
	withTimes(&h)
	interval, timeout := time.Duration(h.Interval), time.Duration(h.Timeout)
	switch {
	case interval < time.Second || interval > 300*time.Second || timeout < time.Second || timeout > interval:
		return nil, errors.New("the interval must be 1 to 300 s, the timeout at least 1 s and no longer than the interval")
	case h.Healthy < 1 || h.Healthy > 10 || h.Unhealthy < 1 || h.Unhealthy > 10:
		return nil, errors.New("1 to 10 successes or failures are counted")
	case c.f.passthrough && h.Port == 0:
		return nil, errors.New("a passthrough load balancer tries a port of nodes, which must be given")
	case p.TLS != nil && h.Port == 0 && p.TLS.Identity != "":
		h.Protocol, h.Path, h.Host, h.Service = "TCP", "", "", ""
	}
	switch h.Protocol {
	case "TCP":
		h.Path, h.Host = "", ""
	case "HTTP", "HTTPS", "HTTP2":
		h.Path = cmp.Or(h.Path, "/")
	case "GRPC":
		if p.TLS != nil && h.Port == 0 {
			h.Protocol = "GRPC_WITH_TLS"
		}
	default:
		return nil, fmt.Errorf("there are no checks by %s", h.Protocol)
	}
	return &h, nil
}

// healthSpec is a check in the API's form.
func healthSpec(h *lbmodel.HealthCheck) *HealthCheck {
	out := &HealthCheck{
		Type: h.Protocol, CheckIntervalSec: seconds(h.Interval), TimeoutSec: seconds(h.Timeout),
		HealthyThreshold: h.Healthy, UnhealthyThreshold: h.Unhealthy,
	}
	port := "USE_SERVING_PORT"
	if h.Port != 0 {
		port = "USE_FIXED_PORT"
	}
	http := &HTTPProbe{PortSpecification: port, Port: h.Port, RequestPath: h.Path, Host: h.Host}
	grpc := &GRPCProbe{PortSpecification: port, Port: h.Port, GRPCServiceName: h.Service}
	switch h.Protocol {
	case "TCP":
		out.TCP = http
	case "HTTP":
		out.HTTP = http
	case "HTTPS":
		out.HTTPS = http
	case "HTTP2":
		out.HTTP2 = http
	case "GRPC":
		out.GRPC = grpc
	default:
		out.GRPCTLS = grpc
	}
	return out
}

// seconds is a duration in whole seconds, rounded up.
func seconds(d lbmodel.Duration) int32 {
	return int32((time.Duration(d) + time.Second - 1) / time.Second)
}
