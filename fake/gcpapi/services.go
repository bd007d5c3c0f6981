package gcpapi

import (
	"gatehouse.dev/fake/gcpapi/certmanager"
	"gatehouse.dev/fake/gcpapi/compute"
	"gatehouse.dev/fake/gcpapi/netsec"
	"gatehouse.dev/fake/gcpapi/netservices"
	"gatehouse.dev/fake/gcpapi/store"
)

// services are the APIs that there are.
func services(shelf *store.Store, config Config) []store.Service {
	return []store.Service{
		compute.New(shelf, compute.Config{World: config.World, Now: config.Clock.Now, Observed: config.Observed, URLMapBytes: config.URLMapBytes}),
		certmanager.New(shelf, certmanager.Config{RefuseUnfit: config.Undocumented.RefuseUnfit}),
		netsec.New(shelf),
		netservices.New(shelf),
	}
}
