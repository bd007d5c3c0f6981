package gcp

import (
	"context"
	"time"

	"gatehouse.dev/lbmodel"
)

// Mark implements providers.Marker: the note is in the description, or, where that
// cannot be changed, in a label. What has neither is remembered here, and a new process
// goes by what uses it (see noteByUsers).
func (p *Provider) Mark(ctx context.Context, r lbmodel.Resource, dropped time.Time) (lbmodel.Facts, error) {
	c := &change{Provider: p, owner: r.Owner, step: lbmodel.Step{Verb: lbmodel.Update, ID: r.ID, Want: r.Spec, Have: r, Hold: r.Hold}, resolve: nobody}
	if err := c.mark(ctx, dropped); err != nil {
		return lbmodel.Facts{}, codeError("Mark"+r.ID.Kind, r.ID, err)
	}
	r.Facts.DroppedAt = dropped
	return r.Facts, nil
}

// nobody resolves nothing: a note needs nothing of others'.
func nobody(lbmodel.ID) (lbmodel.Resource, bool) { return lbmodel.Resource{}, false }

func (c *change) mark(ctx context.Context, dropped time.Time) error {
	switch kind := c.step.ID.Kind; {
	case kind == KindAddress || kind == KindForwardingRule:
		return c.markLabel(ctx, dropped)
	case describes(c.step.ID):
		return c.markDescription(ctx, dropped)
	default:
		c.memory.note(c.step.ID, dropped)
		return nil
	}
}

// describes says whether the description can be changed of something that is there.
func describes(id lbmodel.ID) bool {
	switch id.Kind {
	case KindNetworkEndpointGroup, KindNetworkEndpoints, KindTargetTCPProxy:
		return false
	case KindTargetHTTPProxy:
		return id.Location == global // of a region's nothing but the URL map can be
	default:
		return true
	}
}

// noteByUsers gives what cannot be noted the note of what uses it: nobody wants it since
// nobody wants those. Where nothing uses it, nothing is known, and a wait begins anew.
func noteByUsers(all lbmodel.Graph) {
	since, wanted := map[lbmodel.ID]time.Time{}, map[lbmodel.ID]bool{}
	for _, r := range all {
		for _, need := range r.Spec.Needs() {
			if at := r.Facts.DroppedAt; at.IsZero() {
				wanted[need] = true
			} else if at.After(since[need]) {
				since[need] = at
			}
		}
	}
	for id, r := range all {
		if !describes(id) && !wanted[id] && r.Facts.DroppedAt.IsZero() && id.Kind != KindNetworkEndpoints {
			r.Facts.DroppedAt = since[id]
			all[id] = r
		}
	}
}

// markLabel changes our label; the others' stay.
func (c *change) markLabel(ctx context.Context, dropped time.Time) error {
	i, _, err := c.get(ctx)
	if err != nil {
		return err
	}
	c.memory.see(&i)
	return c.putLabels(ctx, othersLabels(i.fields.Labels), dropped)
}

// markDescription changes the note in the description; the rest of it stays.
func (c *change) markDescription(ctx context.Context, dropped time.Time) error {
	i, _, err := c.get(ctx)
	if err != nil {
		return err
	}
	if !i.ours {
		return c.taken()
	}
	c.memory.see(&i)
	i.own.Unwanted = 0
	if !dropped.IsZero() {
		i.own.Unwanted = dropped.Unix()
	}
	if err := c.send(ctx, map[string]any{"description": i.own.text()}); err != nil {
		return err
	}
	c.memory.settle(c.path())
	return nil
}
