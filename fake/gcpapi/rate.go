package gcpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/schema"
	"gatehouse.dev/fake/gcpapi/store"
)

// meter counts calls by quota group in the minute that is running: quotas are filled up
// at the minute's end, all at once.
type meter map[string]minute

type minute struct {
	number int64 // minutes since 1970
	calls  int
}

// rate is the quota group of a call.
func (s *Server) rate(call *store.Call, to *store.Service) string {
	if to.Group == nil {
		return ""
	}
	return to.Group(call)
}

func (m meter) take(now time.Time, group string, limits map[string]int, project store.Project) *store.Error {
	name, _, _ := strings.Cut(group, "/")
	limit, limited := limits[name]
	if group == "" || !limited {
		return nil
	}
	this := minute{number: now.Unix() / 60}
	if was := m[group]; was.number == this.number {
		this = was
	}
	if this.calls >= limit {
		return tooMany(group, project, limit)
	}
	this.calls++
	m[group] = this
	return nil
}

func tooMany(group string, project store.Project, limit int) *store.Error {
	name, region, regional := strings.Cut(group, "/")
	host := "compute.googleapis.com"
	if strings.HasPrefix(name, "certificatemanager") {
		host = "certificatemanager.googleapis.com"
	}
	metadata := store.Object{"quota_metric": host + "/" + name, "quota_limit": name + "-per-minute-per-project", "service": host,
		"consumer": "projects/" + project.Number, "quota_limit_value": strconv.Itoa(limit), "quota_location": "global"}
	per := "per minute"
	if regional {
		per, metadata["quota_location"] = "per minute per region", region
	}
	return &store.Error{
		Status: http.StatusForbidden, Reason: store.RateExceeded,
		Message: "Quota exceeded for quota metric '" + name + "' and limit '" + name + " " + per + "' of service '" + host + "' for consumer 'project_number:" + project.Number + "'.",
		Details: []any{store.Object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com", "metadata": metadata}},
	}
}

// Used are the calls in the minute that is running, by quota group; regional ones have
// the region after a slash.
func (s *Server) Used() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for group, m := range s.meter {
		if m.number == s.Clock.Now().Unix()/60 {
			out[group] = m.calls
		}
	}
	return out
}

// Permission is what IAM wants of a caller of a method: compute.backendServices.create.
func Permission(m *schema.Method) string {
	parts := strings.Split(m.ID, ".")
	api, collection, verb := parts[0], parts[len(parts)-2], parts[len(parts)-1]
	switch verb {
	case "insert":
		verb = "create"
	case "patch":
		verb = "update"
	case "aggregatedList":
		verb = "list"
	case "wait":
		verb = "get"
	case "getHealth", "listNetworkEndpoints":
		verb = "get"
	}
	return api + "." + permitted(api, collection) + "." + verb
}

// Use is what IAM wants of a caller who has one resource refer to another one.
func Use(n store.Name) string {
	api, _, _ := strings.Cut(n.Host(), ".")
	collection, verb := n.Collection(), ".use"
	if collection == "healthChecks" {
		verb = ".useReadOnly"
	}
	if api == "compute" && collection != "subnetworks" && collection != "networks" {
		collection = scoped(collection, n)
	}
	return api + "." + permitted(api, collection) + verb
}

// scoped is a collection of compute as methods and permissions name it by its scope.
func scoped(collection string, n store.Name) string {
	title := strings.ToUpper(collection[:1]) + collection[1:]
	switch {
	case n.Location() == "global":
		if collection == "addresses" || collection == "forwardingRules" || collection == "networkEndpointGroups" {
			return "global" + title
		}
	case strings.Contains(n.Path(), "/regions/"):
		if collection != "addresses" && collection != "forwardingRules" {
			return "region" + title
		}
	}
	return collection
}

// permitted is a collection as permissions name it.
func permitted(api, collection string) string {
	if short := map[string]string{"certificates": "certs", "certificateMaps": "certmaps", "certificateMapEntries": "certmapentries",
		"dnsAuthorizations": "dnsauthorizations", "trustConfigs": "trustconfigs"}[collection]; api == "certificatemanager" && short != "" {
		return short
	}
	return collection
}
