package conformance

// What the suite is run against.
const (
	className       = "gatehouse-conformance"
	controllerName  = "gatehouse.dev/fake"
	addressPool     = "198.18.0.0/16"
	usableAddress   = "198.18.255.10"
	unusableAddress = "203.0.113.1" // of no pool
)

// classManifest is the class under test. Endpoints without a pod of their own
// are allowed because the suite writes EndpointSlices itself
// (HTTPRouteServiceTypes).
const classManifest = `
apiVersion: v1
kind: Namespace
metadata: {name: gatehouse-system}
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: conformance, namespace: gatehouse-system}
spec:
  foreignEndpoints: Allow
  fake: {addressPool: [` + addressPool + `]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: ` + className + `}
spec:
  controllerName: ` + controllerName + `
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: conformance, namespace: gatehouse-system}
`
