package schema

import (
	"embed"
	"encoding/json/v2"
	"fmt"
	"sync"
)

//go:embed definitions/*.json
var definitions embed.FS

var (
	compute            = sync.OnceValue(func() *API { return load("compute") })
	certificateManager = sync.OnceValue(func() *API { return load("certificatemanager") })
	networkSecurity    = sync.OnceValue(func() *API { return load("networksecurity") })
	networkServices    = sync.OnceValue(func() *API { return load("networkservices") })
)

// Compute is compute v1.
func Compute() *API { return compute() }

// CertificateManager is certificatemanager v1.
func CertificateManager() *API { return certificateManager() }

// NetworkSecurity is networksecurity v1.
func NetworkSecurity() *API { return networkSecurity() }

// NetworkServices is networkservices v1.
func NetworkServices() *API { return networkServices() }

// load reads what is embedded: that it can be read is a test of this package.
func load(name string) *API {
	text, err := definitions.ReadFile("definitions/" + name + ".json")
	if err != nil {
		panic(err)
	}
	api := &API{}
	if err := json.Unmarshal(text, api); err != nil {
		panic(fmt.Sprintf("definitions of %s: %v", name, err))
	}
	api.index()
	return api
}
