//go:build e2e

package e2e

import (
	"testing"

	"gatehouse.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
