// Package nodeport is what load balancers see of kube-proxy: the node ports of
// Services, over TCP and UDP on every address of every node, and the health
// check node ports of those with externalTrafficPolicy Local. It proxies in user
// space, so a pod sees the node's address and not the client's.
//
// It serves no cluster addresses, and the bytes that it carries are the pods' to
// understand. Start with [Start].
package nodeport
