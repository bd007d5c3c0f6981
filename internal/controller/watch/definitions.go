package watch

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/gateway-api/pkg/consts"
)

// gatewayDefinition is the CustomResourceDefinition whose bundle counts.
const gatewayDefinition = "gateways.gateway.networking.k8s.io"

// newestMinor is the newest Gateway API v1.x that our types are of. Older ones are
// parts of it.
const newestMinor = 7

// definitions follows the names and annotations of CustomResourceDefinitions.
type definitions struct {
	store    cache.Store
	informer cache.Controller
	changed  chan struct{}
}

func newDefinitions(client metadata.Interface) *definitions {
	d := &definitions{changed: make(chan struct{}, 1)}
	resource := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	tell := func(any) {
		select {
		case d.changed <- struct{}{}:
		default:
		}
	}
	d.store, d.informer = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return resource.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
				return resource.Watch(ctx, o)
			},
		},
		ObjectType: &metav1.PartialObjectMetadata{}, Transform: new(trimmer).trim,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, obj any) { tell(obj) }, DeleteFunc: tell},
	})
	return d
}

func (d *definitions) run(ctx context.Context) { d.informer.RunWithContext(ctx) }

func (d *definitions) synced() bool { return d.informer.HasSynced() }

// has says whether there is a definition of a name.
func (d *definitions) has(name string) bool {
	_, there, err := d.store.GetByKey(name)
	return there && err == nil
}

// problem is why the installed Gateway API is none that we know.
func (d *definitions) problem() string {
	obj, there, err := d.store.GetByKey(gatewayDefinition)
	meta, ok := obj.(metav1.Object)
	if err != nil || !there || !ok {
		return ""
	}
	return versionProblem(meta.GetAnnotations()[consts.BundleVersionAnnotation])
}

func versionProblem(bundle string) string {
	known := fmt.Sprintf("install the standard or experimental channel of v1.%d or older", newestMinor)
	if bundle == "" {
		return fmt.Sprintf("CustomResourceDefinition %s has no annotation %s, so nobody can say which version it is of; %s",
			gatewayDefinition, consts.BundleVersionAnnotation, known)
	}
	rest, v1 := strings.CutPrefix(bundle, "v1.")
	minor, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(minor); !v1 || err != nil || n > newestMinor {
		return fmt.Sprintf("CustomResourceDefinition %s is of Gateway API %s, which is not known here; %s", gatewayDefinition, bundle, known)
	}
	return ""
}
