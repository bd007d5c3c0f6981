package compute

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

func (s *service) insert(c *store.Call) (store.Object, error) {
	if c.Body == nil {
		return nil, required("resource")
	}
	name := store.Text(c.Body, "name")
	if !store.IsID(name) {
		return nil, store.BadField("name", name, "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'")
	}
	n := c.Member(name)
	kind := s.store.KindOf(n)
	want := store.Merge(store.Object{}, c.Body) // nulls are as if they were not there
	delete(want, "labelFingerprint")
	maps.Copy(want, store.Object{"kind": s.api.Schemas[kind.Schema].Fields["kind"].Kind, "id": s.store.Number(), "creationTimestamp": stamp(c.Now), "selfLink": link(n)})
	place(n, want)
	return s.started(c, store.Change{Kind: kind, Name: n, Type: "insert", Verb: store.Insert, Want: want})
}

func required(field string) error {
	return &store.Error{Status: http.StatusBadRequest, Reason: store.Required, Message: "Required field '" + field + "' not specified"}
}

// patchable are the fields that a PATCH may touch, of collections where it is not all
// that are not immutable.
var patchable = map[string][]string{
	"forwardingRules": {"allowGlobalAccess", "allowPscGlobalAccess", "networkTier", "sourceIpRanges"},
}

// patch is a JSON merge patch.
func (s *service) patch(c *store.Call) (store.Object, error) {
	n := c.Name()
	was := s.store.Newest().Get(n)
	if was == nil {
		return nil, store.Missing(n)
	}
	kind := s.store.KindOf(n)
	seen := store.Text(c.Body, kind.Stamp)
	body := maps.Clone(c.Body)
	delete(body, kind.Stamp)
	if err := s.same(n, body, was); err != nil {
		return nil, err
	}
	if only := patchable[c.Collection]; only != nil {
		for _, field := range slices.Sorted(maps.Keys(body)) {
			if !slices.Contains(only, field) && store.Text(body, field) != store.Text(was, field) {
				return nil, store.BadField(field, body[field], "The field can't be changed by patch.")
			}
		}
	}
	return s.started(c, store.Change{Kind: kind, Name: n, Type: "patch", Verb: store.Update, Want: store.Merge(was, body), Stamp: seen, NeedStamp: !s.store.LoosePatches})
}

// same refuses to rename.
func (s *service) same(n store.Name, body, was store.Object) error {
	if name, ok := body["name"]; ok && name != nil && name != was["name"] {
		return store.BadField("name", name, "The name can't be changed: it is '%s'.", n.ID())
	}
	delete(body, "name")
	return nil
}

// update is a PUT: what is not in the body is gone, but for what the server made.
func (s *service) update(c *store.Call) (store.Object, error) {
	n := c.Name()
	was := s.store.Newest().Get(n)
	if was == nil {
		return nil, store.Missing(n)
	}
	kind := s.store.KindOf(n)
	body := maps.Clone(c.Body)
	if err := s.same(n, body, was); err != nil {
		return nil, err
	}
	want := store.Merge(store.Object{}, body)
	for _, field := range append(s.api.Output(kind.Schema), "name", "selfLink", "id") {
		if value, ok := was[field]; ok {
			want[field] = value
		}
	}
	for field, value := range was {
		if field[0] == '@' {
			want[field] = value
		}
	}
	delete(want, kind.Stamp)
	return s.started(c, store.Change{Kind: kind, Name: n, Type: "update", Verb: store.Update, Want: want, Stamp: store.Text(c.Body, kind.Stamp), NeedStamp: true})
}

func (s *service) remove(c *store.Call) (store.Object, error) {
	n := c.Name()
	return s.started(c, store.Change{Kind: s.store.KindOf(n), Name: n, Type: "delete", Verb: store.Remove})
}

// set is a method that replaces single fields: setUrlMap, setTarget. An empty value
// takes the field away.
func (s *service) set(c *store.Call) (store.Object, error) {
	n := c.Name()
	was := s.store.Newest().Get(n)
	if was == nil {
		return nil, store.Missing(n)
	}
	want := maps.Clone(was)
	for field := range s.api.Schemas[c.Method.Request].Fields {
		if value := c.Body[field]; value == nil || value == "" {
			delete(want, field)
		} else {
			want[field] = value
		}
	}
	passTo(want)
	return s.started(c, store.Change{Kind: s.store.KindOf(n), Name: n, Type: c.Method.Verb(), Verb: store.Update, Want: want})
}

// passTo makes a backend service that is set as a forwarding rule's target what its
// packets are passed to (gcloud compute forwarding-rules set-target --backend-service).
func passTo(rule store.Object) {
	if target := store.Text(rule, "target"); strings.Contains(target, "/backendServices/") {
		rule["backendService"] = target
		delete(rule, "target")
	}
}

// setLabels replaces all labels of whoever has seen the ones that are there.
func (s *service) setLabels(c *store.Call) (store.Object, error) {
	n := c.Name()
	was := s.store.Newest().Get(n)
	if was == nil {
		return nil, store.Missing(n)
	}
	if store.Text(c.Body, "labelFingerprint") != store.Text(was, "labelFingerprint") {
		return nil, &store.Error{Status: http.StatusPreconditionFailed, Reason: store.ConditionUnmet, Message: "Labels fingerprint either invalid or resource labels have changed"}
	}
	want := maps.Clone(was)
	delete(want, "labels")
	if labels, ok := c.Body["labels"].(store.Object); ok && len(labels) > 0 {
		want["labels"] = store.Merge(store.Object{}, labels)
	}
	return s.started(c, store.Change{Kind: s.store.KindOf(n), Name: n, Type: "setLabels", Verb: store.Update, Want: want})
}

// stampLabels is the fingerprint of the labels alone.
func stampLabels(o store.Object) {
	labels, _ := o["labels"].(store.Object)
	o["labelFingerprint"] = store.StampOf(store.Object{"labels": labels}, "")
}
