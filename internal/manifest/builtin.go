package manifest

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The defaults of built-in kinds are in the API server's Go code and in no
// schema, so they are repeated here: those of the fields that translation can
// see. Source: the API pages of each type, Kubernetes 1.37.

const clientIPTimeout = 10800 // seconds: three hours

func defaultNamespace(n *corev1.Namespace) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

func defaultService(s *corev1.Service) {
	spec := &s.Spec
	spec.Type = cmp.Or(spec.Type, corev1.ServiceTypeClusterIP)
	spec.SessionAffinity = cmp.Or(spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityClientIP:
		defaultAffinity(spec)
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		port.Protocol = cmp.Or(port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == (intstr.IntOrString{}) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	internal := corev1.ServiceInternalTrafficPolicyCluster
	spec.InternalTrafficPolicy = cmp.Or(spec.InternalTrafficPolicy, &internal)
	if spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) == 0 {
		return
	}
	spec.ExternalTrafficPolicy = cmp.Or(spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		spec.AllocateLoadBalancerNodePorts = cmp.Or(spec.AllocateLoadBalancerNodePorts, new(true))
		defaultIngress(s.Status.LoadBalancer.Ingress)
	}
}

func defaultIngress(list []corev1.LoadBalancerIngress) {
	for i := range list {
		if list[i].IP != "" {
			list[i].IPMode = cmp.Or(list[i].IPMode, new(corev1.LoadBalancerIPModeVIP))
		}
	}
}

func defaultAffinity(spec *corev1.ServiceSpec) {
	if spec.SessionAffinityConfig == nil {
		spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{}
	}
	config := spec.SessionAffinityConfig
	if config.ClientIP == nil {
		config.ClientIP = &corev1.ClientIPConfig{}
	}
	config.ClientIP.TimeoutSeconds = cmp.Or(config.ClientIP.TimeoutSeconds, new(int32(clientIPTimeout)))
}

func defaultEndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		port := &s.Ports[i]
		port.Name = cmp.Or(port.Name, new(""))
		port.Protocol = cmp.Or(port.Protocol, new(corev1.ProtocolTCP))
	}
}

// defaultPod also does what the ServiceAccount admission does, for a mesh knows
// a pod by its account, and keeps podIP and podIPs in step as the API does.
func defaultPod(p *corev1.Pod) {
	p.Spec.ServiceAccountName = cmp.Or(p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount, "default")
	p.Spec.DeprecatedServiceAccount = p.Spec.ServiceAccountName
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for _, container := range containers {
			for i := range container.Ports {
				container.Ports[i].Protocol = cmp.Or(container.Ports[i].Protocol, corev1.ProtocolTCP)
			}
		}
	}
	status := &p.Status
	switch {
	case status.PodIP != "" && len(status.PodIPs) == 0:
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	}
}

func defaultSecret(s *corev1.Secret) {
	s.Type = cmp.Or(s.Type, corev1.SecretTypeOpaque)
	for key, value := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[key] = []byte(value)
	}
	s.StringData = nil
}
