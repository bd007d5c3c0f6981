package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"gatehouse.dev/test/cluster/certs"
	"gatehouse.dev/test/cluster/kubelet"
)

// Config says what the cluster is like. The zero value is one node, the echo
// image and an audit log of metadata.
type Config struct {
	// Nodes, 1 unless set. Node n is "node-n" with the n-th address of 198.19.1.0/24.
	Nodes int
	// Images maps an image to a static program of this machine; Packages maps an
	// image to the Go package that is built for it. Both know [EchoImage] already.
	Images, Packages map[string]string
	// Audit is the level of the audit log: Metadata unless set, Request or
	// RequestResponse.
	Audit string
	// APIServer and ControllerManager are further flags, without the dashes.
	APIServer, ControllerManager map[string]string
	// Dir holds data and logs; it is made when needed and stays. Unset, a
	// temporary folder that goes with the cluster.
	Dir string
	// Binaries is the folder of the servers; unset, $GATEHOUSE_KUBE_BIN or
	// test/kube/bin of this module.
	Binaries string
	// Log gets what the harness itself has to say; nothing unless set.
	Log *slog.Logger
}

// Cluster is a running one.
type Cluster struct {
	config Config
	dir    string
	temp   bool // dir goes with the cluster
	ca     *certs.Authority
	admin  *rest.Config

	etcd, api, manager *component
	client             kubernetes.Interface
	dynamic            dynamic.Interface
	kinds              *restmapper.DeferredDiscoveryRESTMapper
	kubelet            *kubelet.Kubelet
	stop               []func() // in reverse order
}

// Start runs a cluster until the test ends, and shows the ends of its logs when
// the test has failed. It fails the test when a part does not come up.
func Start(tb testing.TB, config Config) *Cluster {
	tb.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(tb.Context(), 90*time.Second)
	defer cancel()
	c, err := New(ctx, config)
	if err != nil {
		tb.Fatalf("cluster: %v", err)
	}
	tb.Logf("cluster: up after %v, data and logs in %s", time.Since(begin).Round(100*time.Millisecond), c.dir)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("cluster: the ends of the logs\n%s", c.Logs(15))
		}
		c.Stop()
	})
	return c
}

// New starts a cluster. The context bounds the start only; end the cluster with
// Stop. An error quotes the log of the part that failed, and nothing runs.
func New(ctx context.Context, config Config) (*Cluster, error) {
	config.Nodes = max(config.Nodes, 1)
	if config.Audit == "" {
		config.Audit = "Metadata"
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	c := &Cluster{config: config, dir: config.Dir}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if os.Getenv(inside) == "" {
		return errors.New("not in the namespaces of the tests: call cluster.Main from TestMain")
	}
	for _, step := range []func(context.Context) error{c.folder, c.binaries, c.credentials, c.servers, c.nodes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) folder(context.Context) (err error) {
	if c.dir == "" {
		c.temp = true
		c.dir, err = os.MkdirTemp("", "gatehouse-cluster-")
		return err
	}
	return os.MkdirAll(c.dir, 0o755)
}

// Stop ends everything and removes the temporary folder. It may be called more
// than once.
func (c *Cluster) Stop() {
	for len(c.stop) > 0 {
		last := len(c.stop) - 1
		c.stop[last]()
		c.stop = c.stop[:last]
	}
	for _, p := range []*component{c.manager, c.api, c.etcd} {
		if p != nil {
			p.stop(unix.SIGKILL, time.Second)
		}
	}
	if c.temp {
		if err := os.RemoveAll(c.dir); err != nil {
			c.config.Log.Warn("folder of the cluster stays", "dir", c.dir, "error", err)
		}
	}
}

// Logs is the last lines of each server's log and of the pods'.
func (c *Cluster) Logs(lines int) string {
	var out []byte
	for _, p := range []*component{c.etcd, c.api, c.manager} {
		if p != nil {
			out = fmt.Appendf(out, "--- %s\n%s", p.name, p.tail(lines))
		}
	}
	pods, err := filepath.Glob(filepath.Join(c.dir, "kubelet", "logs", "*"))
	for _, name := range pods {
		p := component{log: name}
		out = fmt.Appendf(out, "--- %s\n%s", filepath.Base(name), p.tail(lines))
	}
	if err != nil {
		out = fmt.Appendf(out, "--- pods: %v\n", err)
	}
	return string(out)
}

// Dir is the folder of the cluster's data and logs.
func (c *Cluster) Dir() string { return c.dir }

// AuditLog is the path of the API server's audit log, one JSON event a line.
func (c *Cluster) AuditLog() string { return filepath.Join(c.dir, "audit.log") }

// Client is a typed client with the administrator's rights.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// Dynamic is an untyped client with the administrator's rights.
func (c *Cluster) Dynamic() dynamic.Interface { return c.dynamic }

// KillAPIServer ends the API server at once, as a crash does, and leaves it down.
func (c *Cluster) KillAPIServer() { c.api.stop(unix.SIGKILL, time.Second) }

// RestartAPIServer ends the API server (as an upgrade does, unless it is down
// already) and starts it again; it returns when it is ready.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	c.api.stop(unix.SIGTERM, 5*time.Second)
	if err := c.api.start(); err != nil {
		return err
	}
	return c.api.ready(ctx, c.apiReady)
}
