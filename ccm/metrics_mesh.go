package ccm

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"

	"gatehouse.dev/internal/controller"
	"gatehouse.dev/internal/rootsync"
)

// meshCollector tells what was last learned of meshes' certificates: of those that
// are gone it tells nothing any more.
type meshCollector struct {
	metrics.BaseStableCollector
	root, identity, source               *metrics.Desc
	age, sequence, failing, publications *metrics.Desc

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
		age: desc("bundle_age_seconds", "For how long nobody knows whether the roots of a place outside of the cluster are those that are published; 0 while it tells of changes. "+
			"kind is that of the place, name the trust domain.", "binding", "kind", "name", "where"),
		sequence: desc("bundle_sequence", "The sequence number of a SPIFFE bundle; 0 where there is none.", "binding", "kind", "name", "where"),
		failing:  desc("bundle_failing_since_seconds", "Since when a place outside of the cluster cannot be read, in seconds since 1970; 0 while it can.", "binding", "kind", "name", "where"),
		publications: desc("bundle_changes_total", "How often a place outside of the cluster published other roots than before, since this process reads it.",
			"binding", "kind", "name", "where"),
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
	for _, d := range []*metrics.Desc{c.root, c.identity, c.source, c.age, c.sequence, c.failing, c.publications} {
		ch <- d
	}
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
	if f.Bundles != nil {
		c.bundles(ch, f.Bundles())
	}
}

// bundles tells of places as they are now: an age that was learned would stand still.
func (c *meshCollector) bundles(ch chan<- metrics.Metric, all []rootsync.Figure) {
	seen := map[[4]string]bool{}
	for _, b := range all {
		labels := [4]string{b.Binding, b.Kind, b.Name, b.Where}
		if seen[labels] { // asked in two ways
			continue
		}
		seen[labels] = true
		tell := func(d *metrics.Desc, kind metrics.ValueType, value float64) {
			ch <- metrics.NewLazyConstMetric(d, kind, value, labels[:]...)
		}
		since := 0.0
		if b.Failing {
			since = float64(b.Since.Unix())
		}
		tell(c.age, metrics.GaugeValue, b.Age.Seconds())
		tell(c.sequence, metrics.GaugeValue, float64(b.Sequence))
		tell(c.failing, metrics.GaugeValue, since)
		tell(c.publications, metrics.CounterValue, float64(b.Rotations))
	}
}
