// Package accounts keeps the ServiceAccounts by which meshes know gateways, in the
// controller's own namespace, and mints their tokens for meshes' CAs.
//
// It never touches a ServiceAccount that it did not make, never keeps a token, and
// never looks outside of its namespace. Start with [New].
package accounts
