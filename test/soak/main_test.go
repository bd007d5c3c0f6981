//go:build e2e

package soak

import (
	"flag"
	"testing"
	"time"

	"gatehouse.dev/test/cluster"
)

var (
	duration = flag.Duration("duration", time.Minute, "how long everything happens")
	seed     = flag.Uint64("seed", 0, "what edits are chosen by; 0 is another one each time, which is printed")
)

func TestMain(m *testing.M) { cluster.Main(m) }
