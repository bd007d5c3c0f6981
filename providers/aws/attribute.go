package aws

import (
	"maps"
	"slices"
	"strconv"
)

// AWS's defaults of the attributes that it documents [API_LoadBalancerAttribute,
// API_TargetGroupAttribute]. A Spec names those that are not at their default: what
// somebody has turned by hand is seen, and what is not set any more goes back.

// lbDefaults are those of a load balancer. Left out are those that other people turn
// (protection against deletion, what a firewall or a zonal shift does), and one whose
// default is the scheme's.
func lbDefaults(kind string) map[string]string {
	out := map[string]string{
		"access_logs.s3.enabled": "false", "access_logs.s3.bucket": "", "access_logs.s3.prefix": "",
	}
	if kind == typeNetwork {
		maps.Copy(out, map[string]string{
			"load_balancing.cross_zone.enabled": "false", "dns_record.client_routing_policy": "any_availability_zone",
			"secondary_ips.auto_assigned.per_subnet": "0",
		})
		return out
	}
	maps.Copy(out, map[string]string{
		"load_balancing.cross_zone.enabled": "true", "idle_timeout.timeout_seconds": "60", "client_keep_alive.seconds": "3600",
		"connection_logs.s3.enabled": "false", "connection_logs.s3.bucket": "", "connection_logs.s3.prefix": "",
		"health_check_logs.s3.enabled": "false", "health_check_logs.s3.bucket": "", "health_check_logs.s3.prefix": "",
		"routing.http.desync_mitigation_mode": "defensive", "routing.http.drop_invalid_header_fields.enabled": "false", attributeHost: "false",
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false", "routing.http.xff_client_port.enabled": "false",
		"routing.http.xff_header_processing.mode": "append", "routing.http2.enabled": "true",
	})
	return out
}

// groupDefaults are those of a target group.
func groupDefaults(g *TargetGroup) map[string]string {
	out := map[string]string{
		"stickiness.enabled": "false", attributeDrain: "300",
		"load_balancing.cross_zone.enabled":                                              "use_load_balancer_configuration",
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
	}
	if g.Protocol == "HTTP" || g.Protocol == "HTTPS" {
		maps.Copy(out, map[string]string{
			"stickiness.type": "lb_cookie", "stickiness.lb_cookie.duration_seconds": "86400", "stickiness.app_cookie.duration_seconds": "86400",
			"stickiness.app_cookie.cookie_name": "", "load_balancing.algorithm.type": "round_robin",
			"load_balancing.algorithm.anomaly_mitigation": "off", "slow_start.duration_seconds": "0",
		})
		return out
	}
	udp := g.Protocol == "UDP"
	maps.Copy(out, map[string]string{
		"stickiness.type": "source_ip", "proxy_protocol_v2.enabled": "false", "preserve_client_ip.enabled": strconv.FormatBool(udp || g.TargetType != targetIP),
		"deregistration_delay.connection_termination.enabled":          strconv.FormatBool(udp),
		"target_health_state.unhealthy.connection_termination.enabled": strconv.FormatBool(!udp),
		"target_health_state.unhealthy.draining_interval_seconds":      "0",
	})
	return out
}

// different are the wanted attributes that are not at their defaults.
func different(attributes, defaults map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range attributes {
		if at, known := defaults[key]; !known || at != value {
			out[key] = value
		}
	}
	return out
}

// withoutDefault are the keys of attributes of which no default is known, sorted.
func withoutDefault(attributes, defaults map[string]string) []string {
	return slices.DeleteFunc(sortedKeys(attributes), func(key string) bool {
		_, known := defaults[key]
		return known
	})
}

// stated are the attributes of what is there as a Spec names them: those that are not
// at their defaults, and of those that no default is known of the ones that were set.
// The rest is somebody else's: protection against deletion above all.
func stated(attributes, defaults map[string]string, set []string) map[string]string {
	out := map[string]string{}
	for key, value := range attributes {
		at, known := defaults[key]
		if known && at != value || !known && slices.Contains(set, key) {
			out[key] = value
		}
	}
	return out
}

// turns are the attributes to be set so that have becomes want: what is not wanted any
// more goes back to its default, if that is known.
func turns(want, have, defaults map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range want {
		if old, ok := have[key]; !ok || old != value {
			out[key] = value
		}
	}
	for key := range have {
		if _, wanted := want[key]; wanted {
			continue
		}
		if at, known := defaults[key]; known {
			out[key] = at
		}
	}
	return out
}
