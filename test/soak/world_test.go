//go:build e2e

package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/certs"
	"gatehouse.dev/test/cluster/programs"
)

const clusterName = "soak"

// pool is where gateways have their addresses.
const pool = "198.18.0.0/16"

// world is everything.
type world struct {
	*cluster.Cluster
	t         *testing.T
	cloud     *programs.Cloud
	managers  []*programs.Manager
	config    programs.ManagerConfig
	journal   *journal
	authority *certs.Authority
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	c.InstallCRDs(t, cluster.Standard)
	for _, name := range []string{"namespace.yaml", "rbac.yaml"} {
		c.ApplyFile(t, filepath.Join("..", "..", "deploy", name))
	}
	who, err := c.As("system:serviceaccount:gatehouse-system:gatehouse-controller-manager") // by a certificate: it does not run out
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(c.Dir(), "manager.kubeconfig")
	if err := c.WriteKubeconfig(kubeconfig, who); err != nil {
		t.Fatal(err)
	}
	c.Apply(t, serviceParameters)
	config := filepath.Join(c.Dir(), "manager.yaml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &world{Cluster: c, t: t, cloud: programs.StartCloud(t, pool), journal: newJournal(t)}
	w.config = programs.ManagerConfig{
		Kubeconfig: kubeconfig, Cluster: clusterName, Port: 11000, Cloud: w.cloud,
		Flags: append(programs.Quick(), programs.OpenMetrics, "--leader-elect-resource-namespace=gatehouse-system", "--gatehouse-config="+config),
	}
	if w.authority, err = certs.NewAuthority("soak"); err != nil {
		t.Fatal(err)
	}
	return w
}

// start starts another replica.
func (w *world) start() *programs.Manager {
	r := programs.StartManager(w.t, w.config)
	w.config.Port++ // the last one's may still be in use
	w.managers = append(w.managers, r)
	return r
}

// leader is the replica that leads.
func (w *world) leader() *programs.Manager {
	w.t.Helper()
	var found *programs.Manager
	cluster.Eventually(w.t, time.Minute, func(ctx context.Context) error {
		errs := []error{errors.New("nobody leads")}
		for _, r := range w.managers {
			err := r.Leads(ctx)
			if err == nil {
				found = r
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	return found
}

// settle waits until the cloud has not been changed for a while.
func (w *world) settle() {
	w.t.Helper()
	const still = 5 * time.Second
	last, since := -1, time.Now()
	cluster.Eventually(w.t, 2*time.Minute, func(context.Context) error {
		if now, _ := w.cloud.Calls(w.t); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < still {
			return fmt.Errorf("the cloud is still being changed, %d times so far", last)
		}
		return nil
	})
}

// stubborn does something until it is done: the API server may be away, and an
// answer may be lost. It gives up when ctx ends.
func stubborn(ctx context.Context, do func(context.Context) error) error {
	for {
		one, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := do(one)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// put applies objects, stubbornly.
func (w *world) put(ctx context.Context, text string) error {
	objects, err := cluster.Parse(text)
	if err != nil {
		return err
	}
	return stubborn(ctx, func(ctx context.Context) error { return w.ApplyObjects(ctx, objects...) })
}

// remove deletes an object, stubbornly.
func (w *world) remove(ctx context.Context, kind schema.GroupVersionResource, ns, name string) error {
	return stubborn(ctx, func(ctx context.Context) error {
		err := w.Dynamic().Resource(kind).Namespace(ns).Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// rotate makes a Secret one with a new certificate, whose first name is given.
func (w *world) rotate(ctx context.Context, secret, leaf string) error {
	pair, err := w.authority.Server(nil, leaf)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": string(corev1.SecretTypeTLS),
		"metadata":   map[string]any{"name": secret, "namespace": namespace},
		"stringData": map[string]any{corev1.TLSCertKey: string(pair.Cert), corev1.TLSPrivateKeyKey: string(pair.Key)},
	}}
	return stubborn(ctx, func(ctx context.Context) error { return w.ApplyObjects(ctx, o) })
}

func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

var (
	gateways   = resource("gateway.networking.k8s.io", "v1", "gateways")
	httpRoutes = resource("gateway.networking.k8s.io", "v1", "httproutes")
	grants     = resource("gateway.networking.k8s.io", "v1beta1", "referencegrants")
	classes    = resource("gateway.networking.k8s.io", "v1", "gatewayclasses")
	parameters = resource("gatehouse.dev", "v1alpha1", "gatewayparameters")
	services   = resource("", "v1", "services")
	secrets    = resource("", "v1", "secrets")
	plans      = resource("gatehouse.dev", "v1alpha1", "gatewayplans")
)

// addressOf is where a Gateway, or a Service, is served.
func (w *world) addressOf(ctx context.Context, kind schema.GroupVersionResource, name string) (string, error) {
	o, err := w.Dynamic().Resource(kind).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	path, field := []string{"status", "addresses"}, "value"
	if kind == services {
		path, field = []string{"status", "loadBalancer", "ingress"}, "ip"
	}
	list, _, err := unstructured.NestedSlice(o.Object, path...)
	if err != nil || len(list) == 0 {
		return "", errors.Join(err, fmt.Errorf("%s %s has no address", kind.Resource, name))
	}
	at, _, err := unstructured.NestedString(list[0].(map[string]any), field)
	return at, err
}
