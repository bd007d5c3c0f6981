//go:build e2e

package realmesh

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gatehouse.dev/test/cluster"
)

var (
	rate   = flag.Int("rate", 200, "requests a second")
	breath = flag.Duration("breath", 2*time.Second, "of requests after each phase of a rotation")
)

func TestMain(m *testing.M) {
	cluster.Enter()
	code := m.Run()
	figures.print()
	os.Exit(code)
}

// binary is one of the programs that build.sh builds.
func binary(tb testing.TB, name string) string {
	tb.Helper()
	path, err := filepath.Abs(filepath.Join("bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		tb.Fatalf("%v: build it with test/realmesh/build.sh (make e2e-mesh does)", err)
	}
	return path
}

// buildWorkload builds the pods' program.
func buildWorkload(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "workload")
	if err := cluster.Build(tb.Context(), workloadPackage, path); err != nil {
		tb.Fatal(err)
	}
	return path
}

const workloadPackage = "gatehouse.dev/test/realmesh/workload"

// shortDir is a folder whose name leaves room for a socket's.
func shortDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "mesh-") //nolint:usetesting // TempDir's name holds the test's: too long for the path of a socket
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Log(err)
		}
	})
	return dir
}

func write(tb testing.TB, path, format string, args ...any) {
	tb.Helper()
	if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600); err != nil {
		tb.Fatal(err)
	}
}
