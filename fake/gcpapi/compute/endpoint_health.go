package compute

import "gatehouse.dev/fake/gcpapi/store"

// state is the health of an endpoint for a backend service; "" where nobody checks it.
func (s *service) state(v store.View, group, backend store.Name, e store.Object) string {
	if len(store.List(v.Get(backend), "healthChecks")) == 0 {
		return ""
	}
	if s.Observed != nil {
		if state, ok := s.Observed(group, backend, e); ok {
			return state
		}
	}
	return "HEALTHY"
}

// endpoints lists a group's endpoints, with their health if it is asked for.
func (s *service) endpoints(c *store.Call) (store.Object, error) {
	v, n := s.store.Seen(c), c.Name()
	group := v.Get(n)
	if group == nil {
		return nil, store.Missing(n)
	}
	var all []item
	var users []store.Name
	if c.Body["healthStatus"] == "SHOW" {
		users = v.Users(n)
	}
	for _, e := range store.List(group, "@endpoints") {
		one, _ := e.(store.Object)
		healths := []any{}
		for _, backend := range users {
			if state := s.state(v, n, backend, one); state != "" {
				check, _ := store.List(v.Get(backend), "healthChecks")[0].(string)
				healths = append(healths, store.Object{"healthState": state, "backendService": store.Object{"backendService": link(backend)},
					"healthCheck": store.Object{"healthCheck": check}})
			}
		}
		out := store.Object{"networkEndpoint": store.Clone(one)}
		if len(healths) > 0 {
			out["healths"] = healths
		}
		all = append(all, item{n, out})
	}
	return s.listed(c, all)
}

// getHealth is the health of one group's endpoints for a backend service.
func (s *service) getHealth(c *store.Call) (store.Object, error) {
	v, n := s.store.Seen(c), c.Name()
	backend := v.Get(n)
	if backend == nil {
		return nil, store.Missing(n)
	}
	url := store.Text(c.Body, "group")
	group := s.named(n, url)
	used := false
	for _, b := range store.List(backend, "backends") {
		one, _ := b.(store.Object)
		used = used || s.named(n, store.Text(one, "group")) == group
	}
	if !used {
		return nil, store.BadField("group", url, "The group is not a backend of '%s'.", n.Path())
	}
	out := store.Object{"kind": "compute#backendServiceGroupHealth"}
	var list []any
	for _, e := range store.List(v.Get(group), "@endpoints") {
		one, _ := e.(store.Object)
		if state := s.state(v, group, n, one); state != "" {
			health := store.Object{"healthState": state}
			for _, field := range []string{"ipAddress", "port", "instance", "annotations"} {
				if one[field] != nil {
					health[field] = one[field]
				}
			}
			list = append(list, health)
		}
	}
	if list != nil {
		out["healthStatus"] = list
	}
	return out, nil
}
