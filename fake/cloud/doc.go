// Package cloud is a cloud provider without a cloud: a strict service in memory
// (or in a state directory), and the provider over it. It exists to run Gatehouse
// on one machine, to test every law that a real provider must keep, and to show
// how a provider is written.
//
// The two layers meet only at the service's public API:
//
//   - [Cloud] is the service. It has calls (Create, Update, Delete, Get, Find,
//     List), hands out handles, keeps tags, and refuses what real clouds refuse:
//     dangling references, objects in use, taken slots, unknown fields, changes of
//     immutable fields, too many of anything. Some of its calls finish later:
//     addresses come, endpoints become healthy.
//   - [Provider] translates between lbmodel and those calls, and implements
//     providers.Provider: Offers, Compile, Endpoints, Place, Observe, Apply.
//
// The service keeps private keys in memory only. They are never written to the
// state directory, a dump, a log or an error; after a restart [Cloud.Unlock] reads
// them again. It never serves traffic: the data plane programs itself with what
// [Cloud.Serving] says the cloud holds.
//
// Start with [Provider] to learn how a provider works, and with [New] to run one.
package cloud
