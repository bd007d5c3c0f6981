package ccm

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"

	"gatehouse.dev/internal/controller"
)

// meshCollector tells what was last learned of meshes' certificates: of those that
// are gone it tells nothing any more.
type meshCollector struct {
	metrics.BaseStableCollector
	root, identity, source *metrics.Desc

	mu   sync.Mutex
	last controller.MeshFigures
}

func newMeshCollector() *meshCollector {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(namespace+"_mesh_"+name, help, labels, nil, metrics.ALPHA, "")
	}
	return &meshCollector{
		root:     desc("root_not_after_seconds", "When a root that a mesh publishes ends, in seconds since 1970.", "binding", "sha256"),
		identity: desc("identity_not_after_seconds", "When a gateway's live client certificate ends, in seconds since 1970. namespace and name are the Gateway's.", "binding", "namespace", "name"),
		source:   desc("source_age_seconds", "How long ago a mesh's roots could last be read; 0 while they can.", "binding"),
	}
}

// learn takes what is known now.
func (c *meshCollector) learn(f controller.MeshFigures) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = f
}

// DescribeWithStability implements metrics.StableCollector.
func (c *meshCollector) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- c.root
	ch <- c.identity
	ch <- c.source
}

// CollectWithStability implements metrics.StableCollector.
func (c *meshCollector) CollectWithStability(ch chan<- metrics.Metric) {
	c.mu.Lock()
	f := c.last
	c.mu.Unlock()
	for _, r := range f.Roots {
		ch <- metrics.NewLazyConstMetric(c.root, metrics.GaugeValue, float64(r.NotAfter.Unix()), r.Binding, r.SHA256)
	}
	for _, i := range f.Identities {
		ch <- metrics.NewLazyConstMetric(c.identity, metrics.GaugeValue, float64(i.NotAfter.Unix()), i.Binding, i.Namespace, i.Name)
	}
	for _, s := range f.Sources {
		age := 0.0
		if !s.Stale.IsZero() {
			age = time.Since(s.Stale).Seconds()
		}
		ch <- metrics.NewLazyConstMetric(c.source, metrics.GaugeValue, age, s.Binding)
	}
}
