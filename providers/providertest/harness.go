package providertest

import (
	"encoding/json"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Harness brings a provider to the suite.
type Harness struct {
	// New makes a cloud account for one test. It is empty of ours and holds some
	// foreign resources, as near to ours as the cloud allows (a rule with a number
	// we would choose, a tag of another cluster).
	New func(testing.TB, Env) World
	// Settings are the provider's settings for gateways in a location.
	Settings func(location string) json.RawMessage
	// Locations are one or more places that the world's provider serves; with two,
	// gateways move between them.
	Locations []string
	// Adopt changes a gateway so that it uses a foreign object of the world, of
	// which only some fields become ours. Nil when the provider adopts nothing.
	Adopt func(World, lbmodel.Gateway) lbmodel.Gateway
	// Fit makes one of the suite's gateways such as the provider can serve, where it
	// refuses what they have: an encoding or a kind of TLS. It depends on nothing but the
	// gateway, and keeps apart what was. Nil when all can be served.
	Fit func(lbmodel.Gateway) lbmodel.Gateway
	// Every is how many of the calls at which a process may end are tried: each one (0
	// and 1), or one in so many, in each way between scenes others. It is for providers
	// whose calls take long.
	Every int
	// First is which of those calls are tried, and which half of the random scenes, so
	// that each run can try others.
	First int
}

// seeds are those of the random scenes that are looked at: all of them, or half of them,
// by First, of a provider whose calls take long.
func (h Harness) seeds() []uint64 {
	var out []uint64
	for seed := range scenes {
		if h.Every <= 1 || (seed+h.First)%2 == 0 {
			out = append(out, uint64(seed))
		}
	}
	return out
}

// seldom tries one call where h tries so many.
func (h Harness) seldom(times int) Harness {
	h.Every = times * max(1, h.Every)
	return h
}

// points are those of n calls that are tried in a way between scenes.
func (h Harness) points(way, n int) []int {
	every := max(1, h.Every)
	var out []int
	for i := (h.First + way) % every; i < n; i += every {
		out = append(out, i)
	}
	return out
}

// Env is what the suite lends to a world.
type Env struct {
	Keyring providers.Keyring // counts what it issues; its key bytes are searched for everywhere
	Now     func() time.Time  // the suite's clock: it stands still unless the suite moves it
}

// World is one cloud account under test.
type World interface {
	// Provider is a new client of the account, with no memory: what a restarted
	// process has.
	Provider() providers.Provider
	// Hook is asked before each call that reaches the cloud's API (reads too) and
	// told after it took effect; nil removes it. It may be called concurrently.
	Hook(Hook)
	// Dump is everything in the account, ours or not.
	Dump() []Object
	// Answer is which healthy targets could get such a request now, by what the
	// cloud (not the model) says.
	Answer(Probe) []lbmodel.Target
	// Settle lets the cloud finish what it does on its own: addresses come,
	// endpoints become healthy, reads catch up.
	Settle()
}

// Probe is a plain GET that a client sends to a gateway.
type Probe struct {
	Owner lbmodel.Owner
	Port  int32
	Host  string
	Path  string
}

// Hook sees every call to the cloud's API.
type Hook interface {
	// Before is asked before a call is carried out.
	Before(Call) Fault
	// After is told when the call took effect, before its reply is sent.
	After(Call)
}

// Call is one call to the cloud's API.
type Call struct {
	Name  string // the API's own: CreateRule, DescribeRules
	Write bool   // it changes something
}

// Fault is what shall become of a call. The zero value is nothing: it works.
type Fault struct {
	Kind FaultKind
	Code lbmodel.Code // of Refuse and LoseReply; the world answers the native error that means it
}

// FaultKind is how a call goes wrong.
type FaultKind uint8

// The faults.
const (
	Works     FaultKind = iota
	Refuse              // fails without an effect
	LoseReply           // takes effect, then fails
	Hang                // has no effect and no reply until the call's context ends
	Stale               // a read answers as before the last writes
)

// Object is one thing in a cloud account.
type Object struct {
	Name string // unique in the account
	// Foreign is the part that is not ours to change, as text: everything of a
	// foreign object, the fields we don't own of an adopted one, "" for our own.
	Foreign string
	// Text is all of the object, as text; searched for keys.
	Text string
}
