package gcpapi

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/calls"
	"gatehouse.dev/fake/gcpapi/schema"
	"gatehouse.dev/fake/gcpapi/store"
)

// Server is a Google Cloud project. It is an http.Handler and an http.RoundTripper, and
// safe for concurrent use: calls take effect one after the other.
type Server struct {
	Config
	services []store.Service

	active  atomic.Int64 // calls that are being answered, but for those that wait
	arrived atomic.Int64 // calls ever

	mu     sync.Mutex // guards everything below, and the services
	store  *store.Store
	meter  meter
	faults calls.Faults[Call, Fault]
	log    calls.Log[Call]
}

// New makes a project in which nothing is but its network.
func New(config Config) *Server {
	config = config.filled()
	s := &Server{Config: config, meter: meter{}}
	s.store = store.New(store.Config{
		Projects: config.Projects, Times: config.Times, Limits: config.Limits, LateErrors: config.Undocumented.LateErrors,
		EarlyReads: config.Undocumented.EarlyReads, LoosePatches: config.Undocumented.LoosePatches, Use: s.use,
	})
	s.services = services(s.store, config)
	return s
}

// Look shows the project as what serves traffic sees it: as operations had left it a
// propagation's time ago. The view ends with the function.
func (s *Server) Look(see func(store.View)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	see(s.store.At(s.Clock.Now()))
}

// Due is when traffic will next be served differently than now, by the clock alone; false
// if nothing is on its way.
func (s *Server) Due() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.Due(s.Clock.Now())
}

// Refresh tells Changed. Changes do it by themselves; whoever moves the clock does it
// too: operations end by time.
func (s *Server) Refresh() {
	if s.Changed != nil {
		s.Changed()
	}
}

// routed is a request that has found its method.
type routed struct {
	service *store.Service
	target  schema.Target
}

// route finds the method that a request is for: by the host that it was meant for; by a
// path that begins with the API's name; or by the first API that has its path, where
// operations are those of whoever started them.
func (s *Server) route(r *http.Request) (routed, bool) {
	path, named := r.URL.Path, ""
	for i := range s.services {
		api := s.services[i].API
		if rest, ok := strings.CutPrefix(path, "/"+api.Name+"/v1/"); ok && api.Base == "/v1/" {
			path, named = api.Base+rest, api.Name
		}
	}
	for i := range s.services {
		service := &s.services[i]
		if named != "" && named != service.API.Name || named == "" && strings.HasSuffix(r.Host, ".googleapis.com") && !atHost(r.Host, service.API) {
			continue
		}
		rest, ok := strings.CutPrefix(path, service.API.Base)
		if !ok {
			continue
		}
		if target, ok := service.API.Find(r.Method, rest); ok && (named != "" || s.owns(service, target)) {
			return routed{service, target}, true
		}
	}
	return routed{}, false
}

// atHost tells whether an API is at a host. www.googleapis.com is compute's as well.
func atHost(host string, api *schema.API) bool {
	return host == api.Host || host == "www.googleapis.com" && api.Name == "compute"
}

// owns tells whether an operation is an API's.
func (s *Server) owns(service *store.Service, target schema.Target) bool {
	if target.Collection != "operations" || target.ID == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.store.Operation(target.ID)
	return o == nil || o.Host == service.API.Host
}
