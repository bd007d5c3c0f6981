// Package demo is `gatehouse demo`: the main job, seen in twenty seconds on one
// machine. It starts backends of its own, reads examples/shop, shows model, plan and
// apply, sends real requests, and has a mesh rotate its CA twice under load.
//
// Two of the backends are in a pretended Istio: sidecars that are STRICT, and an
// istiod that signs. Where the example has a BackendTLSPolicy and a certificate made
// by hand, the demo has a MeshBinding, and the gateway asks the mesh for its own. It
// uses the same translation, engine, fake cloud and data plane as every other
// command; only the backends, the mesh and the load are the demo's own. Start with
// [Run].
package demo
