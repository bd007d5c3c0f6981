// Package providertest is the eleven laws that every provider keeps, as one test
// suite. A provider's own test is a [Harness] and a call of [Run]:
//
//	func TestLaws(t *testing.T) {
//		providertest.Run(t, providertest.Harness{New: newWorld, Settings: settings, Locations: []string{"east"}})
//	}
//
// The suite sees a provider from outside only: through providers.Account, through
// the model, and through a [World] that shows what the cloud holds and lets calls
// fail. It never looks into a Spec, and it never waits: its clock moves when
// somebody sleeps on it. Random scenes come from fixed seeds, so a failure is the
// same in every run and prints the scene that it needs.
//
// It tests no performance and no provider's own choices (names, tags, numbers):
// those are the provider's golden files. Start with [Harness].
package providertest
