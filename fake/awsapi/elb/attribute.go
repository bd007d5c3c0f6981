package elb

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

// knob is an attribute: its default, and what it may be.
type knob struct {
	value string
	what  string // in words, for refusals
	ok    func(string) bool
}

func word(value string, allowed ...string) knob {
	return knob{value, "one of " + strings.Join(allowed, ", "), func(v string) bool { return slices.Contains(allowed, v) }}
}

func flag(value string) knob { return word(value, "true", "false") }

func number(value string, low, high int, also ...string) knob {
	return knob{value, "an integer from " + strconv.Itoa(low) + " to " + strconv.Itoa(high), func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && n >= low && n <= high || slices.Contains(also, v)
	}}
}

func anything(value string) knob {
	return knob{value, "at most 1024 characters", func(v string) bool { return len(v) <= 1024 }}
}

func merge(parts ...map[string]knob) map[string]knob {
	out := map[string]knob{}
	for _, p := range parts {
		maps.Copy(out, p)
	}
	return out
}

func defaults(knobs map[string]knob) map[string]string {
	out := map[string]string{}
	for key, k := range knobs {
		out[key] = k.value
	}
	return out
}

func lbDefaults(kind string) map[string]string { return defaults(lbKnobs(kind)) }

func lbKnobs(kind string) map[string]knob {
	common := map[string]knob{
		"deletion_protection.enabled": flag("false"),
		"access_logs.s3.enabled":      flag("false"),
		"access_logs.s3.bucket":       anything(""),
		"access_logs.s3.prefix":       anything(""),
		"ipv6.deny_all_igw_traffic":   flag("false"),
		"zonal_shift.config.enabled":  flag("false"),
	}
	if kind == network {
		return merge(common, map[string]knob{
			"load_balancing.cross_zone.enabled":      flag("false"),
			"dns_record.client_routing_policy":       word("any_availability_zone", "any_availability_zone", "partial_availability_zone_affinity", "availability_zone_affinity"),
			"secondary_ips.auto_assigned.per_subnet": number("0", 0, 7),
		})
	}
	return merge(common, map[string]knob{
		"load_balancing.cross_zone.enabled":                        word("true", "true"),
		"idle_timeout.timeout_seconds":                             number("60", 1, 4000),
		"client_keep_alive.seconds":                                number("3600", 60, 604800),
		"connection_logs.s3.enabled":                               flag("false"),
		"connection_logs.s3.bucket":                                anything(""),
		"connection_logs.s3.prefix":                                anything(""),
		"health_check_logs.s3.enabled":                             flag("false"),
		"health_check_logs.s3.bucket":                              anything(""),
		"health_check_logs.s3.prefix":                              anything(""),
		"routing.http.desync_mitigation_mode":                      word("defensive", "monitor", "defensive", "strictest"),
		"routing.http.drop_invalid_header_fields.enabled":          flag("false"),
		"routing.http.preserve_host_header.enabled":                flag("false"),
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": flag("false"),
		"routing.http.xff_client_port.enabled":                     flag("false"),
		"routing.http.xff_header_processing.mode":                  word("append", "append", "preserve", "remove"),
		"routing.http2.enabled":                                    flag("true"),
		"waf.fail_open.enabled":                                    flag("false"),
	})
}

func listenerKnobs(kind, protocol string) map[string]knob {
	if kind == network {
		if protocol == "UDP" {
			return map[string]knob{}
		}
		return map[string]knob{"tcp.idle_timeout.seconds": number("350", 60, 6000)}
	}
	out := map[string]knob{"routing.http.response.server.enabled": flag("true")}
	for _, name := range []string{"strict_transport_security", "access_control_allow_origin", "access_control_allow_methods",
		"access_control_allow_headers", "access_control_allow_credentials", "access_control_expose_headers",
		"access_control_max_age", "content_security_policy", "x_content_type_options", "x_frame_options"} {
		out["routing.http.response."+name+".header_value"] = anything("")
	}
	if protocol != "HTTPS" {
		return out
	}
	for name, header := range map[string]string{"x_amzn_mtls_clientcert_serial_number": "X-Amzn-Mtls-Clientcert-Serial-Number",
		"x_amzn_mtls_clientcert_issuer": "X-Amzn-Mtls-Clientcert-Issuer", "x_amzn_mtls_clientcert_subject": "X-Amzn-Mtls-Clientcert-Subject",
		"x_amzn_mtls_clientcert_validity": "X-Amzn-Mtls-Clientcert-Validity", "x_amzn_mtls_clientcert_leaf": "X-Amzn-Mtls-Clientcert-Leaf",
		"x_amzn_mtls_clientcert": "X-Amzn-Mtls-Clientcert", "x_amzn_tls_version": "X-Amzn-Tls-Version",
		"x_amzn_tls_cipher_suite": "X-Amzn-Tls-Cipher-Suite"} {
		out["routing.http.request."+name+".header_name"] = anything(header)
	}
	return out
}

const manyTargets = 1_000_000

