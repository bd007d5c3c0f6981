package serve_test

import (
	"fmt"

	"gatehouse.dev/fake/gcpapi/serve"
)

// A URL map answers a request; under another position of a switch it may answer in
// another way.
func Example() {
	config := serve.Config{Flavour: serve.RegionalExternal, Scheme: "http", URLMap: serve.URLMap{
		DefaultService: "global/backendServices/other",
		HostRules:      []serve.HostRule{{Hosts: []string{"shop.example.com"}, PathMatcher: "shop"}},
		PathMatchers:   []serve.PathMatcher{{Name: "shop", DefaultService: "projects/p/global/backendServices/shop"}},
	}}
	request := serve.Request{Method: "GET", Host: "shop.example.com:8080", Path: "/"}
	for _, s := range []serve.Switches{{}, {HostPort: serve.Compared}} {
		a, err := config.Answer(request, s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(a.Rule, "to", a.Forward.Shares[0].Service)
	}
	// Output:
	// path matcher shop, default to global/backendServices/shop
	// default to global/backendServices/other
}
