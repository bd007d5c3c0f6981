package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/internal/controller/audit"
	"gatehouse.dev/internal/controller/status"
	"gatehouse.dev/internal/translate"
)

func (c *Controller) newWriter() *status.Writer {
	return status.New(status.Config{
		Client: c.clients.Dynamic,
		Resource: func(kind string) (schema.GroupVersionResource, bool) {
			r, served := c.clients.Resource(kind)
			return r.GroupVersionResource(), served
		},
		Current: c.current,
		Wrote:   func(key translate.Key) { c.config.Metrics.StatusWrites(key.Kind) },
		Log:     c.config.Log,
	})
}

func (c *Controller) current(key translate.Key) (any, bool) {
	obj := c.loop.Index().Object(key)
	return obj, obj != nil
}

// write writes the patches that are the caller's to write.
func (c *Controller) write(ctx context.Context, patches []translate.Patch, mine func(translate.Patch) bool) error {
	return c.writer.Write(ctx, slices.DeleteFunc(slices.Clone(patches), func(p translate.Patch) bool { return !mine(p) }))
}

func (c *Controller) auditObject(key translate.Key) audit.Object {
	out := audit.Object{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	if meta := metaOf(c.loop.Index().Object(key)); meta != nil {
		out.Generation = meta.GetGeneration()
	}
	return out
}
