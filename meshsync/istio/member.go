package istio

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// proxyName is the container of every proxy of Istio's.
const proxyName = "istio-proxy"

// The marks of what was done to a pod, and of what somebody asks for.
const (
	statusAnnotation      = "sidecar.istio.io/status" // written by injection
	tlsModeLabel          = "security.istio.io/tlsMode"
	redirectionAnnotation = "ambient.istio.io/redirection" // written by istio-cni
	templatesAnnotation   = "inject.istio.io/templates"
	gatewayNameLabel      = "gateway.networking.k8s.io/gateway-name"
	managedLabel          = "gateway.istio.io/managed"
	injectLabel           = "sidecar.istio.io/inject" // of pods; also as annotation
	namespaceLabel        = "istio-injection"
	revisionLabel         = "istio.io/rev"
	modeLabel             = "istio.io/dataplane-mode"
)

// part is how a pod takes part in the mesh.
type part int

const (
	none part = iota
	withSidecar
	ambient
	proxyless // gRPC applications that get their configuration from istiod themselves
	isGateway
	waypoint
)

// partOf reads what was done to a pod, never what is asked for. The container is
// the truth: a proxy without marks is one, marks without a proxy are none.
func partOf(pod *corev1.Pod) part {
	proxy := workload.Container(pod, proxyName)
	switch {
	case proxy == nil && pod.Annotations[redirectionAnnotation] == "enabled":
		return ambient
	case proxy == nil:
		return none
	case slices.Contains(proxy.Args, "waypoint"):
		return waypoint
	case slices.Contains(proxy.Args, "router"), pod.Labels[gatewayNameLabel] != "", pod.Labels[managedLabel] != "":
		return isGateway
	case slices.Contains(strings.Split(pod.Annotations[templatesAnnotation], ","), "grpc-agent"):
		return proxyless
	default:
		return withSidecar
	}
}

// outside says why a pod is no member, and what to do if somebody wants it to be.
func outside(w meshsync.World, revision string, pod *corev1.Pod) (detail string, fix *meshsync.Fix) {
	ns := w.Namespace(pod.Namespace)
	switch asked := askedBy(ns, pod); {
	case pod.Spec.HostNetwork:
		return "the pod is on the node's network, where Istio has no proxy", nil
	case pod.Annotations[statusAnnotation] != "" || pod.Labels[tlsModeLabel] == "istio":
		return "the pod is marked as injected and has no container " + proxyName, restart()
	case asked == "ambient":
		return "label " + modeLabel + "=ambient asks for the mesh, and the pod's traffic is not redirected (annotation " + redirectionAnnotation + " is not enabled): see that istio-cni runs on its node, then restart the pod", restart()
	case asked != "":
		return asked + " asks for a sidecar, and the pod has none: it is older than that, and needs a restart", restart()
	default:
		return "nothing asks Istio to take the pod into the mesh", &meshsync.Fix{
			Say: "Label namespace " + pod.Namespace + " with " + labelFor(revision) + ", then restart its pods.",
		}
	}
}

// labelFor is the label that a revision looks for.
func labelFor(revision string) string {
	if revision == "" {
		return namespaceLabel + "=enabled (or " + revisionLabel + "=<revision>)"
	}
	return revisionLabel + "=" + revision
}

func restart() *meshsync.Fix {
	return &meshsync.Fix{Say: "Restart the pods (kubectl rollout restart), so that they are taken into the mesh."}
}

// askedBy names the label that asks for a sidecar, or is "ambient"; "" is neither.
func askedBy(ns *corev1.Namespace, pod *corev1.Pod) string {
	own, ok := pod.Labels[injectLabel]
	if !ok {
		own = pod.Annotations[injectLabel]
	}
	switch own {
	case "true":
		return injectLabel + "=true"
	case "false":
		return ""
	}
	if pod.Labels[revisionLabel] != "" {
		return "label " + revisionLabel + " of the pod"
	}
	switch mode := pod.Labels[modeLabel]; {
	case mode == "ambient":
		return mode
	case ns == nil:
		return ""
	case ns.Labels[namespaceLabel] == "enabled":
		return "label " + namespaceLabel + "=enabled of namespace " + ns.Name
	case ns.Labels[namespaceLabel] == "" && ns.Labels[revisionLabel] != "":
		return "label " + revisionLabel + " of namespace " + ns.Name
	case mode == "" && ns.Labels[modeLabel] == "ambient":
		return "ambient"
	default:
		return ""
	}
}
