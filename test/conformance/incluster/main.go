// Command incluster is a gateway inside a cluster, for tests: the controller, a
// fake cloud and its data plane in one pod, which answers at the pod's own
// address. It takes the GatewayClasses whose controllerName is $CONTROLLER_NAME
// and keeps no state; its classes' address pool has to be the pod's address.
//
// It is not a product: it elects no leader, and what it serves ends with it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/fake/local"
	"gatehouse.dev/internal/controller"
	"gatehouse.dev/providers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	cloud, err := local.Open(local.Config{Keyring: controller.Keyring(client), Log: log, Ports: dataplane.PortsExact})
	if err != nil {
		return err
	}
	if err := cloud.Serve(ctx); err != nil {
		return err
	}
	c, err := controller.New(controller.Config{
		REST: config, Cluster: "in-cluster", Namespace: os.Getenv("NAMESPACE"), Log: log,
		Recorder: record.NewBroadcaster().NewRecorder(scheme.Scheme, corev1.EventSource{Component: "in-cluster"}), // heard by nobody
		Providers: []controller.Provider{{
			Name: "fake", ControllerName: os.Getenv("CONTROLLER_NAME"),
			Account: providers.Config{Provider: cloud.Provider, Patience: cloud.Patience()},
		}},
	})
	if err != nil {
		return err
	}
	err = c.Run(ctx)
	return errors.Join(err, cloud.Shutdown(context.WithoutCancel(ctx)), cloud.Close())
}
