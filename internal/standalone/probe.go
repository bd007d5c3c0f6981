package standalone

import (
	"context"
	"slices"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// probe dials what MeshBindings want to be dialled, waits for it, and takes what was
// seen. It returns the gateways to plan, those among them to which it is news, and the
// policies that follow.
func (s *Stack) probe(ctx context.Context, keys []translate.Key) ([]translate.Key, []lbmodel.Policy) {
	m := s.config.Members
	if m == nil {
		return keys, nil
	}
	m.WatchAll()
	for more := true; more; {
		_, more = m.Probes.Work(ctx)
	}
	for _, key := range s.Loop.Change(m.Seen()) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, []lbmodel.Policy{m.Gate(s.Loop.Gateways()...)}
}
