package ccm

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain holds that what is started here ends. klog's flusher is the framework's
// and lives as long as the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}
