// Package certmanager is Certificate Manager v1 as load balancers use it: trust configs,
// certificates (self-managed, and managed ones that come by themselves), certificate
// maps with their entries, and DNS authorizations.
//
// It checks what the API checks: PEM, sizes, counts, keys that fit, scopes, what is
// immutable and what is in use. Private keys are kept and never returned. It issues
// nothing from outside: managed certificates stay PROVISIONING. Start with [New].
package certmanager
