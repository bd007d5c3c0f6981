package compute

import (
	"net/http"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/schema"
	"gatehouse.dev/fake/gcpapi/store"
)

// Host is the service's.
const Host = "compute.googleapis.com"

// Config says what the service is like.
type Config struct {
	World World
	Now   func() time.Time
	// URLMapBytes is the largest URL map; 0 is as [serve.Limits] say.
	URLMapBytes int
	// Observed is what the serving part sees of an endpoint's health; nil, or false, is
	// healthy.
	Observed func(group, backendService store.Name, endpoint store.Object) (state string, ok bool)
}

// service is Compute Engine.
type service struct {
	Config
	store *store.Store
	api   *schema.API
	verbs map[string]func(*store.Call) (store.Object, error)
}

// New puts the service and its network into a project.
func New(shelf *store.Store, config Config) store.Service {
	s := &service{Config: config, store: shelf, api: schema.Compute()}
	s.verbs = map[string]func(*store.Call) (store.Object, error){
		"get": s.get, "list": s.list, "aggregatedList": s.aggregated, "insert": s.insert, "patch": s.patch, "update": s.update, "delete": s.remove,
		"setLabels": s.setLabels, "getHealth": s.getHealth, "validate": s.validate,
		"attachNetworkEndpoints": s.attach, "detachNetworkEndpoints": s.detach, "listNetworkEndpoints": s.endpoints,
	}
	for _, verb := range []string{"setUrlMap", "setSslCertificates", "setSslPolicy", "setCertificateMap", "setQuicOverride", "setBackendService", "setProxyHeader", "setTarget"} {
		s.verbs[verb] = s.set
	}
	shelf.Register(s.kinds()...)
	s.seed(config.World)
	return store.Service{API: s.api, Do: s.do, Refuse: refuse, Group: group}
}

func (s *service) do(c *store.Call) (store.Object, error) {
	if err := s.located(c); err != nil {
		return nil, err
	}
	if c.Collection == "operations" {
		return s.operation(c)
	}
	run := s.verbs[c.Method.Verb()]
	if run == nil || s.store.KindOf(c.Member("x")) == nil {
		return nil, &store.Error{Status: http.StatusNotImplemented, Reason: store.Unimplemented, Message: c.Method.ID + " is not emulated"}
	}
	if c.Method.Reads() {
		return run(c)
	}
	o, err := s.store.Earlier(c)
	if err != nil {
		return nil, err
	}
	if o != nil {
		return s.show(o, c.Now), nil
	}
	return run(c)
}

// located refuses regions and zones that there are not.
func (s *service) located(c *store.Call) error {
	parts := strings.Split(c.Scope, "/")
	if len(parts) < 4 || parts[2] != "regions" && parts[2] != "zones" {
		return nil
	}
	if s.store.Newest().Get(store.NameOf(Host, c.Scope)) == nil {
		one := strings.TrimSuffix(parts[2], "s")
		return store.Bad("Invalid value for field '%s': '%s'. Unknown %s.", one, parts[3], one)
	}
	return nil
}

// started is the answer to a change.
func (s *service) started(c *store.Call, change store.Change) (store.Object, error) {
	o, err := s.store.Apply(c, change)
	if err != nil {
		return nil, err
	}
	return s.show(o, c.Now), nil
}

// link is a resource's URL, as Compute Engine writes it.
func link(n store.Name) string { return "https://www.googleapis.com/compute/v1/" + n.Path() }

// named is the resource that a URL of this package's names; "" is none.
func (s *service) named(n store.Name, url string) store.Name {
	to, ok := s.store.Resolve(Host, n.Project(), url)
	if !ok {
		return ""
	}
	return to
}

// region is the region of a zone or of a region.
func region(location string) string {
	parts := strings.Split(location, "-")
	if len(parts) == 3 {
		return parts[0] + "-" + parts[1]
	}
	return location
}

// refuse is an error as Compute Engine writes it.
func refuse(e *store.Error) store.Object {
	domain := "global"
	if e.Reason == store.QuotaExceeded || e.Reason == store.RateExceeded {
		domain = "usageLimits"
	}
	body := store.Object{"code": float64(e.Status), "message": e.Message,
		"errors": []any{store.Object{"message": e.Message, "domain": domain, "reason": e.Reason}}}
	if len(e.Details) > 0 {
		body["details"] = e.Details
	}
	if status := statuses[e.Status]; status != "" {
		body["status"] = status
	}
	return store.Object{"error": body}
}

// statuses are google.rpc's codes that stand beside the reason.
var statuses = map[int]string{
	http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED", http.StatusServiceUnavailable: "UNAVAILABLE", http.StatusInternalServerError: "INTERNAL",
}
