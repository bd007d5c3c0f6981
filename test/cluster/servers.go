package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	etcdClients = "http://127.0.0.1:2379"
	etcdPeers   = "http://127.0.0.1:2380"
	managerPort = "10257"
	kubeletPort = 10250
)

// binaries finds the servers.
func (c *Cluster) binaries(ctx context.Context) error {
	if c.config.Binaries == "" {
		c.config.Binaries = os.Getenv("GATEHOUSE_KUBE_BIN")
	}
	if c.config.Binaries == "" {
		root, err := moduleDir(ctx, "gatehouse.dev")
		if err != nil {
			return err
		}
		c.config.Binaries = filepath.Join(root, "test", "kube", "bin")
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		if _, err := os.Stat(filepath.Join(c.config.Binaries, name)); err != nil {
			return fmt.Errorf("%w: build the servers with `make kube` (test/kube/build.sh)", err)
		}
	}
	return nil
}

// moduleDir is the folder of a module of this build.
func moduleDir(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("go list -m %s: %w", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// servers starts all three and the images' builds beside them.
func (c *Cluster) servers(ctx context.Context) error {
	built := make(chan error, 1)
	go func() { built <- c.buildImages(ctx) }()
	c.etcd = c.component("etcd", c.etcdFlags())
	c.api = c.component("kube-apiserver", c.apiFlags())
	c.manager = c.component("kube-controller-manager", c.managerFlags())
	for _, p := range []struct {
		*component
		ask func(context.Context) error
	}{{c.etcd, etcdReady}, {c.api, c.apiReady}, {c.manager, managerReady}} {
		if err := p.start(); err != nil {
			return err
		}
		if err := p.ready(ctx, p.ask); err != nil {
			return err
		}
	}
	return <-built
}

func (c *Cluster) component(name string, flags map[string]string) *component {
	p := &component{name: name, path: filepath.Join(c.config.Binaries, name), log: filepath.Join(c.dir, name+".log")}
	for _, flag := range slices.Sorted(maps.Keys(flags)) {
		p.args = append(p.args, "--"+flag+"="+flags[flag])
	}
	return p
}

// path is a file of the cluster's folder.
func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *Cluster) etcdFlags() map[string]string {
	return map[string]string{
		"name":                  "test",
		"data-dir":              c.path("etcd"),
		"listen-client-urls":    etcdClients,
		"advertise-client-urls": etcdClients,
		"listen-peer-urls":      etcdPeers,
		"unsafe-no-fsync":       "true",
		"log-level":             "error",
	}
}

func (c *Cluster) apiFlags() map[string]string {
	flags := map[string]string{
		"advertise-address": Server.Addr().String(),
		"bind-address":      Server.Addr().String(),
		"secure-port":       fmt.Sprint(Server.Port()),
		"etcd-servers":      etcdClients,
		// The real one writes its address into a Service that nothing here serves.
		"endpoint-reconciler-type":         "none",
		"service-cluster-ip-range":         strings.Join(families([]string{"10.96.0.0/16", "fd00:10:96::/112"}), ","),
		"authorization-mode":               "RBAC",
		"allow-privileged":                 "true",
		"client-ca-file":                   c.path("ca.crt"),
		"tls-cert-file":                    c.path("apiserver.crt"),
		"tls-private-key-file":             c.path("apiserver.key"),
		"kubelet-client-certificate":       c.path("kubelet-client.crt"),
		"kubelet-client-key":               c.path("kubelet-client.key"),
		"kubelet-certificate-authority":    c.path("ca.crt"),
		"kubelet-preferred-address-types":  "InternalIP",
		"service-account-issuer":           "https://kubernetes.default.svc",
		"service-account-signing-key-file": c.path("service-account.key"),
		"service-account-key-file":         c.path("service-account.key"),
		"audit-policy-file":                c.path("audit.yaml"),
		"audit-log-path":                   c.AuditLog(),
	}
	maps.Copy(flags, c.config.APIServer)
	return flags
}

func (c *Cluster) managerFlags() map[string]string {
	flags := map[string]string{
		"kubeconfig":                       c.path("controller-manager.kubeconfig"),
		"bind-address":                     "127.0.0.1",
		"secure-port":                      managerPort,
		"leader-elect":                     "false",
		"root-ca-file":                     c.path("ca.crt"),
		"service-account-private-key-file": c.path("service-account.key"),
		// What tests need, and nothing that would wait for nodes or volumes.
		"controllers": strings.Join([]string{
			"deployment-controller", "replicaset-controller", "job-controller", "disruption-controller",
			"endpointslice-controller", "namespace-controller", "garbage-collector-controller",
			"serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
			"clusterrole-aggregation-controller",
		}, ","),
	}
	maps.Copy(flags, c.config.ControllerManager)
	return flags
}

func (c *Cluster) apiReady(ctx context.Context) error {
	return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

func etcdReady(ctx context.Context) error { return ask(ctx, etcdClients+"/health") }

func managerReady(ctx context.Context) error {
	return ask(ctx, "https://127.0.0.1:"+managerPort+"/healthz")
}

// ask is nil when the URL answers 200. The certificate is not checked: the
// controller manager signs its own, and this only waits.
func ask(ctx context.Context, url string) error {
	client := http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(io.LimitReader(resp.Body, 4096)); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %s", url, resp.Status, text)
	}
	return nil
}
