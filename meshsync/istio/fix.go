package istio

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"gatehouse.dev/meshsync"
)

// lastApplied is what kubectl keeps in objects; it is not for other hands.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

const cutsPlain = "clients that speak clear text to it, or TLS without a certificate of the mesh, are then refused"

// fix is what to change so that the port is Direct, without a loss, in the order
// in which to do it: declare the protocol, then ask for STRICT at the port. Where
// no PeerAuthentication can do that, it is a landing pad. Nil is nothing.
func (r *reading) fix(a authentication, p protocol, byService bool) *meshsync.Fix {
	declare := p == isAuto && byService
	if a.mode == Strict {
		if !declare {
			return nil
		}
		return &meshsync.Fix{Say: r.sayDeclare() + ".", YAML: documents(r.declared())}
	}
	strict := r.strict(a)
	if strict == nil {
		return padFix(r.port.Service)
	}
	say := fmt.Sprintf("Ask for mutual TLS at port %d of the pods with %s: %s.", r.port.Target, peerName(strict), cutsPlain)
	if !declare {
		return &meshsync.Fix{Say: say, YAML: documents(strict)}
	}
	return &meshsync.Fix{Say: r.sayDeclare() + "; then: " + say, YAML: documents(r.declared(), strict)}
}

func (r *reading) sayDeclare() string {
	return "Declare what the application speaks at port " + portName(r.port.Port) + " of Service " +
		r.port.Service.Namespace + "/" + r.port.Service.Name + " (appProtocol: http, or http2 or grpc where it speaks that)"
}

// declared is the whole Service, with the port's protocol. Less than the whole
// would not do: kubectl apply takes away what an object had and a file has not.
func (r *reading) declared() map[string]any {
	svc := *r.port.Service
	svc.Spec.Ports = slices.Clone(svc.Spec.Ports)
	for i, p := range svc.Spec.Ports {
		if p.Name == r.port.Port.Name && p.Port == r.port.Port.Port && p.Protocol == r.port.Port.Protocol {
			http := "http"
			svc.Spec.Ports[i].AppProtocol = &http
		}
	}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&svc.Spec)
	if err != nil {
		return nil
	}
	return object("v1", "Service", svc.Namespace, svc.Name, svc.Labels, svc.Annotations, spec)
}

// strict is the PeerAuthentication that asks for mutual TLS at the pod's port: the
// one that selects the pod, with the port added, for it is older than any other
// could be; else a new one with the Service's selector. Nil is none: policies with
// a selector do not count in the root namespace, and a Service without a selector
// does not say which pods are its own.
func (r *reading) strict(a authentication) map[string]any {
	port, mode := strconv.Itoa(int(r.port.Target)), map[string]any{"mode": string(Strict)}
	switch svc := r.port.Service; {
	case r.pod.Namespace == r.settings.Root:
		return nil
	case a.own != nil:
		o := a.own.object
		spec, _ := mapAt(o.Object, "spec")
		spec = maps.Clone(spec)
		ports, _ := mapAt(spec, "portLevelMtls")
		ports = maps.Clone(ports)
		if ports == nil {
			ports = map[string]any{}
		}
		ports[port] = mode
		spec["portLevelMtls"] = ports
		return object(o.GetAPIVersion(), peerAuthentication.Kind, o.GetNamespace(), o.GetName(), o.GetLabels(), o.GetAnnotations(), spec)
	case len(svc.Spec.Selector) == 0:
		return nil
	default:
		return object(peerAuthentication.Group+"/v1", peerAuthentication.Kind, svc.Namespace, svc.Name+"-"+port+"-strict", nil, nil, map[string]any{
			"selector":      map[string]any{"matchLabels": anyMap(svc.Spec.Selector)},
			"portLevelMtls": map[string]any{port: mode},
		})
	}
}

func peerName(o map[string]any) string {
	m, _ := mapAt(o, "metadata")
	return fmt.Sprintf("PeerAuthentication %v/%v", m["namespace"], m["name"])
}

// padFix is a landing pad next to a Service: a gateway of the mesh whose listener
// ends the mesh's mutual TLS for any client that it trusts, and speaks the tunnel
// to the pods. It gets no load balancer of its own.
func padFix(svc *corev1.Service) *meshsync.Fix {
	name := svc.Name + "-pad"
	return &meshsync.Fix{
		Say: "Put a landing pad in front: a gateway of the mesh, here " + svc.Namespace + "/" + name +
			", to which the Service's routes are attached and which the MeshBinding names in spec.landingPad.",
		YAML: documents(object(gateway.Group+"/v1", gateway.Kind, svc.Namespace, name, nil,
			map[string]string{"networking.istio.io/service-type": string(corev1.ServiceTypeClusterIP)},
			map[string]any{
				"gatewayClassName": "istio",
				"listeners": []any{map[string]any{
					"name": "mesh", "port": int64(443), "protocol": "HTTPS",
					"tls": map[string]any{"mode": "Terminate", "options": map[string]any{terminateOption: istioMutual}},
				}},
			})),
	}
}

func object(apiVersion, kind, namespace, name string, labels, annotations map[string]string, spec map[string]any) map[string]any {
	meta := map[string]any{"name": name, "namespace": namespace}
	if len(labels) > 0 {
		meta["labels"] = anyMap(labels)
	}
	kept := anyMap(annotations)
	delete(kept, lastApplied)
	if len(kept) > 0 {
		meta["annotations"] = kept
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta, "spec": spec}
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
