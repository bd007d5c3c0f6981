package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Discover asks the server which kinds it serves, and remembers it for Resource.
// What it cannot tell is an error, and then nothing changes: a server that is slow
// to start has not lost its kinds.
func (c *Clients) Discover(ctx context.Context) error {
	found := map[schema.GroupVersion][]metav1.APIResource{}
	for _, gv := range groupVersions(c.kinds) {
		resources, err := c.resources(ctx, gv)
		if err != nil {
			return fmt.Errorf("discovery of %s: %w", gv, err)
		}
		found[gv] = resources
	}
	served := map[string]Resource{}
	for _, k := range c.kinds {
		for _, version := range k.Versions {
			gv := schema.GroupVersion{Group: k.Group, Version: version}
			if as, there := k.servedAs(found[gv]); there {
				k.Resource = as.Name
				served[k.Name] = Resource{Kind: k, Version: version, client: c.rest[gv], dynamic: c.Dynamic, codec: c.codec}
				break
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served = served
	return nil
}

// resources are those of a version, none where the version is not served.
func (c *Clients) resources(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	var list metav1.APIResourceList
	err := c.discovery.RESTClient().Get().AbsPath(path).Do(ctx).Into(&list)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list.APIResources, nil
}
