// Package inbound is the proxy of a pod as a load balancer outside the mesh meets
// it: which connections it ends with TLS, which it passes on unread, which it
// resets, whose certificates it takes, and what the application then sees.
//
//	pod, err := inbound.Start(inbound.Config{
//		Proxy: inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP},
//		Leaf:  leaf,       // from fake/mesh/ca
//		Roots: m.Roots(),
//	})
//	defer pod.Close()
//	… dial pod.Addr() …
//	pod.Become(inbound.Istio{Mode: inbound.Permissive}) // open connections go on
//
// A [Proxy] is a plain value that says, for what is known of a connection before
// it is answered, which [Chain] takes it: [Istio], [IstioGateway], [Ambient],
// [Linkerd], [Consul], [Kuma] and [Plain]. A [Pod] does what the chain says, on
// real sockets, in front of a real application, and keeps count.
//
// A pod has four addresses. Addr is the application's port, as the outside sees
// it. ProxyAddr is the proxy's own port: 15008 of an ambient pod, 20000 of Consul,
// 4143 of Linkerd. HealthAddr is where the proxy tells its health: 15021 and 15020
// of Istio, 4191 of Linkerd. AppAddr is the application itself, past the proxy, as
// for excluded ports.
//
// What differs from a real proxy: sessions are never resumed, so every connection
// shows its certificate, and a change of mode does not drain old connections. It
// never configures itself from a cluster and never speaks to a CA: leaves and
// roots are handed in. Start with [Start].
package inbound
