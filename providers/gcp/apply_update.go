package gcp

import (
	"context"
	jsonv2 "encoding/json/v2"
	"maps"
	"reflect"
	"strconv"
	"time"

	"gatehouse.dev/lbmodel"
)

// mostTries is how often a change is reckoned anew because what it was reckoned from has
// changed meanwhile.
const mostTries = 3

// update makes what is there what the step wants. Only fields that differ are sent, so
// what others have set beside stays.
func (c *change) update(ctx context.Context) (made, error) { return c.updateFrom(ctx, c.step.Have) }

// updateFrom does so; planned is what the plan had, the zero Resource for nothing.
func (c *change) updateFrom(ctx context.Context, planned lbmodel.Resource) (made, error) {
	for try := 1; ; try++ {
		if err := c.refresh(ctx); err != nil {
			return made{}, err
		}
		m, err := c.bringFrom(ctx, planned)
		if isOutdated(err) && try < mostTries {
			continue // the stamps are forgotten, so it is read anew
		}
		if err != nil {
			return c.result(err)
		}
		c.memory.settle(c.path())
		return m, nil
	}
}

// refresh reads what is there, unless what the step says of it is certain.
func (c *change) refresh(ctx context.Context) error {
	_, known := c.memory.stampsOf(c.path())
	if known && !c.memory.doubted(c.path()) || c.step.ID.Kind == KindNetworkEndpoints {
		return nil
	}
	have, err := c.read(ctx)
	if err != nil {
		return err
	}
	c.step.Have = have
	return nil
}

// bringFrom changes by kind.
func (c *change) bringFrom(ctx context.Context, planned lbmodel.Resource) (made, error) {
	m := made{spec: c.step.Want, facts: c.step.Have.Facts}
	have := c.step.Have.Spec
	if reflect.TypeOf(have) != reflect.TypeOf(c.step.Want) {
		return made{}, c.alien()
	}
	switch want := c.step.Want.(type) {
	case *NetworkEndpoints:
		return c.bringEndpoints(ctx, want, have.(*NetworkEndpoints))
	case *Certificate:
		return c.bringCertificate(ctx, want, planned)
	case *ForwardingRule:
		return m, c.bringRule(ctx, want, have.(*ForwardingRule))
	case *Address:
		return m, c.setLabels(ctx, want.Labels, have.(*Address).Labels)
	case *TargetHTTPProxy:
		if want.URLMap == have.(*TargetHTTPProxy).URLMap {
			return m, nil
		}
		return m, c.call(ctx, "setUrlMap", map[string]any{"urlMap": want.URLMap.path(c.project)})
	case *URLMap:
		return m, c.bringMap(ctx, want, have.(*URLMap))
	case *NetworkEndpointGroup:
		c.memory.group(c.path(), c.step.ID, want)
		return m, c.fixed()
	case *TargetTCPProxy:
		return m, c.fixed()
	default:
		return m, c.patch(ctx)
	}
}

// fixed is the error of what cannot be changed, and is not what its name says.
func (c *change) fixed() error {
	if lbmodel.DigestOf(c.step.Want) == lbmodel.DigestOf(c.step.Have.Spec) {
		return nil
	}
	return lbmodel.Errorf(lbmodel.CodeConflict, "", c.step.ID, "nothing in %s can be changed, and it is not what its name stands for; delete it, so that it is made anew", c.path())
}

// bringRule leads a port elsewhere.
func (c *change) bringRule(ctx context.Context, want, have *ForwardingRule) error {
	to, from := want.Target, have.Target
	if want.BackendService != "" {
		to, from = want.BackendService, have.BackendService
	}
	if to != from {
		if err := c.call(ctx, "setTarget", map[string]any{"target": to.path(c.project)}); err != nil {
			return err
		}
	}
	fixed := *want
	fixed.Target, fixed.BackendService, fixed.Labels = have.Target, have.BackendService, have.Labels
	if lbmodel.DigestOf(&fixed) != lbmodel.DigestOf(have) {
		return lbmodel.Errorf(lbmodel.CodeConflict, "", c.step.ID, "only the target and the labels of %s can be changed, and something else is not what its name stands for; delete it, so that it is made anew", c.path())
	}
	return c.setLabels(ctx, want.Labels, have.Labels)
}

