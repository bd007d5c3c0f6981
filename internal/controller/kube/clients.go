package kube

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// FieldManager is our name in managedFields.
const FieldManager = "gatehouse"

// Clients are the connections to one API server. They are safe for use by several
// goroutines.
type Clients struct {
	Core      kubernetes.Interface // protobuf
	Metadata  metadata.Interface
	Dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	kinds     []Kind
	rest      map[schema.GroupVersion]rest.Interface
	scheme    *runtime.Scheme
	codec     runtime.ParameterCodec

	mu     sync.RWMutex
	served map[string]Resource // by kind
}

// New makes the clients of the table's kinds and of more (see Untyped). It makes no
// call. The configuration's own content type is not used: a cloud-controller-manager's
// is protobuf, which no custom resource speaks.
func New(config *rest.Config, more ...Kind) (*Clients, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 && config.RateLimiter == nil {
		config.QPS = -1 // the server's own fairness, and not a default of five a second
	}
	asJSON, asProtobuf := rest.CopyConfig(config), rest.CopyConfig(config)
	asJSON.ContentConfig = rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON}
	asProtobuf.ContentConfig = rest.ContentConfig{ContentType: protobuf, AcceptContentTypes: protobuf + "," + runtime.ContentTypeJSON}

	c := &Clients{kinds: append(Kinds(), more...), rest: map[schema.GroupVersion]rest.Interface{}, served: map[string]Resource{}}
	var err error
	if c.Core, err = kubernetes.NewForConfig(asProtobuf); err != nil {
		return nil, fmt.Errorf("core client: %w", err)
	}
	if c.Metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("metadata client: %w", err)
	}
	if c.Dynamic, err = dynamic.NewForConfig(asJSON); err != nil {
		return nil, fmt.Errorf("dynamic client: %w", err)
	}
	c.discovery = c.Core.Discovery()
	c.scheme = newScheme()
	c.codec = runtime.NewParameterCodec(c.scheme)
	return c, c.connect(asJSON, asProtobuf)
}

// connect makes a client for each version in the table.
func (c *Clients) connect(asJSON, asProtobuf *rest.Config) error {
	codecs := serializer.NewCodecFactory(c.scheme).WithoutConversion()
	custom := map[string]bool{}
	for _, k := range Kinds() {
		custom[k.Group] = k.Custom
	}
	for _, gv := range groupVersions(Kinds()) {
		config := rest.CopyConfig(asProtobuf)
		if custom[gv.Group] {
			config = rest.CopyConfig(asJSON)
		}
		config.GroupVersion, config.NegotiatedSerializer, config.APIPath = &gv, codecs, "/apis"
		if gv.Group == "" {
			config.APIPath = "/api"
		}
		client, err := rest.RESTClientFor(config)
		if err != nil {
			return fmt.Errorf("client of %s: %w", gv, err)
		}
		c.rest[gv] = client
	}
	return nil
}

// newScheme gives each kind's Go type every version of the table.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, gv := range groupVersions(Kinds()) {
		metav1.AddToGroupVersion(scheme, gv)
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, k := range Kinds() {
		for _, v := range k.Versions {
			gv := schema.GroupVersion{Group: k.Group, Version: v}
			scheme.AddKnownTypeWithName(gv.WithKind(k.Name), k.New())
			scheme.AddKnownTypeWithName(gv.WithKind(k.Name+"List"), k.newList())
		}
	}
	return scheme
}

// Kinds are the kinds that these clients know.
func (c *Clients) Kinds() []Kind { return c.kinds }

// Resource is a kind as it was last found to be served. ok is false when it is not.
func (c *Clients) Resource(kind string) (r Resource, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r, ok = c.served[kind]
	return r, ok
}
