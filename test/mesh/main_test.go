package mesh

import (
	"flag"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse.dev/internal/manifest"
)

// How much there is. The defaults are for a look in passing; make bench-mesh asks
// for all.
var (
	rate        = flag.Int("rate", 200, "requests a second")
	breath      = flag.Duration("breath", 60*time.Millisecond, "how long the load goes on between two changes")
	podsFor     = flag.Int("pods", 2, "pods of the Service")
	gatewaysFor = flag.Int("gateways", 30, "gateways of TestMany")
	tables      = flag.Bool("tables", false, "print what was measured")
)

// schemas are compiled once for all tests: that costs more than any of them.
var schemas = new(manifest.Schemas)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if *tables {
			figures.print()
		}
		os.Exit(code)
	}))
}
