// Package demo is `gatehouse demo`: the main job, seen in twenty seconds on one
// machine. It starts backends of its own, two of them in a pretended STRICT mesh,
// reads examples/shop, shows model, plan and apply, sends real requests, and
// rotates the mesh's CA twice under load.
//
// It uses the same translation, engine, fake cloud and data plane as every other
// command; only the backends, the mesh's CA and the load are the demo's own.
// Start with [Run].
package demo