func groupKnobs(g targetGroup) map[string]knob {
	out := map[string]knob{
		"stickiness.enabled":                                                             flag("false"),
		"load_balancing.cross_zone.enabled":                                              word("use_load_balancer_configuration", "true", "false", "use_load_balancer_configuration"),
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 number("1", 1, manyTargets, "off"),
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            number("off", 1, 100, "off"),
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      number("1", 1, manyTargets),
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": number("off", 1, 100, "off"),
	}
	if g.TargetType == "lambda" {
		return map[string]knob{"lambda.multi_value_headers.enabled": flag("false")}
	}
	out["deregistration_delay.timeout_seconds"] = number("300", 0, 3600)
	if g.Protocol == "HTTP" || g.Protocol == "HTTPS" {
		return merge(out, map[string]knob{
			"stickiness.type":                             word("lb_cookie", "lb_cookie", "app_cookie"),
			"stickiness.lb_cookie.duration_seconds":       number("86400", 1, 604800),
			"stickiness.app_cookie.duration_seconds":      number("86400", 1, 604800),
			"stickiness.app_cookie.cookie_name":           anything(""),
			"load_balancing.algorithm.type":               word("round_robin", "round_robin", "least_outstanding_requests", "weighted_random"),
			"load_balancing.algorithm.anomaly_mitigation": word("off", "on", "off"),
			"slow_start.duration_seconds":                 number("0", 30, 900, "0"),
		})
	}
	udp := g.Protocol == "UDP" || g.Protocol == "TCP_UDP"
	return merge(out, map[string]knob{
		"stickiness.type":                                              word("source_ip", "source_ip"),
		"proxy_protocol_v2.enabled":                                    flag("false"),
		"preserve_client_ip.enabled":                                   preserve(g),
		"deregistration_delay.connection_termination.enabled":          flag(strconv.FormatBool(udp)),
		"target_health_state.unhealthy.connection_termination.enabled": flag(strconv.FormatBool(!udp)),
		"target_health_state.unhealthy.draining_interval_seconds":      number("0", 0, 360000),
	})
}

// preserve is client IP preservation: always on where packets are forwarded.
func preserve(g targetGroup) knob {
	if g.Protocol == "UDP" || g.Protocol == "TCP_UDP" {
		return word("true", "true")
	}
	return flag(strconv.FormatBool(g.TargetType != "ip"))
}

// turn is a set of attributes with some changed.
func turn(what string, knobs map[string]knob, old map[string]string, set []attribute) (map[string]string, error) {
	if len(set) == 0 {
		return nil, missing("attributes")
	}
	out, seen := maps.Clone(old), map[string]bool{}
	for _, a := range set {
		k, ok := knobs[a.Key]
		switch {
		case !ok:
			return nil, invalid("%s attribute key '%s' is not recognized", what, a.Key)
		case seen[a.Key]:
			return nil, invalid("%s attribute key '%s' is specified more than once", what, a.Key)
		case !k.ok(a.Value):
			return nil, invalid("%s attribute value '%s' of key '%s' is not valid: it must be %s", what, a.Value, a.Key, k.what)
		}
		seen[a.Key], out[a.Key] = true, a.Value
	}
	return out, nil
}

func listed(values map[string]string) attributesOut {
	out := attributesOut{Attributes: []attribute{}}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out.Attributes = append(out.Attributes, attribute{key, values[key]})
	}
	return out
}

func (s *Service) describeLoadBalancerAttributes(call *account.Call, in *ofLoadBalancer) (any, error) {
	row, err := s.view(call).lb(in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	return listed(row.Attributes), nil
}

func (s *Service) modifyLoadBalancerAttributes(call *account.Call, in *modifyLoadBalancerAttributes) (any, error) {
	var out attributesOut
	err := s.edit(call, in.LoadBalancerArn, func(r *lbRow) (err error) {
		r.Attributes, err = turn("Load balancer", lbKnobs(r.Type), r.Attributes, in.Attributes)
		if err == nil && r.Attributes["access_logs.s3.enabled"] == "true" && r.Attributes["access_logs.s3.bucket"] == "" {
			return refuse("InvalidConfigurationRequest", "The value of 'access_logs.s3.bucket' cannot be empty")
		}
		out = listed(r.Attributes)
		return err
	})
	return out, err
}

func (s *Service) describeListenerAttributes(call *account.Call, in *ofListener) (any, error) {
	row, err := s.view(call).listener(in.ListenerArn)
	if err != nil {
		return nil, err
	}
	return listed(row.Attributes), nil
}

func (s *Service) modifyListenerAttributes(call *account.Call, in *modifyListenerAttributes) (any, error) {
	var out attributesOut
	err := s.change(call, func(now *state) error {
		old, lb, err := s.writable(call, now, in.ListenerArn)
		if err != nil {
			return err
		}
		next := *old
		next.Attributes, err = turn("Listener", listenerKnobs(lb.Type, old.Protocol), old.Attributes, in.Attributes)
		out = listed(next.Attributes)
		now.Listeners.Put(in.ListenerArn, next)
		return err
	})
	return out, err
}

func (s *Service) describeTargetGroupAttributes(call *account.Call, in *ofTargetGroup) (any, error) {
	row, err := s.view(call).group(in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	return listed(row.Attributes), nil
}

// checkSticky refuses stickiness that a group can't have.
func checkSticky(g *groupRow) error {
	switch {
	case g.Attributes["stickiness.enabled"] != "true":
		return nil
	case g.Protocol == "TLS":
		return refuse("InvalidConfigurationRequest", "You cannot enable stickiness on target groups with the TLS protocol")
	case g.Attributes["stickiness.type"] == "app_cookie" && g.Attributes["stickiness.app_cookie.cookie_name"] == "":
		return refuse("InvalidConfigurationRequest", "You must set an application cookie name to enable stickiness of type 'app_cookie'")
	}
	return nil
}

func (s *Service) modifyTargetGroupAttributes(call *account.Call, in *modifyTargetGroupAttributes) (any, error) {
	var out attributesOut
	err := s.change(call, func(now *state) error {
		old, err := now.group(in.TargetGroupArn)
		if err != nil {
			return err
		}
		next := *old
		next.Attributes, err = turn("Target group", groupKnobs(old.targetGroup), old.Attributes, in.Attributes)
		if err == nil {
			err = checkSticky(&next)
		}
		out = listed(next.Attributes)
		now.TargetGroups.Put(in.TargetGroupArn, next)
		return err
	})
	return out, err
}
