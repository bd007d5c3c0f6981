package workload

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"gatehouse.dev/lbmodel"
)

// Probe is the application's own readiness probe, as it is in the pod (meshes
// rewrite it there), if a load balancer can make it: over the network, to the pod
// itself, with no headers of its own. It is that of the container which declares
// the port, else the first there is; containers in skip are the mesh's.
//
// A probe that only opens a connection is none: at a proxy it always succeeds.
func Probe(pod *corev1.Pod, port int32, skip ...string) *lbmodel.HealthCheck {
	var first *lbmodel.HealthCheck
	for c := range containers(pod) {
		if c.ReadinessProbe == nil || slices.Contains(skip, c.Name) {
			continue
		}
		check := check(c)
		if declares(c, port) {
			return check // also when it is no use: another container's says nothing of this one
		}
		if first == nil {
			first = check
		}
	}
	return first
}

// ProbeOf is the readiness probe of a container, such as the proxy itself, if a
// load balancer can make it.
func ProbeOf(pod *corev1.Pod, container string) *lbmodel.HealthCheck {
	c := Container(pod, container)
	if c == nil || c.ReadinessProbe == nil {
		return nil
	}
	return check(c)
}

func declares(c *corev1.Container, port int32) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port })
}

func check(c *corev1.Container) *lbmodel.HealthCheck {
	p := c.ReadinessProbe
	check := &lbmodel.HealthCheck{
		Interval:  seconds(p.PeriodSeconds, 10),
		Timeout:   seconds(p.TimeoutSeconds, 1),
		Healthy:   max(p.SuccessThreshold, 1),
		Unhealthy: orDefault(p.FailureThreshold, 3),
	}
	switch {
	case p.HTTPGet != nil:
		return checkHTTP(check, c, p.HTTPGet)
	case p.GRPC != nil:
		check.Protocol, check.Port = "GRPC", p.GRPC.Port
		if p.GRPC.Service != nil {
			check.Service = *p.GRPC.Service
		}
		return check
	default:
		return nil
	}
}

func checkHTTP(check *lbmodel.HealthCheck, c *corev1.Container, get *corev1.HTTPGetAction) *lbmodel.HealthCheck {
	check.Protocol = "HTTP"
	if get.Scheme == corev1.URISchemeHTTPS {
		check.Protocol = "HTTPS"
	}
	check.Path = get.Path
	if !strings.HasPrefix(check.Path, "/") {
		check.Path = "/" + check.Path
	}
	for _, h := range get.HTTPHeaders {
		if !strings.EqualFold(h.Name, "Host") {
			return nil
		}
		check.Host = h.Value
	}
	check.Port = numbered(c, get.Port)
	if check.Port == 0 || get.Host != "" {
		return nil
	}
	return check
}

// numbered is a container's port by number or name; zero is none.
func numbered(c *corev1.Container, port intstr.IntOrString) int32 {
	if port.Type == intstr.Int {
		return port.IntVal
	}
	for _, p := range c.Ports {
		if p.Name == port.StrVal {
			return p.ContainerPort
		}
	}
	return 0
}

func seconds(n, otherwise int32) lbmodel.Duration {
	return lbmodel.Duration(time.Duration(orDefault(n, otherwise)) * time.Second)
}

func orDefault(n, otherwise int32) int32 {
	if n <= 0 {
		return otherwise
	}
	return n
}
