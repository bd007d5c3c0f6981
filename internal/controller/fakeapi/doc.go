// Package fakeapi is an API server for tests of what writes to one: objects in
// memory behind real HTTP, with resource versions, generations, the status
// subresource, JSON and merge patches, server-side apply with managed fields,
// preconditions, finalizers, and faults on demand. It stores what it is sent and
// answers as the API server would; it expects nothing.
//
// It is no API server: it has no watches, no lists, no defaulting, no admission,
// and validates nothing but the fields that it stores. Start with [New] and hand
// the [Server] to net/http/httptest.
package fakeapi