// setLabels replaces the labels that are not ours.
func (c *change) setLabels(ctx context.Context, want, have map[string]string) error {
	if maps.Equal(want, have) {
		return nil
	}
	return c.putLabels(ctx, want, c.step.Have.Facts.DroppedAt)
}

// patch sends the fields that differ.
func (c *change) patch(ctx context.Context) error {
	fields, err := c.difference()
	if err != nil || len(fields) == 0 {
		return err
	}
	return c.send(ctx, fields)
}

// send is a PATCH, made from what was seen.
func (c *change) send(ctx context.Context, fields map[string]any) error {
	s, _ := c.memory.stampsOf(c.path())
	if s.fingerprint != "" {
		fields["fingerprint"] = s.fingerprint
	}
	c.memory.begin(c.path())
	op, err := c.calls.Patch(ctx, c.path(), []byte(encode(fields)))
	if err != nil {
		return err
	}
	return c.calls.Wait(ctx, op)
}

// difference are the fields in which what is wanted and what is there differ, null where
// one is to go. In Compute fields in fields are told one by one (RFC 7386); in the other
// APIs a field is replaced as a whole.
func (c *change) difference() (map[string]any, error) {
	want, err := bodyOf(c.step.Want, c.project)
	if err != nil {
		return nil, err
	}
	have, err := bodyOf(c.step.Have.Spec, c.project)
	if err != nil {
		return nil, err
	}
	out := mergePatch(have, want, inLocations(c.step.ID.Kind) == "")
	told := ownershipFor(c.owner, c.step.Hold, c.step.Want)
	if was := ownershipFor(c.owner, c.step.Hold, c.step.Have.Spec); told.text() != was.text() {
		out["description"] = c.noted(told).text()
	}
	return out, nil
}

// noted is a description with the note that is in it now.
func (c *change) noted(o ownership) ownership {
	if at := c.step.Have.Facts.DroppedAt; !at.IsZero() {
		o.Unwanted = at.Unix()
	}
	return o
}

// depth says how far a patch goes into fields.
type depth bool

// mergePatch is what makes one object another.
func mergePatch(have, want map[string]any, deep depth) map[string]any {
	out := map[string]any{}
	for key, to := range want {
		from, there := have[key]
		if there && reflect.DeepEqual(from, to) {
			continue
		}
		inside, both := from.(map[string]any)
		into, object := to.(map[string]any)
		if bool(deep) && both && object {
			to = mergePatch(inside, into, deep)
		}
		out[key] = to
	}
	for key := range have {
		if _, kept := want[key]; !kept {
			out[key] = nil
		}
	}
	return out
}

// bodyOf are the fields of Body.
func bodyOf(spec lbmodel.Spec, project string) (map[string]any, error) {
	text, err := Body(spec, project)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, jsonv2.Unmarshal(text, &out)
}

// putLabels replaces all labels of something of Compute's: those that are not ours, and
// the note since when it is not wanted.
func (c *change) putLabels(ctx context.Context, others map[string]string, unwanted time.Time) error {
	labels := map[string]string{}
	maps.Copy(labels, others)
	if !unwanted.IsZero() {
		labels[labelUnwanted] = strconv.FormatInt(unwanted.Unix(), 10)
	}
	s, known := c.memory.stampsOf(c.path())
	if !known {
		i, _, err := c.get(ctx)
		if err != nil {
			return err
		}
		s.labels = i.fields.LabelFingerprint
	}
	return c.call(ctx, "setLabels", map[string]any{"labels": labels, "labelFingerprint": s.labels})
}
