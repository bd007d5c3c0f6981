package compute

import (
	"cmp"

	"gatehouse.dev/fake/gcpapi/store"
)

// checkBlocks are the parts of a health check by its type, with the port that they have
// without being told.
var checkBlocks = map[string]struct {
	field string
	port  float64
}{
	"TCP": {"tcpHealthCheck", 80}, "SSL": {"sslHealthCheck", 443}, "HTTP": {"httpHealthCheck", 80}, "HTTPS": {"httpsHealthCheck", 443},
	"HTTP2": {"http2HealthCheck", 443}, "GRPC": {"grpcHealthCheck", 0}, "GRPC_WITH_TLS": {"grpcTlsHealthCheck", 0},
}

func (s *service) healthChecks() *store.Kind {
	return &store.Kind{Collection: "healthChecks", Schema: "HealthCheck", Noun: "health_check", Quota: counted("HEALTH_CHECKS"),
		Immutable: []string{"name"}, Default: completeHealthCheck, Check: checkHealthCheck}
}

func completeHealthCheck(_ store.View, _ store.Name, o store.Object) {
	whole(o, "checkIntervalSec", 5)
	whole(o, "timeoutSec", 5)
	whole(o, "healthyThreshold", 2)
	whole(o, "unhealthyThreshold", 2)
	block, ok := checkBlocks[store.Text(o, "type")]
	in, has := o[block.field].(store.Object)
	if !ok || !has {
		return
	}
	if block.port > 0 && in["portSpecification"] != "USE_SERVING_PORT" && in["portName"] == nil {
		whole(in, "port", block.port)
	}
	switch o["type"] {
	case "HTTP", "HTTPS", "HTTP2":
		in["requestPath"] = cmp.Or(store.Text(in, "requestPath"), "/")
		in["proxyHeader"] = cmp.Or(store.Text(in, "proxyHeader"), "NONE")
	case "TCP", "SSL":
		in["proxyHeader"] = cmp.Or(store.Text(in, "proxyHeader"), "NONE")
	}
}

// whole gives a field a number if it has none.
func whole(o store.Object, field string, n float64) {
	if o[field] == nil {
		o[field] = n
	}
}

func checkHealthCheck(_ store.View, _ store.Name, _, o store.Object) error {
	kind := store.Text(o, "type")
	block, ok := checkBlocks[kind]
	if !ok {
		return store.BadField("type", kind, "Must be one of: TCP, SSL, HTTP, HTTPS, HTTP2, GRPC, GRPC_WITH_TLS.")
	}
	for _, other := range checkBlocks {
		if other.field != block.field && o[other.field] != nil {
			return store.BadField(other.field, o[other.field], "Exactly one of the protocol-specific health check fields must be specified, and must match the type %s.", kind)
		}
	}
	in, has := o[block.field].(store.Object)
	if !has {
		return store.BadField(block.field, "", "The field that matches the type %s must be specified.", kind)
	}
	for field, most := range map[string]float64{"checkIntervalSec": 300, "timeoutSec": 300, "healthyThreshold": 10, "unhealthyThreshold": 10} {
		if n, _ := o[field].(float64); n < 1 || n > most {
			return store.BadField(field, o[field], "Must be between 1 and %v.", most)
		}
	}
	if timeout, interval := o["timeoutSec"].(float64), o["checkIntervalSec"].(float64); timeout > interval {
		return store.BadField("timeoutSec", timeout, "The timeout must not be greater than the check interval, %v.", interval)
	}
	return checkPort(block.field, in)
}

func checkPort(field string, in store.Object) error {
	port, has := in["port"].(float64)
	switch spec := store.Text(in, "portSpecification"); {
	case spec == "USE_SERVING_PORT" && (has || in["portName"] != nil):
		return store.BadField(field+".port", in["port"], "Port and portName must not be set with USE_SERVING_PORT.")
	case spec == "USE_FIXED_PORT" && !has:
		return store.BadField(field+".port", "", "Port must be set with USE_FIXED_PORT.")
	case has && (port < 1 || port > 65535):
		return store.BadField(field+".port", port, "Must be between 1 and 65535.")
	}
	if path := store.Text(in, "requestPath"); path != "" && path[0] != '/' {
		return store.BadField(field+".requestPath", path, "Must begin with /.")
	}
	return nil
}
