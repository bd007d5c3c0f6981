// Package readiness lets pods be ready only when the load balancers in front of
// them say so. A pod asks for it with a readiness gate that names a Service of its
// namespace:
//
//	spec: {readinessGates: [{conditionType: service.gatehouse.dev/NAME}]}
//
// A rolling update then keeps an old pod until its successor gets requests.
//
//   - The condition becomes True when every gateway of ours whose load balancer holds
//     the Service's endpoints reports the pod's address healthy, by a look at the
//     cloud that began after the pod was a target everywhere: what was said of the
//     address before is about another pod.
//   - A gateway whose load balancer does not hold the endpoints yet does not count: it
//     sends no pod of the Service a request, and may never come to be (a quota, a plan
//     that nobody approves). With no gateway that counts the condition is True, and its
//     message says so. Nor does one count whose provider takes fewer targets.
//   - Once True it stays True for that pod and that Service. A load balancer sends
//     nothing to a target that fails its check, and needs no help; were the pods not
//     ready as well, a fault of the load balancer, or of the way to it, would take the
//     Service away inside the cluster too.
//   - The condition says which Service it was about, by UID, in its message. Of a
//     Service that was deleted and made again nothing is known: it starts anew.
//
// The other half of the bargain is translation's (translate.GatePrefix): a pod that
// lacks nothing but the gate is a target already.
//
// The package never looks at a cloud, never caches, and writes nothing but its own
// conditions. Start with [Decide]; [Gates] does the writing.
package readiness
