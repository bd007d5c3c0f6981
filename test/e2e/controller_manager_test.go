//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"gatehouse.dev/fake/cloud"
	fakelocal "gatehouse.dev/fake/local"
	"gatehouse.dev/internal/controller"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/providers"
	"gatehouse.dev/test/cluster"
)

// manager is the controller in this process, over a cloud that outlives it.
type manager struct {
	cluster *cluster.Cluster
	local   *fakelocal.Local
	log     *slog.Logger
	denied  atomic.Pointer[string] // the name of a gateway for which every change is refused
	refused atomic.Pointer[refusal]
	writes  atomic.Int64 // of statuses

	services types.NamespacedName // the GatewayParameters of Services; zero is none

	unclassed string // the provider of Services without a class

	meshes   *controller.MeshConfig // nil: nobody issues for a mesh
	dialects map[string]meshsync.Dialect
	keyring  atomic.Pointer[providers.Keyring]

	running *controller.Controller
	cancel  context.CancelFunc
	ended   chan error
}

// newManager opens the cloud, and serves what it holds until the test ends.
func newManager(t *testing.T, c *cluster.Cluster) *manager {
	t.Helper()
	m := &manager{cluster: c, cancel: func() {}, log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	var err error
	m.local, err = fakelocal.Open(fakelocal.Config{Keyring: m.key, Log: m.log, Intercept: m})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.local.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.cancel()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := m.local.Shutdown(ctx); err != nil {
			t.Log(err)
		}
	})
	return m
}

// key asks the keyring of the controller that runs now.
func (m *manager) key(ctx context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	return (*m.keyring.Load())(ctx, id)
}

// refusal is of one kind of call, for one gateway.
type refusal struct{ call, owner string }

// everybody is who is denied when nobody may change anything.
const everybody = "*"

// Before implements cloud.Interceptor.
func (m *manager) Before(call cloud.Call) cloud.Fault {
	name, one := m.denied.Load(), m.refused.Load()
	denied := name != nil && call.Write && (*name == everybody || call.Owner.Name == *name)
	if denied || one != nil && *one == (refusal{call.Name, call.Owner.Name}) {
		return cloud.Fault{Kind: cloud.Refuse, Error: &cloud.CallError{Code: cloud.AccessDenied, Message: "the role may not do that"}}
	}
	return cloud.Fault{}
}

// After implements cloud.Interceptor.
func (m *manager) After(cloud.Call) {}

// start runs a controller as a manager that has just become the leader.
func (m *manager) start(t *testing.T) {
	t.Helper()
	services := map[string]types.NamespacedName{}
	if m.services != (types.NamespacedName{}) {
		services["fake"] = m.services
	}
	keyring, meshes := controller.Keyring(m.cluster.Client()), (*controller.Meshes)(nil)
	if m.meshes != nil {
		meshes = controller.NewMeshes(*m.meshes)
		keyring = meshes.Keyring(keyring)
	}
	m.keyring.Store(&keyring)
	con, err := controller.New(controller.Config{
		Meshes: meshes, Dialects: m.dialects,
		ServiceParameters: services,
		REST:              m.cluster.REST(), Cluster: "e2e", Recorder: record.NewFakeRecorder(1 << 16), Log: m.log,
		ServiceDefault: m.unclassed,
		Providers: []controller.Provider{{
			Name:    "fake",
			Account: providers.Config{Provider: m.local.Provider, Patience: m.local.Patience()},
		}},
		Metrics: controller.Metrics{StatusWrites: func(string) { m.writes.Add(1) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	m.running, m.cancel, m.ended = con, cancel, make(chan error, 1)
	go func() { m.ended <- con.Run(ctx) }()
}

// stop ends it, and waits until it is over.
func (m *manager) stop(t *testing.T) {
	t.Helper()
	m.cancel()
	select {
	case err := <-m.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the controller does not end")
	}
}

// mutations are the calls so far that changed the cloud.
func (m *manager) mutations() int {
	n := 0
	for name, count := range m.local.Cloud.Calls() {
		if !strings.HasPrefix(name, "List") && !strings.HasPrefix(name, "Get") && !strings.HasPrefix(name, "Find") {
			n += count
		}
	}
	return n
}

// quiet waits until nothing has been written, to the cloud or the cluster, for a
// while.
func (m *manager) quiet(t *testing.T) {
	t.Helper()
	const still = 3 * time.Second
	last, since := int64(-1), time.Now()
	for deadline := time.Now().Add(30 * time.Second); time.Since(since) < still; time.Sleep(100 * time.Millisecond) {
		if now := int64(m.mutations()) + m.writes.Load(); now != last {
			last, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			t.Fatal("writes do not end")
		}
	}
}

// nothingOf says what the cloud holds of a gateway.
func (m *manager) nothingOf(name string) error {
	for _, o := range m.local.Cloud.Dump() {
		if o.Tags.Owner.Name == name {
			return fmt.Errorf("%s %s of gateway %s is left in the cloud", o.Kind, o.Name, name)
		}
	}
	return nil
}
