package gcpapi

import (
	"time"

	"gatehouse.dev/fake/gcpapi/clock"
	"gatehouse.dev/fake/gcpapi/compute"
	"gatehouse.dev/fake/gcpapi/store"
)

// Config says what the project is like. Its zero value is the project test-project with
// a small network, without quotas, in which everything happens at once.
type Config struct {
	Projects []store.Project // the first one is the network's; none is test-project
	Clock    clock.Clock     // nil is the wall clock
	World    compute.World   // without regions: compute.Small
	Times    store.Times
	// Limits are quotas by metric; [Quotas] has a new project's.
	Limits map[string]int
	// Rates are calls a minute by quota group, in all or, with _per_region, by region;
	// [Rates] has those that Google publishes.
	Rates map[string]int
	// URLMapBytes is the largest URL map. 0 is what the page on quotas said in April 2026,
	// 64 KB and for internal load balancers 128 KB; a newer one has 1 MB.
	URLMapBytes  int
	Undocumented Undocumented
	// Admit tells whether a bearer token ("" is none) is let in; nil lets everybody in.
	Admit func(token string) bool
	// Permit tells whether callers may do something, as IAM would: the permission
	// (compute.backendServices.create) and what it is about. Nil lets them do everything.
	Permit func(caller, permission string, about store.Name) bool
	// Disabled are APIs (compute) that the project has not enabled.
	Disabled []string
	// Changed is called after every change that took effect. It may call the server.
	Changed func()
	// Observed is what the serving part sees of an endpoint's health; nil, or false,
	// leaves it to the clock. It must not call the server.
	Observed func(group, backendService store.Name, endpoint store.Object) (state string, ok bool)
}

// Undocumented takes a side where Google's documentation does not say what happens.
type Undocumented struct {
	// LateErrors: references that are missing or not ready, use by others, and quotas are
	// told by the operation; otherwise by the call.
	LateErrors bool
	// EarlyReads: reads see what an operation does while it still runs.
	EarlyReads bool
	// LoosePatches: a PATCH of a resource with a fingerprint may come without it.
	LoosePatches bool
	// RefuseUnfit: a trust config with an authority that could never validate anything is
	// refused; otherwise the authority is only not used.
	RefuseUnfit bool
}

// Lifelike are times as one sees them with Google Cloud.
func Lifelike() store.Times {
	return store.Times{
		Operations: map[string]time.Duration{
			"": 5 * time.Second, "forwardingRules": 20 * time.Second, "networkEndpointGroups": 3 * time.Second, "backendServices": 12 * time.Second,
			"trustConfigs": 10 * time.Second, "certificates": 4 * time.Second, "backendAuthenticationConfigs": 4 * time.Second,
		},
		Read: 200 * time.Millisecond, Propagation: 30 * time.Second, Linger: time.Second,
	}
}

// Quotas are those of a new project.
func Quotas() map[string]int { return compute.Quotas() }

// Rates are calls a minute that Google publishes.
func Rates() map[string]int {
	rates := compute.Rates()
	rates["certificatemanager_requests"] = 300
	return rates
}

func (c Config) filled() Config {
	if len(c.Projects) == 0 {
		c.Projects = []store.Project{{ID: "test-project", Number: "123456789012"}}
	}
	if c.Clock == nil {
		c.Clock = clock.Wall{}
	}
	if len(c.World.Regions) == 0 {
		c.World = compute.Small()
	}
	return c
}
