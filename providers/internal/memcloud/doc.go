// Package memcloud is a cloud small enough to read in one sitting: a strict
// service in memory and the provider over it. It is what Account and the laws are
// tested against, and it can be told to have one of several bugs, so that the
// laws are seen to fail. It never leaves the tests; the fake cloud that people
// run is fake/cloud. Start with [New].
package memcloud
