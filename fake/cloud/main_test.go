package cloud

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		os.Exit(crashingChild(dir))
	}
	goleak.VerifyTestMain(m)
}
