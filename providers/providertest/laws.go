package providertest

import (
	"fmt"
	"testing"
)

// Law is one of the eleven.
type Law struct {
	Number int
	Name   string
	Why    string // printed when it is broken
	Check  func(testing.TB, Harness)
}

// Laws are the eleven, in order.
func Laws() []Law {
	return []Law{
		{1, "Stable", "after an apply the next plan is empty and makes no call, and a restart changes nothing and issues nothing: " +
			"Observe reads exactly the fields that Compile states, Place keeps what is there, and what must be renewed says when", stable},
		{2, "Deterministic", "the same gateways, in whatever order, compile to the same resources and give the same plan: " +
			"plans can be reviewed, and compared with what was approved", deterministic},
		{3, "Convergent", "b looks the same whether it was reached from a or from nothing: " +
			"Compile knows no history, and nothing of a is left behind", convergent},
		{4, "Crash-safe", "a process that dies at any call, or never hears its reply, is followed by one that finishes the work: " +
			"nothing is doubled, nothing is leaked", crashSafe},
		{5, "Unbroken", "a route that is in both a and b keeps a healthy backend through every call between them, " +
			"except where a step's Impact says so, and also when the process ends on the way; and a policy can hold those steps; " +
			"a rule whose backends cannot be reached yet stands in its place, so that its requests go to nobody else", unbroken},
		{6, "Ours only", "what others made, and the fields of adopted objects that are not ours, stay as they are", oursOnly},
		{7, "Clean", "when the last gateway goes nothing of ours is left in the account, whatever went wrong on the way", clean},
		{8, "Honest", "what Offers omits is refused with a finding and without a call, and what it names is never refused later", honest},
		{9, "Silent", "no byte of a private key is in a plan, a log, an error, an event or what the cloud shows", silent},
		{10, "Patient", "a provider ends with its context, waits when it is throttled, survives hanging calls, " +
			"reads all pages, is not misled by reads that come late, remembers (if it is a Marker) since when something is not wanted, " +
			"and lets no root go before its time and no certificate stay after it", patient},
		{11, "Fast path", "Endpoints equals that part of Compile, a change of endpoints changes nothing else, and " +
			"endpoints that nobody knows stay; they, renewed certificates and added roots never wait for approval", fastPath},
	}
}

// Run runs the eleven laws against a provider, each as a subtest that says what
// it is for when it fails.
func Run(t *testing.T, h Harness) {
	for _, law := range Laws() {
		t.Run(fmt.Sprintf("%02d_%s", law.Number, law.Name), func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("Law %d, %s: %s.", law.Number, law.Name, law.Why)
				}
			})
			law.Check(t, h)
		})
	}
}
