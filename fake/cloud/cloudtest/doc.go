// Package cloudtest brings a fake cloud to the laws of package providertest: with
// every trait on, small pages, and other people's objects in it. Tests of the cloud
// itself and of clients that reach it by other ways share it. It sees the cloud's
// public API only, and is for tests only. Start with [Harness].
package cloudtest
