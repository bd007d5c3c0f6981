package compute

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/store"
)

// show is an operation as Compute Engine writes it.
func (s *service) show(o *store.Operation, now time.Time) store.Object {
	self := store.NameOf(Host, o.Scope+"/operations/"+o.Name)
	out := store.Object{
		"kind": "compute#operation", "id": o.ID, "name": o.Name, "operationType": o.Type, "targetLink": link(o.Target), "user": o.User,
		"insertTime": stamp(o.Start), "startTime": stamp(o.Start), "status": "RUNNING", "progress": 0.0, "selfLink": link(self),
	}
	if o.TargetID != "" {
		out["targetId"] = o.TargetID
	}
	if o.Request != "" {
		out["clientOperationId"] = o.Request
	}
	place(self, out)
	if !o.Done(now) {
		return out
	}
	out["status"], out["progress"], out["endTime"] = "DONE", 100.0, stamp(o.End)
	if o.Err != nil {
		one := store.Object{"code": o.Err.Code(), "message": o.Err.Message}
		if len(o.Err.Details) > 0 {
			one["errorDetails"] = o.Err.Details
		}
		out["error"] = store.Object{"errors": []any{one}}
		out["httpErrorStatusCode"], out["httpErrorMessage"] = float64(o.Err.Status), strings.ToUpper(http.StatusText(o.Err.Status))
	}
	return out
}

// place says where a resource is.
func place(n store.Name, o store.Object) {
	parts := strings.Split(n.Scope(), "/")
	if len(parts) == 4 {
		o[strings.TrimSuffix(parts[2], "s")] = link(store.NameOf(Host, n.Scope()))
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000-07:00") }

// operation are the methods of operations. Waiting is over when this is called.
func (s *service) operation(c *store.Call) (store.Object, error) {
	switch c.Method.Verb() {
	case "list":
		return s.listed(c, s.operations(c, c.Scope))
	case "aggregatedList":
		return s.aggregate(c, s.operations(c, ""))
	}
	o := s.store.Operation(c.ID)
	if o == nil || o.Host != Host || o.Scope != c.Scope {
		return nil, store.Missing(c.Name())
	}
	if c.Method.Verb() == "delete" {
		s.store.Forget(o)
		return store.Object{}, nil
	}
	return s.show(o, c.Now), nil
}

// operations are all operations of a scope, newest first, as Google lists them.
func (s *service) operations(c *store.Call, scope string) []item {
	var out []item
	for _, o := range s.store.Operations(Host, scope) {
		out = append(out, item{store.NameOf(Host, o.Scope+"/operations/"+o.Name), s.show(o, c.Now)})
	}
	slices.Reverse(out)
	return out
}
