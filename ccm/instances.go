package ccm

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudapi "k8s.io/cloud-provider/api"
)

// instances is cloudprovider.InstancesV2 over a cloud's machines.
type instances struct{ Cloud }

// InstanceExists implements cloudprovider.InstancesV2.
func (i instances) InstanceExists(_ context.Context, node *corev1.Node) (bool, error) {
	_, ok := i.machine(node)
	return ok, nil
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (i instances) InstanceShutdown(_ context.Context, node *corev1.Node) (bool, error) {
	m, ok := i.machine(node)
	if !ok {
		return false, cloudprovider.InstanceNotFound
	}
	return m.Off, nil
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (i instances) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, ok := i.machine(node)
	if !ok {
		return nil, cloudprovider.InstanceNotFound
	}
	out := &cloudprovider.InstanceMetadata{ProviderID: i.Name + "://" + m.Name, InstanceType: m.Type, Zone: m.Zone, Region: m.Region}
	if len(m.Addresses) == 0 {
		m.Addresses = ownAddresses(node)
	}
	for _, a := range m.Addresses {
		out.NodeAddresses = append(out.NodeAddresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
	}
	return out, nil
}

func (i instances) machine(node *corev1.Node) (Machine, bool) {
	return i.Machine(node.Name, node.Spec.ProviderID)
}

// ownAddresses are those that a node's kubelet was given, or else those it found.
func ownAddresses(node *corev1.Node) []netip.Addr {
	texts := []string{node.Annotations[cloudapi.AnnotationAlphaProvidedIPAddr]}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && texts[0] == "" {
			texts = append(texts, a.Address)
		}
	}
	var out []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}
