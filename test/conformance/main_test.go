package conformance

import (
	"testing"

	"gatehouse.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
