package ccm

import (
	cloudprovider "k8s.io/cloud-provider"
)

// cloud is what the framework asks for. Without a balancer it is only a name: a
// manager that runs nothing but our controllers needs none, but the framework
// needs something to start.
type cloud struct {
	name      string
	balancer  cloudprovider.LoadBalancer // nil is none
	instances cloudprovider.InstancesV2  // nil is none
}

// Initialize implements cloudprovider.Interface.
func (cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// LoadBalancer implements cloudprovider.Interface.
func (c cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return c.balancer, c.balancer != nil
}

// InstancesV2 implements cloudprovider.Interface.
func (c cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return c.instances, c.instances != nil
}

// Instances implements cloudprovider.Interface: InstancesV2 is asked.
func (cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements cloudprovider.Interface: InstancesV2 is asked.
func (cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters implements cloudprovider.Interface.
func (cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes implements cloudprovider.Interface: pods are reached as the network has it.
func (cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

// ProviderName implements cloudprovider.Interface.
func (c cloud) ProviderName() string { return c.name }

// HasClusterID implements cloudprovider.Interface: every owner has the cluster's name.
func (cloud) HasClusterID() bool { return true }
