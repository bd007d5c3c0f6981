//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"

	"gatehouse.dev/test/cluster"
)

// TestStop ends a cluster under a pod that lingers: no process, link, folder or
// goroutine of it stays. Everything else relies on that when it looks for leaks
// of its own.
func TestStop(t *testing.T) {
	before := goleak.IgnoreCurrent()
	c, err := cluster.New(t.Context(), cluster.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	c.Apply(t, shop)
	readyPods(t, c, "app=web", 2)
	c.Stop()
	if _, err := os.Stat(c.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder %s is still there (%v)", c.Dir(), err)
	}
	// The kernel takes links away some time after their namespace.
	eventually(t, func(context.Context) error {
		links, err := netlink.LinkList()
		if err == nil && len(links) != 2 {
			err = fmt.Errorf("%d links, want the loopback and the bridge", len(links))
		}
		return err
	})
	children(t)
	goleak.VerifyNone(t, before)
}

// children fails the test when this process has any.
func children(t *testing.T) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Fatalf("the kernel does not list children: %v", err)
	}
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) { // a thread may end meanwhile
			t.Fatal(err)
		}
		if len(text) > 0 {
			t.Errorf("children are left: %s", text)
		}
	}
}
