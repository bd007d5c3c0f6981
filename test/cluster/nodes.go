package cluster

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/client-go/kubernetes"

	"gatehouse.dev/test/cluster/kubelet"
	"gatehouse.dev/test/cluster/nodeport"
)

// nodes starts the kubelet of all nodes and what serves their node ports.
func (c *Cluster) nodes(ctx context.Context) error {
	var list []kubelet.Node
	var all []netip.Addr
	for n := 1; n <= c.config.Nodes; n++ {
		node := kubelet.Node{Name: fmt.Sprintf("node-%d", n), Addresses: nodeAddresses(n)}
		for _, a := range node.Addresses {
			if err := AddAddress(a); err != nil {
				return err
			}
		}
		list = append(list, node)
		all = append(all, node.Addresses...)
	}
	serving, err := c.ca.Server(all)
	if err != nil {
		return err
	}
	cert, err := serving.TLS()
	if err != nil {
		return err
	}
	client, err := c.user("kubelet")
	if err != nil {
		return err
	}
	c.kubelet, err = kubelet.Start(ctx, kubelet.Config{
		Client: client, Nodes: list, Images: c.config.Images, Dir: c.path("kubelet"),
		Pods: families(Pods), Server: Server, Port: kubeletPort,
		Serving: cert, ClientCA: c.ca.PEM, Log: c.config.Log.With("part", "kubelet"),
	})
	if err != nil {
		return err
	}
	c.stop = append(c.stop, c.kubelet.Stop)
	return c.nodePorts(ctx, list)
}

func (c *Cluster) nodePorts(ctx context.Context, list []kubelet.Node) error {
	client, err := c.user("kube-proxy")
	if err != nil {
		return err
	}
	addresses := map[string][]netip.Addr{}
	for _, n := range list {
		addresses[n.Name] = n.Addresses
	}
	p, err := nodeport.Start(ctx, nodeport.Config{Client: client, Nodes: addresses, Log: c.config.Log.With("part", "nodeport")})
	if err != nil {
		return err
	}
	c.stop = append(c.stop, p.Stop)
	return nil
}

// user is a client of somebody with all rights, known by name in the audit log.
func (c *Cluster) user(name string) (kubernetes.Interface, error) {
	r, err := c.As(name, masters)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(r)
}

// NodeAddresses are the addresses of a node, from 1, IPv4 first.
func (c *Cluster) NodeAddresses(n int) []netip.Addr { return nodeAddresses(n) }
