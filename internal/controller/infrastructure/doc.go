// Package infrastructure makes a Gateway's load balancer findable from inside the
// cluster: for each Gateway one Service without a selector, which carries the
// address or name of the load balancer and the labels and annotations that the
// Gateway's spec.infrastructure asks for.
//
// With IP addresses the Service is headless, and an EndpointSlice per family holds
// them: the cluster's DNS answers with the load balancer itself, no traffic takes a
// detour. A cluster refuses loopback and link-local addresses in EndpointSlices, so
// these are left out. With a host name only it is an ExternalName. Without an
// address yet it is headless and empty.
//
// All of it is owned by the Gateway (ownerReferences, so it goes with it) and
// applied server-side. Never is an object touched that the Gateway does not own:
// a taken name is an [ErrNameTaken]. What is as it should be is not written.
// Routes cannot send to the Service: translation takes no slice of ours for a
// backend's. Start with [Services].
package infrastructure
