// Package tagging emulates the read side of the Resource Groups Tagging API: a
// secondary index over all resources' tags, which may lag behind them. It is
// spoken to in JSON 1.1 and in Smithy RPC v2 CBOR, the newer SDKs' default.
//
// It changes no tag. Start with [New].
package tagging
