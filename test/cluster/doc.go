// Package cluster is a real Kubernetes for tests, on one machine and without
// containers: etcd, kube-apiserver and kube-controller-manager as processes, a
// kubelet that runs each pod as processes in a network namespace of its own, and
// a stand-in for the part of kube-proxy that load balancers see. A test program
// calls [Main] from TestMain and lives, with all of it, in namespaces of its own.
//
//	func TestMain(m *testing.M) { cluster.Main(m) }
//
//	func TestThing(t *testing.T) {
//		c := cluster.Start(t, cluster.Config{})
//		c.Apply(t, yaml)
//		…
//	}
//
// Pods have addresses that the test can dial; gateways may listen on every
// address of [Gateways]; the API server is at [Server]. There is no ClusterIP, no
// DNS and no scheduler: a pod goes to the node with the fewest.
//
// It never touches the machine's own network, mounts or processes, sends nothing
// to any other host, and is not for production: etcd does not sync, and the
// kubelet trusts its pods. One cluster runs at a time in a program, since the
// addresses are fixed. The servers come from test/kube (`make kube`). Start with
// [Start].
package cluster
