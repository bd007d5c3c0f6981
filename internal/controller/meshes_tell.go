package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/internal/translate"
)

// informBinding tells of what changed in the status of a MeshBinding that was just
// written.
func (c *Controller) informBinding(p translate.Patch) {
	base, _ := p.Base.(*v1alpha1.MeshBindingStatus)
	now, _ := p.Status.(*v1alpha1.MeshBindingStatus)
	obj := metaOf(c.loop.Index().Object(p.Key))
	if base == nil || now == nil || obj == nil {
		return
	}
	about := c.reference(p.Key, obj)
	for _, was := range base.Roots {
		if !slices.ContainsFunc(now.Roots, func(r v1alpha1.RootStatus) bool { return r.SHA256 == was.SHA256 }) {
			c.config.Metrics.Rotated(p.Key.Name)
			c.events.Tell(about, events.RootRemoved, fmt.Sprintf("root %.16s, which ends at %s, is trusted by no gateway any more", was.SHA256, was.NotAfter.UTC().Format(time.RFC3339)))
		}
	}
	if bad, turned := turnedTo(base.Conditions, now.Conditions, "ResolvedRefs", metav1.ConditionFalse); turned {
		c.events.Tell(about, events.TrustStale, bad.Message)
	}
}

// turnedTo is a condition that has a status or a reason which it did not have before.
func turnedTo(before, after []metav1.Condition, kind string, status metav1.ConditionStatus) (metav1.Condition, bool) {
	find := func(list []metav1.Condition) (out metav1.Condition) {
		if i := slices.IndexFunc(list, func(x metav1.Condition) bool { return x.Type == kind }); i >= 0 {
			out = list[i]
		}
		return out
	}
	was, is := find(before), find(after)
	return is, is.Status == status && (was.Status != status || was.Reason != is.Reason)
}

// informMember tells of a gateway's part in its meshes, when that has changed.
func (c *Controller) informMember(g reconcile.Gateway, obj metav1.Object, patches []translate.Patch) {
	i := slices.IndexFunc(patches, func(p translate.Patch) bool { return p.Key == g.Key })
	if i < 0 {
		return
	}
	base, _ := patches[i].Base.(*gwv1.GatewayStatus)
	now, _ := patches[i].Status.(*gwv1.GatewayStatus)
	if base == nil || now == nil {
		return
	}
	about := c.reference(g.Key, obj)
	if ok, turned := turnedTo(base.Conditions, now.Conditions, meshMember, metav1.ConditionTrue); turned {
		c.events.Tell(about, events.MeshJoined, ok.Message)
	}
	if bad, turned := turnedTo(base.Conditions, now.Conditions, meshMember, metav1.ConditionFalse); turned && bad.Reason == "IdentityRefused" {
		c.events.Tell(about, events.IdentityRefused, bad.Message)
	}
}

const meshMember = "gatehouse.dev/MeshMember"

// lateShare is the part of a certificate's life before whose end somebody should
// know. It is renewed when a third is left, so by then that has failed for a while.
const lateShare = 6

// expiring tells of certificates that end soon, and comes again when the next one
// does.
func (c *Controller) expiring(gateways []reconcile.Gateway, outcomes map[translate.Key]translate.Outcome) {
	now := time.Now()
	for _, g := range gateways {
		for identity, leaf := range outcomes[g.Key].Leaves {
			late := leaf.NotAfter.Add(-leaf.NotAfter.Sub(leaf.NotBefore) / lateShare)
			obj := metaOf(c.loop.Index().Object(g.Key))
			switch {
			case late.After(now):
				c.work.AddAfter(meshItem, late.Sub(now))
			case obj != nil:
				c.events.Tell(c.reference(g.Key, obj), events.CertificateExpiring,
					fmt.Sprintf("its client certificate of %s ends at %s and could not be renewed", identity, leaf.NotAfter.UTC().Format(time.RFC3339)))
			}
		}
	}
}

// MeshFigures are what is known of meshes' certificates at a moment.
type MeshFigures struct {
	Roots      []RootFigure
	Identities []IdentityFigure
	Sources    []SourceFigure
	// Bundles are the figures of the places outside of the cluster at the moment when it
	// is called; nil is that nobody reads any.
	Bundles func() []rootsync.Figure
}

// RootFigure is a root that a binding's mesh publishes.
type RootFigure struct {
	Binding, SHA256 string
	NotAfter        time.Time
}

// IdentityFigure is a gateway's live client certificate.
type IdentityFigure struct {
	Binding, Namespace, Name string // Namespace and Name are the Gateway's
	NotAfter                 time.Time
}

// SourceFigure is where a binding's roots are read.
type SourceFigure struct {
	Binding string
	Stale   time.Time // since when they cannot be read; zero: they can
}

func (c *Controller) tellFigures(gateways []reconcile.Gateway, outcomes map[translate.Key]translate.Outcome) {
	var out MeshFigures
	for _, b := range c.loop.Index().Bounds() {
		for _, r := range b.Trust.Roots {
			out.Roots = append(out.Roots, RootFigure{b.Binding.Name, r.SHA256, r.NotAfter})
		}
		out.Sources = append(out.Sources, SourceFigure{b.Binding.Name, c.staleSince(b)})
	}
	for _, g := range gateways {
		for identity, leaf := range outcomes[g.Key].Leaves {
			binding := strings.TrimPrefix(identity, translate.KindMeshBinding+"/")
			out.Identities = append(out.Identities, IdentityFigure{binding, g.Key.Namespace, g.Key.Name, leaf.NotAfter})
		}
	}
	if c.config.Meshes != nil {
		out.Bundles = c.config.Meshes.roots.Figures
	}
	c.config.Metrics.Meshes(out)
}

// staleSince is since when a binding's roots cannot be read; zero is that they can.
func (c *Controller) staleSince(b translate.Bound) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(b.Problems) == 0 {
		delete(c.membership.stale, b.Binding.Name)
		return time.Time{}
	}
	if _, known := c.membership.stale[b.Binding.Name]; !known {
		c.membership.stale[b.Binding.Name] = time.Now()
	}
	return c.membership.stale[b.Binding.Name]
}
