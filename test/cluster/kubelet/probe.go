package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// eager is how often a readiness probe is asked before its first success.
	eager = 100 * time.Millisecond
	// patience is how long a container without a readiness probe has to open a
	// port. After it the container is ready, as a real kubelet says at once.
	patience = 5 * time.Second
)

// watchReadiness keeps the container's readiness true to its probe, or to its
// ports, until the context ends.
func (c *container) watchReadiness(ctx context.Context) {
	if !c.waitStarted(ctx) {
		return
	}
	if c.spec.ReadinessProbe == nil {
		c.watchPorts(ctx)
		return
	}
	p := c.spec.ReadinessProbe
	sleep(ctx, seconds(p.InitialDelaySeconds))
	failures, successes := int32(0), int32(0)
	for ctx.Err() == nil {
		if err := c.probe(ctx, p); err == nil {
			failures, successes = 0, successes+1
		} else {
			failures, successes = failures+1, 0
		}
		if ctx.Err() != nil {
			return
		}
		switch {
		case successes >= max(p.SuccessThreshold, 1):
			c.setReady(true)
		case failures >= max(p.FailureThreshold, 1):
			c.setReady(false)
		}
		period := seconds(p.PeriodSeconds)
		if !c.isReady() {
			period = min(period, eager)
		}
		sleep(ctx, period)
	}
}

// watchPorts makes a container ready when one of its TCP ports accepts; one that
// has none, at once.
func (c *container) watchPorts(ctx context.Context) {
	deadline := time.Now().Add(patience)
	for ctx.Err() == nil && time.Now().Before(deadline) && !c.accepts(ctx) {
		sleep(ctx, 20*time.Millisecond)
	}
	if ctx.Err() == nil {
		c.setReady(true)
	}
}

func (c *container) accepts(ctx context.Context) bool {
	declared := false
	for _, p := range c.spec.Ports {
		if p.Protocol == corev1.ProtocolUDP {
			return true
		}
		declared = true
		if c.dial(ctx, int(p.ContainerPort)) == nil {
			return true
		}
	}
	return !declared
}

func (c *container) dial(ctx context.Context, port int) error {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp", c.at(port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// at is a port of the pod's first address.
func (c *container) at(port int) string {
	return net.JoinHostPort(c.worker.ips()[0], strconv.Itoa(port))
}

func (c *container) setReady(ready bool) { //nolint:revive // the state that a probe found
	if c.isReady() != ready {
		c.change(func() { c.ready = ready })
	}
}

func (c *container) isReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready
}

// watchHealth runs the startup probe and then the liveness probe; a program that
// fails them is killed. A pod that is ending is left to end.
func (c *container) watchHealth(life, ctx context.Context, p *process) {
	if s := c.spec.StartupProbe; s != nil {
		if !c.untilFailure(ctx, s, func() bool {
			c.change(c.begin)
			return true
		}) {
			c.unhealthy(life, p, "Startup")
			return
		}
	}
	if l := c.spec.LivenessProbe; l != nil && ctx.Err() == nil {
		c.untilFailure(ctx, l, func() bool { return false })
		if ctx.Err() == nil {
			c.unhealthy(life, p, "Liveness")
		}
	}
}

// untilFailure probes until enough has failed in a row. It returns true when
// success says that it is enough, or when the context ends.
func (c *container) untilFailure(ctx context.Context, p *corev1.Probe, success func() bool) bool {
	sleep(ctx, seconds(p.InitialDelaySeconds))
	failures := int32(0)
	for ctx.Err() == nil {
		if err := c.probe(ctx, p); err != nil {
			failures++
		} else if failures = 0; success() {
			return true
		}
		if failures >= max(p.FailureThreshold, 1) && ctx.Err() == nil {
			return false
		}
		sleep(ctx, seconds(p.PeriodSeconds))
	}
	return true
}

func (c *container) unhealthy(life context.Context, p *process, which string) {
	if life.Err() != nil {
		return
	}
	c.worker.event(corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe failed, container %s is restarted", which, c.spec.Name))
	_ = p.cmd.Process.Kill() // it may have ended
}

// probe asks once.
func (c *container) probe(ctx context.Context, p *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, max(seconds(p.TimeoutSeconds), time.Second))
	defer cancel()
	switch {
	case p.HTTPGet != nil:
		return c.probeHTTP(ctx, p.HTTPGet)
	case p.TCPSocket != nil:
		port, err := c.port(p.TCPSocket.Port)
		if err != nil {
			return err
		}
		return c.dial(ctx, port)
	case p.GRPC != nil:
		return c.probeGRPC(ctx, p.GRPC)
	}
	c.worker.event(corev1.EventTypeWarning, "Unhealthy", "this kubelet has no exec probe: use httpGet, tcpSocket or grpc")
	return errors.New("no such probe")
}

func (c *container) probeHTTP(ctx context.Context, h *corev1.HTTPGetAction) error {
	port, err := c.port(h.Port)
	if err != nil {
		return err
	}
	host := c.at(port)
	if h.Host != "" {
		host = net.JoinHostPort(h.Host, strconv.Itoa(port))
	}
	scheme := strings.ToLower(string(h.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+"/"+strings.TrimPrefix(h.Path, "/"), nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "kube-probe/1.37")
	for _, header := range h.HTTPHeaders {
		req.Header.Add(header.Name, header.Value)
		if strings.EqualFold(header.Name, "Host") {
			req.Host = header.Value
		}
	}
	client := http.Client{
		// As a real kubelet: a probe looks at health, not at certificates.
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode >= 400 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

func (c *container) probeGRPC(ctx context.Context, g *corev1.GRPCAction) error {
	conn, err := grpc.NewClient("passthrough:///"+c.at(int(g.Port)), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the answer is what counts
	request := &healthv1.HealthCheckRequest{}
	if g.Service != nil {
		request.Service = *g.Service
	}
	answer, err := healthv1.NewHealthClient(conn).Check(ctx, request)
	if err == nil && answer.Status != healthv1.HealthCheckResponse_SERVING {
		err = errors.New(answer.Status.String())
	}
	return err
}

// port resolves a number or a name of the container's ports.
func (c *container) port(p intstr.IntOrString) (int, error) {
	if p.Type == intstr.Int {
		return p.IntValue(), nil
	}
	for _, each := range c.spec.Ports {
		if each.Name == p.StrVal {
			return int(each.ContainerPort), nil
		}
	}
	return strconv.Atoi(p.StrVal)
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
