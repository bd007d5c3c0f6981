// Package kubeca has gateways' certificates signed through objects of a cluster:
// Kubernetes' CertificateSigningRequest with a signer of one's own, and
// cert-manager's CertificateRequest. For meshes that trust such a CA, and have none
// that outsiders may ask.
//
// A request is an object that somebody approves and somebody signs. Until then it is
// Pending, and is looked at again with the same key. The package never approves, never
// sees a private key, and does not wait. Start with [NewCSR] or [NewCertManager].
package kubeca
