package istio

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync/workload"
)

// The annotations that say which of a pod's ports its sidecar captures.
const (
	excludeAnnotation      = "traffic.sidecar.istio.io/excludeInboundPorts"
	includeAnnotation      = "traffic.sidecar.istio.io/includeInboundPorts"
	interceptionAnnotation = "sidecar.istio.io/interceptionMode"
)

// capture is which ports of a pod lead to its sidecar.
type capture struct {
	off                bool // nothing is redirected
	exclude, include   string
	excluded, included workload.Ports
	all                bool // included is everything
	problem            string
}

// captureOf reads what was set up at the pod's start: the arguments of its init
// container where there is one, for annotations can be changed later. With Istio's
// CNI plugin the annotations are what was read.
func captureOf(pod *corev1.Pod) capture {
	mode, _ := setting(pod, "-m", interceptionAnnotation)
	c := capture{off: mode == "NONE"}
	c.exclude, _ = setting(pod, "-d", excludeAnnotation)
	include, set := setting(pod, "-b", includeAnnotation)
	c.include = include
	c.all = !set || strings.TrimSpace(include) == "*"
	var err error
	if c.excluded, err = workload.ParsePorts(c.exclude, nil); err != nil {
		c.problem = "annotation " + excludeAnnotation + " cannot be read: " + err.Error()
	}
	if c.all {
		return c
	}
	if c.included, err = workload.ParsePorts(include, nil); err != nil {
		c.problem = "annotation " + includeAnnotation + " cannot be read: " + err.Error()
	}
	return c
}

// has says whether connections to a port reach the sidecar.
func (c capture) has(port int32) bool {
	return !c.off && !c.excludes(port) && (c.all || c.included.Has(port))
}

func (c capture) excludes(port int32) bool {
	return port == agentPort || port == readyPort || port == promPort || c.excluded.Has(port)
}

// why names what keeps a port from the sidecar.
func (c capture) why(port int32) string {
	switch {
	case c.off:
		return "annotation " + interceptionAnnotation + ": NONE"
	case c.excludes(port) && !c.excluded.Has(port):
		return "it is a port of Istio's own"
	case c.excludes(port):
		return "annotation " + excludeAnnotation + ": " + c.exclude
	default:
		return "annotation " + includeAnnotation + ": " + c.include
	}
}

// setting is a flag of the init container, else the annotation.
func setting(pod *corev1.Pod, flag, annotation string) (value string, set bool) {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name != "istio-init" && c.Name != "istio-validation" {
			continue
		}
		for j := 0; j+1 < len(c.Args); j++ {
			if c.Args[j] == flag {
				return c.Args[j+1], true
			}
		}
	}
	value, set = pod.Annotations[annotation]
	return value, set
}
