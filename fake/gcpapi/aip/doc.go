// Package aip is what Google's resource-oriented APIs have in common, as their design
// rules say (https://google.aip.dev): the standard methods get, list, create, patch and
// delete on the emulator's store, locations, long-running operations with their
// metadata, errors as google.rpc.Status, field masks, and enums as numbers for clients
// that want them so.
//
// It knows no kind: an API gives it a [Service] with its kinds and their rules. Start
// with [New].
package aip
