package istio

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/meshsync"
)

// listeners are those of a Sidecar's spec.ingress, by the pod's port. They stand in
// for what Services declare: a port that they leave out is one of no protocol.
type listeners struct {
	name    string
	ports   map[int32]protocol
	problem string
}

// listenersOf are those of the Sidecar that holds for a pod: of its namespace the
// oldest that selects it, or the oldest without a selector; or that of the root
// namespace without one. nil is none, and also a Sidecar without listeners.
func listenersOf(w meshsync.World, root string, pod *corev1.Pod) *listeners {
	l := sidecarOf(w.Objects(sidecar, pod.Namespace), pod.Labels)
	if l == nil && pod.Namespace != root {
		l = sidecarOf(w.Objects(sidecar, root), nil)
	}
	if l == nil || l.problem == "" && len(l.ports) == 0 {
		return nil
	}
	return l
}

// sidecarOf reads the one of the objects that holds for labels; nil is none.
func sidecarOf(objects []*unstructured.Unstructured, labels map[string]string) *listeners {
	var wide *listeners
	for _, o := range byAge(objects) {
		selector, l := readSidecar(o)
		switch {
		case len(selector) > 0 && subset(selector, labels):
			return l
		case len(selector) == 0 && (wide == nil || l.problem != ""):
			wide = l
		}
	}
	return wide
}

func readSidecar(o *unstructured.Unstructured) (selector map[string]string, l *listeners) {
	l = &listeners{name: "Sidecar " + o.GetNamespace() + "/" + o.GetName(), ports: map[int32]protocol{}}
	spec, err := mapAt(o.Object, "spec")
	if err == nil {
		selector, err = readSelector(spec, "workloadSelector", "labels")
	}
	if err == nil {
		err = l.read(spec)
	}
	if err != nil {
		l.problem = l.name + " cannot be read: " + err.Error()
	}
	return selector, l
}

func (l *listeners) read(spec map[string]any) error {
	ingress, err := listAt(spec, "ingress")
	if err != nil {
		return err
	}
	for _, item := range ingress {
		m, ok := item.(map[string]any)
		if !ok {
			return errors.New("a listener of ingress is no object")
		}
		if err := l.add(m); err != nil {
			return err
		}
	}
	return nil
}

func (l *listeners) add(listener map[string]any) error {
	port, err := mapAt(listener, "port")
	if err != nil {
		return err
	}
	number, err := numberAt(port, "number")
	if err != nil {
		return err
	}
	name, err := textAt(port, "protocol")
	if err != nil {
		return err
	}
	l.ports[number] = parseProtocol(strings.ToLower(name))
	return nil
}

// protocol is that of a pod's port; the text says who declares it.
func (l *listeners) protocol(port int32) (p protocol, declared string) {
	if p, ok := l.ports[port]; ok {
		return p, l.name + ", field spec.ingress"
	}
	return isAuto, l.name + ", whose spec.ingress leaves the port out"
}
