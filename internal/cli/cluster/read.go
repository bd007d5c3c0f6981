package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/pager"

	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/keypair"
	"gatehouse.dev/internal/translate"
)

// Secrets says whether Secrets are read too: nothing but their public part is kept.
type Secrets string

// The choices.
const (
	NoSecrets  Secrets = ""
	TLSSecrets Secrets = "TLS" // those of type kubernetes.io/tls
)

// Objects is what a cluster holds of the kinds that translation reads.
type Objects struct {
	All []any // as a translate.Change has them
	// Forbidden are the kinds that one has no right to list, by name.
	Forbidden []string
	// NoTrustBundles says that the cluster does not serve ClusterTrustBundles.
	NoTrustBundles bool
}

// pageSize is how many objects one call lists.
const pageSize = 500

// Read lists all of a cluster once: the kinds of Gateway API, what they lead to, and
// the meshes' own. Kinds that the cluster does not serve have no objects; those that
// one may not list are told.
func Read(ctx context.Context, a Access, meshes []schema.GroupVersionKind, secrets Secrets) (Objects, error) {
	settings, err := config(a).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return Objects{}, errors.New("there is no cluster to read: name files with -f, or a kubeconfig with --kubeconfig or KUBECONFIG")
	}
	if err != nil {
		return Objects{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	settings.UserAgent = "gatehouse"
	clients, err := kube.New(settings, kube.Untyped(meshes)...)
	if err != nil {
		return Objects{}, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if err := clients.Discover(ctx); err != nil {
		return Objects{}, fmt.Errorf("asking the cluster which kinds it has: %w", err)
	}
	out := Objects{}
	_, bundles := clients.Resource(translate.KindTrustBundle)
	out.NoTrustBundles = !bundles
	for _, kind := range clients.Kinds() {
		if r, served := clients.Resource(kind.Name); served && wanted(kind.Name, secrets) {
			if err := out.list(ctx, r); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// wanted leaves out what no mesh has to do with.
func wanted(kind string, secrets Secrets) bool {
	switch kind {
	case kube.KindPlan, translate.KindNode:
		return false
	case translate.KindSecret:
		return secrets == TLSSecrets
	default:
		return true
	}
}

func (o *Objects) list(ctx context.Context, r kube.Resource) error {
	options := metav1.ListOptions{}
	if r.Kind.Name == translate.KindSecret {
		options.FieldSelector = "type=" + string(corev1.SecretTypeTLS)
	}
	pages := pager.New(pager.ListPageFunc(r.ListWatch().ListWithContextFunc))
	pages.PageSize = pageSize
	list, _, err := pages.List(ctx, options)
	if apierrors.IsForbidden(err) {
		o.Forbidden = append(o.Forbidden, r.Kind.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing the objects of kind %s: %w", r.Kind.Name, err)
	}
	return meta.EachListItem(list, func(obj runtime.Object) error {
		o.All = append(o.All, public(obj))
		return nil
	})
}

// public is an object as a Snapshot has it: without the keys of Secrets.
func public(obj runtime.Object) any {
	if s, ok := obj.(*corev1.Secret); ok {
		return keypair.Take(s).Public
	}
	return obj
}
