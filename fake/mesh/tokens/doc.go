// Package tokens stands in for the API server's TokenRequest and TokenReview: it
// hands out tokens for ServiceAccounts and says whose a token is. CAs are given
// [Store.Check], or any other [Check].
//
// Tokens here are random text, no JWTs, and nothing reads them but the store. It
// never prints one. Start with [NewStore].
package tokens
