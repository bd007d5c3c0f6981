package compute

import (
	"gatehouse.dev/fake/gcpapi/store"
)

// Other services that resources of this one refer to.
const (
	certificates = "certificatemanager.googleapis.com"
	security     = "networksecurity.googleapis.com"
	services     = "networkservices.googleapis.com"
)

// to is a reference to resources of this service that must be there.
func to(field string, collections ...string) store.Reference {
	return store.Reference{Field: field, To: collections, Link: link}
}

// near is a reference that stays in the resource's location.
func near(field string, collections ...string) store.Reference {
	return store.Reference{Field: field, To: collections, Link: link, Near: true}
}

// foreign is a reference to a resource of another service in the same location, in the
// form in which Google returns it: by the project's number.
func (s *service) foreign(field, host, collection string) store.Reference {
	return store.Reference{Field: field, To: []string{host + "/" + collection}, Link: s.numbered, Near: true}
}

func (s *service) numbered(n store.Name) string {
	project, ok := s.store.Project(n.Project())
	if !ok {
		return string(n)
	}
	return "//" + n.Host() + "/projects/" + project.Number + n.Path()[len("projects/"+project.ID):]
}

// certificate is how proxies name their certificates, of either service.
func certificate(n store.Name) string {
	if n.Host() == Host {
		return link(n)
	}
	return string(n)
}

// kinds are all kinds of the service.
func (s *service) kinds() []*store.Kind {
	all := []*store.Kind{
		s.addresses(), s.backendServices(), s.firewalls(), s.forwardingRules(), s.healthChecks(), s.groups(), s.sslCertificates(), s.sslPolicies(),
		s.targetHTTPProxies(), s.targetHTTPSProxies(), s.targetTCPProxies(), s.targetSSLProxies(), s.urlMaps(),
		s.networks(), s.subnetworks(),
		{Collection: "regions", Schema: "Region", Noun: "region", Show: s.usage},
		{Collection: "zones", Schema: "Zone", Noun: "zone"},
		{Collection: "projects", Schema: "Project", Noun: "project", Show: s.usage},
		{Collection: "instances", Schema: "Instance", Noun: "instance"},
	}
	for _, k := range all {
		k.Host = Host
	}
	return all
}

// counted is a kind all of whose resources one quota counts.
func counted(metric string) func(store.Name, store.Object) string {
	return func(store.Name, store.Object) string { return metric }
}
