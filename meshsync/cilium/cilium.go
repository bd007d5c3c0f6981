package cilium

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// Controller is the controllerName of Cilium's MeshBindings.
const Controller = "cilium.io/cilium"

const (
	labelEnrolled = "io.cilium/mtls-enabled" // of a namespace whose pods ztunnel protects
	configMap     = "cilium-config"
	tunnelPort    = 15008 // of HBONE
	tunnelDomain  = "cluster.local"
)

// Dialect is Cilium's. The zero value is an installation in kube-system.
type Dialect struct {
	Namespace string // of the agent; unset is kube-system
}

var _ meshsync.Dialect = Dialect{}

// Controller implements meshsync.Dialect.
func (Dialect) Controller() string { return Controller }

// Reads implements meshsync.Dialect: a namespace's label decides, and nothing of
// Cilium's own.
func (Dialect) Reads() []schema.GroupVersionKind { return nil }

// settings are what the agents were configured with.
type settings struct {
	MutualAuth bool
	Transport  string // what encrypts packets between nodes; "" is nothing
}

// Mesh implements meshsync.Dialect. It has no roots: there is no certificate that
// a gateway could verify.
func (d Dialect) Mesh(w meshsync.World) meshsync.Mesh {
	ns := d.Namespace
	if ns == "" {
		ns = "kube-system"
	}
	m := meshsync.Mesh{Namespace: ns, Settings: settings{}}
	config := w.ConfigMap(ns, configMap)
	if config == nil {
		return m
	}
	m.Installed = true
	s := settings{MutualAuth: config.Data["mesh-auth-enabled"] == "true" && config.Data["mesh-auth-mutual-enabled"] == "true"}
	switch {
	case config.Data["enable-wireguard"] == "true":
		s.Transport = "WireGuard"
	case config.Data["enable-ipsec"] == "true":
		s.Transport = "IPsec"
	}
	m.Settings, m.Says = s, s.says()
	if s.MutualAuth {
		m.TrustDomain = config.Data["mesh-auth-spiffe-trust-domain"]
		if m.TrustDomain == "" {
			m.TrustDomain = "spiffe.cilium"
		}
		m.TrustDomains = []string{m.TrustDomain}
	}
	return m
}

func (s settings) says() []string {
	says := []string{
		fmt.Sprintf("Pods of namespaces with the label %s=true are reached only inside ztunnel's tunnel, which no load balancer speaks.", labelEnrolled),
	}
	if s.MutualAuth {
		says = append(says, "Cilium's mutual authentication is between agents, out of band: a gateway takes no part in it, its connection stays as it is, and a policy that requires it refuses the gateway.")
	}
	if s.Transport != "" {
		says = append(says, s.Transport+" protects packets between nodes: a gateway outside the cluster sends as to any pod, without that protection on its own way.")
	}
	return says
}

// Inbound implements meshsync.Dialect. Enrolment is by namespace, and there is no
// sign of it at the pod; a pod in its host's network cannot be enrolled.
func (Dialect) Inbound(w meshsync.World, m meshsync.Mesh, _ meshsync.Port, pod *corev1.Pod) meshsync.Inbound {
	in := meshsync.Inbound{Account: workload.Account(pod)}
	ns := w.Namespace(pod.Namespace)
	if ns != nil && ns.Labels[labelEnrolled] == "true" && !pod.Spec.HostNetwork {
		in.Membership, in.Otherwise = meshsync.Meshed, meshsync.Resets
		// Whom the tunnel's certificate names; why it is not reached is then the reason.
		in.Names = []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://" + tunnelDomain + "/ns/" + in.Account.Namespace + "/sa/" + in.Account.Name}}
		in.Blocked = meshsync.ReasonTunnelRequired
		in.Detail = fmt.Sprintf("namespace %s has the label %s=true: ztunnel takes only its own tunnel (HBONE, port %d)", ns.Name, labelEnrolled, tunnelPort)
		in.Fix = &meshsync.Fix{Say: fmt.Sprintf(
			"Take the namespace out of the tunnel (kubectl label namespace %s %s-), which no client of the outside speaks: its pods are then no members, and reached in clear text or by TLS of their own.", ns.Name, labelEnrolled)}
		return in
	}
	in.Membership, in.Plain, in.Otherwise = meshsync.NotMeshed, true, meshsync.Passes
	in.Detail = "Cilium ends no TLS for these pods"
	if s, _ := m.Settings.(settings); s.MutualAuth {
		in.Detail = "Cilium's mutual authentication is out of band and no TLS of the connection"
	}
	return in
}
