package elb

import (
	"cmp"
	"regexp"
	"strconv"
)

// startHealth fills in the health check of a new target group.
func startHealth(g *targetGroup, in healthCheck) error {
	g.HealthCheckEnabled = new(g.TargetType != "lambda")
	g.HealthCheckIntervalSeconds, g.HealthyThresholdCount, g.UnhealthyThresholdCount = 30, 5, 2
	g.HealthCheckPort = "traffic-port"
	switch {
	case g.TargetType == "lambda":
		g.HealthCheckIntervalSeconds, g.HealthCheckTimeoutSeconds, g.HealthCheckPath = 35, 30, "/"
		g.HealthCheckPort = ""
		g.Matcher = &matcher{HttpCode: "200"}
	case overHTTP(g.Protocol):
		g.HealthCheckProtocol, g.HealthCheckTimeoutSeconds = g.Protocol, 5
	case g.TargetType == "alb":
		g.HealthCheckProtocol, g.HealthCheckTimeoutSeconds = "HTTP", 6
	default:
		g.HealthCheckProtocol, g.HealthCheckTimeoutSeconds = "TCP", 10
	}
	g.HealthCheckProtocol = cmp.Or(in.HealthCheckProtocol, g.HealthCheckProtocol)
	if overHTTP(g.HealthCheckProtocol) {
		g.HealthCheckPath, g.Matcher = "/", &matcher{HttpCode: "200"}
		if !overHTTP(g.Protocol) {
			g.Matcher = &matcher{HttpCode: "200-399"}
		}
		if g.ProtocolVersion == "GRPC" {
			g.HealthCheckPath, g.Matcher = "/AWS.ALB/healthcheck", &matcher{GrpcCode: "12"}
		}
	}
	return setHealth(g, in)
}

var (
	codes     = regexp.MustCompile(`^[0-9]{1,3}(-[0-9]{1,3})?(,[0-9]{1,3}(-[0-9]{1,3})?)*$`)
	checkPort = regexp.MustCompile(`^(traffic-port|[1-9][0-9]{0,4})$`)
)

// setHealth changes what is given.
func setHealth(g *targetGroup, in healthCheck) error {
	if in.HealthCheckEnabled != nil {
		g.HealthCheckEnabled = in.HealthCheckEnabled
	}
	if in.HealthCheckProtocol != "" && in.HealthCheckProtocol != g.HealthCheckProtocol {
		switch {
		case !overHTTP(in.HealthCheckProtocol):
			g.HealthCheckPath, g.Matcher = "", nil
		case !overHTTP(g.HealthCheckProtocol):
			g.HealthCheckPath, g.Matcher = "/", &matcher{HttpCode: "200-399"}
		}
		g.HealthCheckProtocol = in.HealthCheckProtocol
	}
	g.HealthCheckPath = cmp.Or(in.HealthCheckPath, g.HealthCheckPath)
	g.HealthCheckPort = cmp.Or(in.HealthCheckPort, g.HealthCheckPort)
	g.HealthCheckIntervalSeconds = deref(in.HealthCheckIntervalSeconds, g.HealthCheckIntervalSeconds)
	g.HealthCheckTimeoutSeconds = deref(in.HealthCheckTimeoutSeconds, g.HealthCheckTimeoutSeconds)
	g.HealthyThresholdCount = deref(in.HealthyThresholdCount, g.HealthyThresholdCount)
	g.UnhealthyThresholdCount = deref(in.UnhealthyThresholdCount, g.UnhealthyThresholdCount)
	if in.Matcher != nil {
		g.Matcher = in.Matcher
	}
	return checkHealth(g)
}

func checkHealth(g *targetGroup) error {
	between := func(field string, n, low, high int) error {
		if n < low || n > high {
			return invalid("%s '%d' must be in the range '%d-%d'", field, n, low, high)
		}
		return nil
	}
	port, _ := strconv.Atoi(g.HealthCheckPort)
	err := then(
		func() error { return between("Health check interval", g.HealthCheckIntervalSeconds, 5, 300) },
		func() error { return between("Health check timeout", g.HealthCheckTimeoutSeconds, 2, 120) },
		func() error { return between("Healthy threshold count", g.HealthyThresholdCount, 2, 10) },
		func() error { return between("Unhealthy threshold count", g.UnhealthyThresholdCount, 2, 10) },
	)
	switch {
	case err != nil:
		return err
	case g.HealthCheckTimeoutSeconds >= g.HealthCheckIntervalSeconds && g.TargetType != "lambda" && overHTTP(g.Protocol):
		return invalid("Health check timeout '%d' must be smaller than the interval '%d'", g.HealthCheckTimeoutSeconds, g.HealthCheckIntervalSeconds)
	case g.TargetType != "lambda" && (!checkPort.MatchString(g.HealthCheckPort) || port > 65535):
		return invalid("Health check port '%s' must be in the range '1-65535', or 'traffic-port'", g.HealthCheckPort)
	case overHTTP(g.HealthCheckProtocol) && (g.HealthCheckPath == "" || g.HealthCheckPath[0] != '/' || len(g.HealthCheckPath) > 1024):
		return invalid("Health check path '%s' must begin with '/', and have at most '1024' characters", g.HealthCheckPath)
	case overHTTP(g.Protocol) && !overHTTP(g.HealthCheckProtocol):
		return invalid("Health check protocol '%s' must be one of 'HTTP, HTTPS'", g.HealthCheckProtocol)
	}
	return checkMatcher(g)
}

func checkMatcher(g *targetGroup) error {
	m := g.Matcher
	switch {
	case m == nil:
		return nil
	case !overHTTP(g.HealthCheckProtocol) && g.TargetType != "lambda":
		return invalid("A matcher cannot be specified for health checks with protocol '%s'", g.HealthCheckProtocol)
	case (m.GrpcCode != "") != (g.ProtocolVersion == "GRPC"):
		return invalid("Matcher must have a GRPC code for protocol version GRPC, and an HTTP code for all others")
	case !codes.MatchString(cmp.Or(m.GrpcCode, m.HttpCode)):
		return invalid("Health check matcher code '%s' is not valid", cmp.Or(m.GrpcCode, m.HttpCode))
	}
	return nil
}
