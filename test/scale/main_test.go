//go:build e2e

package scale

import (
	"flag"
	"testing"
	"time"

	"gatehouse.dev/test/cluster"
)

// How much there is. The defaults are for a look in passing; make bench-cluster
// asks for all.
var (
	gatewayCount = flag.Int("gateways", 10, "gateways of TestScale, each with 10 HTTPRoutes, 5 Services and 50 endpoints")
	sampleCount  = flag.Int("samples", 10, "edits whose way to the traffic is timed")
	idleTime     = flag.Duration("idle", time.Minute, "for how long nothing may happen while nothing is changed")
	flatCount    = flag.Int("flat", 60, "gateways that cost per gateway is compared at, with 10")
	figuresFile  = flag.String("figures", "", "file to write the figures to, as JSON")
)

func TestMain(m *testing.M) { cluster.Main(m) }
