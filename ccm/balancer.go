package ccm

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"

	"gatehouse.dev/lbmodel"
)

// again is when the service controller shall ask again for a load balancer that
// the cloud is still making.
const again = 2 * time.Second

// services is the part of the controller that load balancers of Services need.
type services interface {
	EnsureService(context.Context, *corev1.Service) (*corev1.LoadBalancerStatus, error)
	ForgetService(context.Context, *corev1.Service) error
}

// balancer is cloudprovider.LoadBalancer over the controller: a Service that the
// stock service controller is responsible for takes the same way as a Gateway.
// Nodes are those that the controller watches, by the same rules, so the ones
// handed over here are only a sign that they have changed.
type balancer struct {
	// services waits until the controller runs.
	services func(context.Context) (services, error)
}

// GetLoadBalancer implements cloudprovider.LoadBalancer, without a call: the service
// controller sets its finalizer before it first asks for a load balancer, and takes
// it away when EnsureLoadBalancerDeleted has looked at the cloud.
func (balancer) GetLoadBalancer(_ context.Context, _ string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	return &service.Status.LoadBalancer, helpers.HasLBFinalizer(service), nil
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer. It is for people: what
// the cloud calls its resources is the provider's.
func (balancer) GetLoadBalancerName(_ context.Context, cluster string, service *corev1.Service) string {
	return lbmodel.Owner{Cluster: cluster, Kind: "Service", Namespace: service.Namespace, Name: service.Name, UID: string(service.UID)}.String()
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (b balancer) EnsureLoadBalancer(ctx context.Context, _ string, service *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	if service.Spec.LoadBalancerClass != nil { // compared with ==: never wrapped
		return nil, cloudprovider.ImplementedElsewhere
	}
	s, err := b.services(ctx)
	if err != nil {
		return nil, err
	}
	status, err := s.EnsureService(ctx, service)
	if lbmodel.CodeOf(err) == lbmodel.CodePending {
		return nil, api.NewRetryError(err.Error(), again)
	}
	return status, err
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (b balancer) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	_, err := b.EnsureLoadBalancer(ctx, cluster, service, nodes)
	return err
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b balancer) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *corev1.Service) error {
	s, err := b.services(ctx)
	if err != nil {
		return err
	}
	return s.ForgetService(ctx, service)
}
