package netservices

import (
	"fmt"
	"regexp"
	"strings"

	"gatehouse.dev/fake/gcpapi/aip"
	"gatehouse.dev/fake/gcpapi/schema"
	"gatehouse.dev/fake/gcpapi/store"
)

// Host is the service's.
const Host = "networkservices.googleapis.com"

// computeHost is the service of proxies and backend services.
const computeHost = "compute.googleapis.com"

// New puts the service into a project.
func New(shelf *store.Store) store.Service {
	return aip.New(shelf, aip.Service{API: schema.NetworkServices(), Types: "google.cloud.networkservices.v1", Kinds: []aip.Kind{routes()}})
}

func routes() aip.Kind {
	return aip.Kind{
		ID: "tlsRouteId", Mutable: []string{"description", "gateways", "labels", "meshes", "rules", "targetProxies"},
		Kind: &store.Kind{
			Host: Host, Collection: "tlsRoutes", Noun: "tls_route", Schema: "TlsRoute",
			References: []store.Reference{
				{Field: proxies, To: []string{computeHost + "/targetTcpProxies"}, Near: true},
				{Field: services, To: []string{computeHost + "/backendServices"}, Near: true},
			},
			Default: complete, Check: check, Show: show,
		},
		Prepare: func(o store.Object) { rewrite(o, scoped) },
	}
}

// The fields that name resources of Compute Engine.
const (
	proxies  = "targetProxies[]"
	services = "rules[].action.destinations[].serviceName"
)

// scoped turns a location of this API into a scope of Compute Engine.
func scoped(reference string) string {
	before, after, found := strings.Cut(reference, "/locations/")
	if !found {
		return reference
	}
	location, rest, _ := strings.Cut(after, "/")
	if location == "global" {
		return before + "/global/" + rest
	}
	return before + "/regions/" + location + "/" + rest
}

// located is the reverse.
func located(reference string) string {
	reference = strings.Replace(reference, "/global/", "/locations/global/", 1)
	return strings.Replace(reference, "/regions/", "/locations/", 1)
}

// rewrite changes the form of references.
func rewrite(o store.Object, form func(string) string) {
	for _, field := range []string{proxies, services} {
		store.Visit(o, field, func(_ string, value any) any {
			text, _ := value.(string)
			return form(text)
		})
	}
}

// show has references as the API documents them: projects/p/locations/l/….
func show(_ store.View, _ store.Name, o store.Object) { rewrite(o, located) }

// complete writes the link to the resource itself.
func complete(_ store.View, n store.Name, o store.Object) {
	o["selfLink"] = "https://networkservices.googleapis.com/v1/" + n.Path()
}

// The limits of a TlsRoute, over all matches.
const (
	mostNames     = 100
	mostProtocols = 5
)

var sni = regexp.MustCompile(`^(\*\.)?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func check(_ store.View, _ store.Name, _, o store.Object) error {
	if len(store.List(o, "gateways"))+len(store.List(o, "meshes")) > 0 {
		return &store.Error{Status: 501, Reason: store.Unimplemented, Message: "gateways and meshes of a TlsRoute are not emulated"}
	}
	rules := store.List(o, "rules")
	if len(rules) == 0 {
		return store.Bad("Invalid rules: at least one is required.")
	}
	names, protocols := 0, 0
	for i, one := range rules {
		rule, _ := one.(store.Object)
		s, a, err := checkRule(fmt.Sprintf("rules[%d]", i), rule)
		if err != nil {
			return err
		}
		names, protocols = names+s, protocols+a
	}
	switch {
	case names > mostNames:
		return store.Bad("Invalid rules: a route can have %d SNI hosts, not %d.", mostNames, names)
	case protocols > mostProtocols:
		return store.Bad("Invalid rules: a route can have %d ALPN protocols, not %d.", mostProtocols, protocols)
	}
	return nil
}

// checkRule counts the names and protocols of a rule.
func checkRule(at string, rule store.Object) (names, protocols int, err error) {
	matches := store.List(rule, "matches")
	if len(matches) == 0 {
		return 0, 0, store.Bad("Invalid %s.matches: at least one is required.", at)
	}
	for i, one := range matches {
		match, _ := one.(store.Object)
		hosts, offered := store.List(match, "sniHost"), store.List(match, "alpn")
		if len(hosts)+len(offered) == 0 {
			return 0, 0, store.Bad("Invalid %s.matches[%d]: at least one of sni_host and alpn is required.", at, i)
		}
		for _, host := range hosts {
			if text, _ := host.(string); !sni.MatchString(text) {
				return 0, 0, store.Bad("Invalid %s.matches[%d].sni_host: '%s': partial wildcards are not supported.", at, i, text)
			}
		}
		names, protocols = names+len(hosts), protocols+len(offered)
	}
	if len(store.List(rule, "action.destinations")) == 0 {
		return 0, 0, store.Bad("Invalid %s.action.destinations: at least one is required.", at)
	}
	return names, protocols, nil
}
