package live

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/gcpapi/compute"
	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/fake/gcpapi/store"
)

// service is a backend service with its endpoints.
type service struct {
	ref     string
	name    store.Name
	spec    serve.BackendService
	members []*member
	check   *check // nil is not checked
	tls     *backendTLS
	made    source         // of spec
	turn    *atomic.Uint64 // of endpoints, kept from one state to the next
}

// linkKey is what makes a link the same as before.
type linkKey struct {
	service, group string
	endpoint       string // address or name, and port, as the group has it
	address        string // where it really is
	protocol       string
}

// member is an endpoint of a backend service.
type member struct {
	key     linkKey
	shown   string // address:port
	takes   bool   // new traffic: capacityScaler is not 0
	barred  bool   // no firewall rule lets the load balancer in
	unseen  bool   // no firewall rule lets the probes in
	probe   string // where it is checked
	host    string // its address, for probes
	name    string // its domain name; "" without one
	link    *link
	address string
}

// secured are the protocols that have TLS.
func secured(protocol string) bool {
	return protocol == "HTTPS" || protocol == "HTTP2" || protocol == "SSL"
}

func (r *reader) readService(n store.Name, o store.Object) *service {
	s := &service{ref: serve.Ref(n.Path()), name: n, made: source{o}, turn: new(atomic.Uint64)}
	was := r.before.services[s.ref]
	if was != nil {
		s.turn = was.turn
	}
	if was != nil && was.made.is(s.made) {
		s.spec = was.spec
	} else if err := store.Decode(o, &s.spec); err != nil {
		r.config.Log.Warn("a backend service cannot be read", "name", n.Path(), "err", err)
		return s
	}
	if secured(s.spec.Protocol) {
		s.tls = r.readBackendTLS(n, s, was)
	}
	if len(s.spec.HealthChecks) > 0 {
		_, check := r.to(compute.Host, n, s.spec.HealthChecks[0])
		s.check = r.readCheck(check)
	}
	for _, b := range s.spec.Backends {
		group, o := r.to(compute.Host, n, b.Group)
		if o == nil || group.Collection() != "networkEndpointGroups" {
			continue
		}
		for _, e := range store.List(o, "@endpoints") {
			one, _ := e.(store.Object)
			m := r.readMember(s, group, o, one)
			m.takes = b.CapacityScaler == nil || *b.CapacityScaler > 0
			s.members = append(s.members, m)
		}
	}
	return s
}

func (r *reader) readMember(s *service, group store.Name, o, e store.Object) *member {
	port := int(number(e, "port"))
	host, name := store.Text(e, "ipAddress"), store.Text(e, "fqdn")
	if host == "" {
		host = name
	}
	if port == 0 { // GCE_VM_IP: the port of the packet, which is the rule's
		port = r.passedPort(s)
	}
	m := &member{shown: host + ":" + strconv.Itoa(port), host: host, name: name, address: r.config.Reach(host, port)}
	m.key = linkKey{s.ref, group.Path(), host + ":" + strconv.Itoa(int(number(e, "port"))), m.address, s.spec.Protocol}
	probed := port
	if s.check != nil && s.check.port > 0 {
		probed = s.check.port
	}
	m.probe = r.config.Reach(host, probed)
	if strings.HasPrefix(store.Text(o, "networkEndpointType"), "GCE_VM_IP") {
		to := wall{network: store.Text(o, "network"), tags: r.tags(group, store.Text(e, "instance")), protocol: "tcp"}
		to.port = probed
		m.unseen = !r.fire.admit(to, probeRanges)
		to.port = port
		m.barred = s.proxied() && !r.fire.admit(to, r.sources(s))
	}
	return m
}

// passedPort is the first port of a forwarding rule that passes packets to a service.
func (r *reader) passedPort(s *service) int {
	for _, user := range r.view.Users(s.name) {
		if user.Collection() == "forwardingRules" {
			return firstPort(r.view.Get(user))
		}
	}
	return 0
}

// proxied says whether connections come from a proxy, not from clients themselves.
func (s *service) proxied() bool { return strings.HasSuffix(s.spec.LoadBalancingScheme, "_MANAGED") }

func number(o store.Object, path string) float64 {
	n, _ := store.Get(o, path).(float64)
	return n
}

// seconds is a field in seconds.
func seconds(o store.Object, path string) time.Duration {
	return time.Duration(number(o, path) * float64(time.Second))
}
