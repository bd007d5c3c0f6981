package issue

import (
	"maps"
	"time"
)

// Times are since when the roots of an issuer are known to be published, by their keys,
// for whoever keeps them over a restart: see Resume.
func (p *Published) Times(issuer string) map[string]time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.first[issuer])
}

// Resume takes times that another process kept, of an issuer that was not seen yet.
// Only those of roots that are published when it is seen next count any further.
func (p *Published) Resume(issuer string, times map[string]time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		p.first = map[string]map[string]time.Time{}
	}
	if p.first[issuer] == nil {
		p.first[issuer] = maps.Clone(times)
	}
}
