package serve

import (
	"maps"
	"strconv"
	"strings"
	"time"
)

// attributes are read by AWS's keys, with AWS's default beside each use.
type attributes map[string]string

func (a attributes) text(key, def string) string {
	if v, ok := a[key]; ok {
		return v
	}
	return def
}

// on is a true attribute.
func (a attributes) on(key string) bool { return a[key] == "true" }

// off is an attribute that is true unless it was set to false.
func (a attributes) off(key string) bool { return a[key] == "false" }

// seconds may have a fraction.
func (a attributes) seconds(key string, def time.Duration) time.Duration {
	if n, err := strconv.ParseFloat(a[key], 64); err == nil && n >= 0 {
		return time.Duration(n * float64(time.Second))
	}
	return def
}

func (a attributes) number(key string, def int) int {
	if n, err := strconv.Atoi(a[key]); err == nil {
		return n
	}
	return def
}

// albAttributes are those of an Application Load Balancer that change traffic.
type albAttributes struct {
	idle         time.Duration
	keepAlive    time.Duration
	preserveHost bool
	clientPort   bool   // in X-Forwarded-For
	forwardedFor string // append, preserve, remove
	dropInvalid  bool
	http2        bool
	tlsHeaders   bool
}

func newALBAttributes(m map[string]string) albAttributes {
	a := attributes(m)
	return albAttributes{
		idle:         a.seconds("idle_timeout.timeout_seconds", time.Minute),
		keepAlive:    a.seconds("client_keep_alive.seconds", time.Hour),
		preserveHost: a.on("routing.http.preserve_host_header.enabled"),
		clientPort:   a.on("routing.http.xff_client_port.enabled"),
		forwardedFor: a.text("routing.http.xff_header_processing.mode", "append"),
		dropInvalid:  a.on("routing.http.drop_invalid_header_fields.enabled"),
		http2:        !a.off("routing.http2.enabled"),
		tlsHeaders:   a.on("routing.http.x_amzn_tls_version_and_cipher_suite.enabled"),
	}
}

// listenerAttributes are a listener's.
type listenerAttributes struct {
	tcpIdle  time.Duration
	server   bool              // whether there is a Server header
	response map[string]string // headers set on responses
	request  attributes        // for the names of request headers
}

// responseHeaders are what listener attributes can set, by the middle of their
// key.
var responseHeaders = map[string]string{
	"strict_transport_security":        "Strict-Transport-Security",
	"access_control_allow_origin":      "Access-Control-Allow-Origin",
	"access_control_allow_methods":     "Access-Control-Allow-Methods",
	"access_control_allow_headers":     "Access-Control-Allow-Headers",
	"access_control_allow_credentials": "Access-Control-Allow-Credentials",
	"access_control_expose_headers":    "Access-Control-Expose-Headers",
	"access_control_max_age":           "Access-Control-Max-Age",
	"content_security_policy":          "Content-Security-Policy",
	"x_content_type_options":           "X-Content-Type-Options",
	"x_frame_options":                  "X-Frame-Options",
}

func newListenerAttributes(m map[string]string) listenerAttributes {
	a := attributes(m)
	out := listenerAttributes{
		tcpIdle:  a.seconds("tcp.idle_timeout.seconds", 350*time.Second),
		server:   !a.off("routing.http.response.server.enabled"),
		response: map[string]string{},
		request:  maps.Clone(a), // read while requests come
	}
	for key, name := range responseHeaders {
		if v := a["routing.http.response."+key+".header_value"]; v != "" {
			out.response[name] = v
		}
	}
	return out
}

// requestHeader is the name under which a header with facts of the client's TLS
// is sent: X-Amzn-Mtls-Clientcert-Leaf unless an attribute renames it.
func (l *listenerAttributes) requestHeader(standard string) string {
	key := strings.ReplaceAll(strings.ToLower(standard), "-", "_")
	if v := l.request["routing.http.request."+key+".header_name"]; v != "" {
		return v
	}
	return standard
}

// The load balancing algorithms.
const (
	leastOutstanding = "least_outstanding_requests"
	weightedRandom   = "weighted_random"
)

// groupAttributes are a target group's.
type groupAttributes struct {
	minimumCount   int // healthy targets below which all are used
	minimumPercent int
	algorithm      string

	sticky       string // lb_cookie, app_cookie, source_ip; "" is off
	stickyTime   time.Duration
	appCookie    string
	terminate    bool // NLB: flows of targets that are gone are ended
	keepUnwell   bool // NLB: flows of unhealthy targets live on
	unwellDrain  time.Duration
	preserve     bool // NLB: the client's address
	proxyHeader  bool // NLB: proxy protocol v2
	slowStartSet bool
}

func newGroupAttributes(g *TargetGroup) groupAttributes {
	const minimum = "target_group_health.unhealthy_state_routing.minimum_healthy_targets."
	a := attributes(g.Attributes)
	udp := g.Protocol == UDP || g.Protocol == TCPUDP
	out := groupAttributes{
		minimumCount:   a.number(minimum+"count", 1),
		minimumPercent: a.number(minimum+"percentage", 0),
		algorithm:      a["load_balancing.algorithm.type"],
		appCookie:      a["stickiness.app_cookie.cookie_name"],
		terminate:      a.on("deregistration_delay.connection_termination.enabled"),
		keepUnwell:     udp || a.off("target_health_state.unhealthy.connection_termination.enabled"),
		unwellDrain:    a.seconds("target_health_state.unhealthy.draining_interval_seconds", 0),
		proxyHeader:    a.on("proxy_protocol_v2.enabled"),
		slowStartSet:   a.seconds("slow_start.duration_seconds", 0) > 0,
		preserve:       udp || a.on("preserve_client_ip.enabled"),
	}
	if _, ok := a["preserve_client_ip.enabled"]; !ok {
		out.preserve = udp || g.Type != TargetIP
	}
	if _, ok := a["deregistration_delay.connection_termination.enabled"]; !ok {
		out.terminate = udp
	}
	if a.on("stickiness.enabled") {
		out.sticky = a.text("stickiness.type", "lb_cookie")
		out.stickyTime = a.seconds("stickiness."+out.sticky+".duration_seconds", 24*time.Hour)
	}
	return out
}
