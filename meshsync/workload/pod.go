package workload

import (
	"iter"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync"
)

// Account is the pod's ServiceAccount; a pod that names none runs as "default".
func Account(pod *corev1.Pod) meshsync.Account {
	name := pod.Spec.ServiceAccountName
	if name == "" {
		name = "default"
	}
	return meshsync.Account{Namespace: pod.Namespace, Name: name}
}

// Over says that the pod has ended: nothing runs in it any more.
func Over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Container is the pod's container of a name. A sidecar may be an ordinary
// container or, as a native sidecar, an init container.
func Container(pod *corev1.Pod, name string) *corev1.Container {
	for c := range containers(pod) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func containers(pod *corev1.Pod) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for i := range pod.Spec.Containers {
			if !yield(&pod.Spec.Containers[i]) {
				return
			}
		}
		for i := range pod.Spec.InitContainers {
			if !yield(&pod.Spec.InitContainers[i]) {
				return
			}
		}
	}
}

// PortsNamed are the pod's TCP ports of a name. Several containers may have one.
func PortsNamed(pod *corev1.Pod, name string) []int32 {
	var ports []int32
	for c := range containers(pod) {
		for _, p := range c.Ports {
			if p.Name == name && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
				ports = append(ports, p.ContainerPort)
			}
		}
	}
	return ports
}

// Env is a variable of a container as its process sees it, as far as the pod alone
// decides: references to other variables are resolved, and so are fields of the
// pod. It is not ok when the variable is not there, or comes from elsewhere.
func Env(pod *corev1.Pod, c *corev1.Container, name string) (value string, ok bool) {
	if c == nil {
		return "", false
	}
	for i := len(c.Env) - 1; i >= 0; i-- { // the last of a name counts
		if c.Env[i].Name == name {
			return valueOf(pod, c.Env[:i], c.Env[i])
		}
	}
	return "", false
}

// valueOf is one variable; it may refer to those before it only, so this ends.
func valueOf(pod *corev1.Pod, before []corev1.EnvVar, v corev1.EnvVar) (string, bool) {
	if v.ValueFrom == nil {
		return expand(pod, before, v.Value)
	}
	if v.ValueFrom.FieldRef == nil {
		return "", false
	}
	switch v.ValueFrom.FieldRef.FieldPath {
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.name":
		return pod.Name, true
	case "spec.serviceAccountName":
		return Account(pod).Name, true
	default:
		return "", false
	}
}

// expand resolves $(NAME) as kubelet does: $$ is a dollar sign, and a reference
// that nothing defines stays as it is.
func expand(pod *corev1.Pod, before []corev1.EnvVar, text string) (string, bool) {
	var out strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at+1 == len(text) {
			out.WriteString(text)
			return out.String(), true
		}
		out.WriteString(text[:at])
		name, after, isRef := reference(text[at:])
		if !isRef {
			out.WriteString(name)
			text = after
			continue
		}
		value, ok := lookup(pod, before, name)
		if !ok {
			return "", false
		}
		out.WriteString(value)
		text = after
	}
}

// reference cuts what starts with a dollar sign: the name of a variable, or text.
func reference(text string) (name, after string, isRef bool) {
	switch text[1] {
	case '$':
		return "$", text[2:], false
	case '(':
		if end := strings.IndexByte(text, ')'); end > 0 {
			return text[2:end], text[end+1:], true
		}
	}
	return "$", text[1:], false
}

func lookup(pod *corev1.Pod, before []corev1.EnvVar, name string) (string, bool) {
	for i := len(before) - 1; i >= 0; i-- {
		if before[i].Name == name {
			return valueOf(pod, before[:i], before[i])
		}
	}
	return "$(" + name + ")", true
}
