// Package v1alpha1 holds Gatehouse's own API: what an operator says about a
// class of gateways or about one ([GatewayParameters]), which mesh the gateways
// join ([MeshBinding]), and a plan that waits for a person ([GatewayPlan]).
//
// Everything that Gateway API itself can say stays there: addresses, listeners,
// certificates, labels and client certificates have no second home here. The
// types hold no logic and never a secret; their rules (defaults, enumerations,
// bounds, CEL) are in the generated CRDs of deploy/crds, which hold for files as
// they do in a cluster. Start with [GatewayParameters].
//
// +kubebuilder:object:generate=true
// +groupName=gatehouse.dev
package v1alpha1
