package programs

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse.dev/fake/remote"
)

// Cloud is a fake cloud with its data plane, in a process of its own.
type Cloud struct {
	*Running
	Address string // for --fake-cloud
	State   string // the folder of what it holds
	Admin   *remote.Admin

	program string
	args    []string
	manager string // the program that is run over it, built when the cloud was
}

// StartCloud starts an empty one, whose gateways have addresses of a prefix, and
// waits until it answers.
func StartCloud(tb testing.TB, pool string) *Cloud {
	tb.Helper()
	dir := tb.TempDir()
	socket := filepath.Join(dir, "run", "cloud.sock")
	c := &Cloud{Address: "unix://" + socket, State: filepath.Join(dir, "state")}
	c.program, c.manager = build(tb, "gatehouse"), build(tb, "gatehouse-controller-manager")
	c.args = []string{"fake-cloud", "--state", c.State, "--socket", socket, "--address-pool", pool, "--ports", "exact", "--faults"}
	c.Restart(tb)
	return c
}

// Restart starts a cloud that has ended, with what it held.
func (c *Cloud) Restart(tb testing.TB) {
	tb.Helper()
	c.Running = Run(tb, "fake-cloud", c.program, c.args...)
	eventually(tb, func(ctx context.Context) (err error) {
		c.Admin, err = remote.OpenAdmin(remote.Config{Address: c.Address})
		if err == nil {
			_, err = c.Admin.State(ctx)
		}
		return err
	})
	tb.Cleanup(c.Admin.Close)
}

// Now is what it holds and has been asked.
func (c *Cloud) Now(tb testing.TB) remote.State {
	tb.Helper()
	s, err := c.Admin.State(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Changes are the calls so far that changed the cloud, by name.
func (c *Cloud) Changes(tb testing.TB) map[string]int {
	tb.Helper()
	calls := c.Now(tb).Calls
	maps.DeleteFunc(calls, func(name string, _ int) bool { return reads(name) })
	return calls
}

// Calls are how many changed the cloud so far, and how many only looked.
func (c *Cloud) Calls(tb testing.TB) (changes, looks int) {
	tb.Helper()
	for name, n := range c.Now(tb).Calls {
		if reads(name) {
			looks += n
		} else {
			changes += n
		}
	}
	return changes, looks
}

func reads(call string) bool {
	return strings.HasPrefix(call, "List") || strings.HasPrefix(call, "Get") || strings.HasPrefix(call, "Find")
}
