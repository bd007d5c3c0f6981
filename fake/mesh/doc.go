// Package mesh holds doubles of service meshes, on real sockets of this machine:
// what a load balancer outside a cluster meets when it wants to join one.
//
//   - ca: a mesh's roots, intermediates and leaves, and every way in which they rotate
//   - tokens: ServiceAccount tokens, and who they are of
//   - inbound: the proxy of a pod in front of an application
//   - istiod: Istio's certificate service
//   - linkerdid: Linkerd's identity service, behind its own proxy
//   - spiffe: the SPIFFE Workload API and a bundle endpoint
//   - consul: Consul's Connect CA, over gRPC and HTTP
//
// Each is a real server that really verifies, and breaks when it is told to. None
// of them reads a cluster, runs a mesh's own code, or retries anything. Start with
// gatehouse.dev/fake/mesh/inbound's Start.
package mesh
