package gcp

import (
	"context"
	"strings"
	"sync"
	"time"

	"gatehouse.dev/providers"
)

// The quota groups of requests. Each is of a project, and those that say so of a region
// of it [compute/api-quota, certificate-manager/quotas].
const (
	groupGlobalReads          = "global_reads"
	groupGlobalWrites         = "global_writes"
	groupRegionReads          = "reads_per_region"
	groupRegionWrites         = "writes_per_region"
	groupHeavyReads           = "heavy_weight_reads"
	groupOperationReads       = "operation_reads_per_region"
	groupEndpointWrites       = "network_endpoint_write_requests_per_region"
	groupEndpointLists        = "network_endpoint_list_requests_per_region"
	groupRegionEndpointWrites = "regional_network_endpoint_write_requests_per_region"
	groupRegionEndpointLists  = "regional_network_endpoint_list_requests_per_region"
	groupCertificates         = "certificatemanager_requests"
)

// perMinute is how many requests of a group are granted in a minute: the numbers that
// every project has got. Network Security and Network Services publish none.
var perMinute = map[string]int{
	groupGlobalReads: 1500, groupGlobalWrites: 1500, groupRegionReads: 1500, groupRegionWrites: 1500, groupHeavyReads: 1500, groupOperationReads: 1500,
	groupEndpointWrites: 1500, groupEndpointLists: 1500, groupRegionEndpointWrites: 1500, groupRegionEndpointLists: 1500,
	groupCertificates: 300,
}

// bucketOf is the group of a request, and of regional ones the region, by its name (see
// gcpcalls.Name); "" is none.
func bucketOf(op string) (group, place string) {
	service, rest, _ := strings.Cut(op, ":")
	parts := strings.Split(rest, "/")
	switch {
	case service == "certificatemanager", service == "operations": // of whose service is not told
		return groupCertificates, ""
	case service != "compute" || len(parts) != 3:
		return "", ""
	}
	verb, collection, place := parts[0], parts[1], parts[2]
	if place == global {
		return globalGroup(verb), ""
	}
	return regionGroup(verb, collection), place
}

func globalGroup(verb string) string {
	switch {
	case verb == "aggregatedList":
		return groupHeavyReads
	case reads(verb):
		return groupGlobalReads
	default:
		return groupGlobalWrites
	}
}

// regionGroup is the group of what is in a region, or, with zone. before the verb, in a zone of
// it.
func regionGroup(verb, collection string) string {
	verb, zonal := strings.CutPrefix(verb, "zone.")
	switch {
	case collection == "operations":
		return groupOperationReads
	case verb == "attachNetworkEndpoints" || verb == "detachNetworkEndpoints":
		if zonal {
			return groupEndpointWrites
		}
		return groupRegionEndpointWrites
	case verb == "listNetworkEndpoints":
		if zonal {
			return groupEndpointLists
		}
		return groupRegionEndpointLists
	case reads(verb):
		return groupRegionReads
	default:
		return groupRegionWrites
	}
}

// reads says whether a verb changes nothing.
func reads(verb string) bool {
	switch verb {
	case "get", "list", "aggregatedList", "getHealth", "listNetworkEndpoints", "wait":
		return true
	}
	return false
}

// Pacer keeps a project's requests within Google's quotas, which are filled up when the
// minute is over, all at once. A group that is used up waits for the next minute; looks
// in the background leave half of each to edits, which read too. One Pacer is for all
// providers of a project in a process; it is safe for concurrent use.
type Pacer struct {
	clock providers.Clock

	mu      sync.Mutex
	minutes map[bucket]*minute
}

type bucket struct{ group, place string }

// minute is what of a group was used in a minute.
type minute struct {
	number int64 // minutes since 1970
	used   int
}

// NewPacer makes a Pacer that has used nothing. The zero clock is the real one.
func NewPacer(clock providers.Clock) *Pacer {
	if clock.Now == nil {
		clock.Now = time.Now
	}
	if clock.After == nil {
		clock.After = time.After
	}
	return &Pacer{clock: clock, minutes: map[bucket]*minute{}}
}

// Wait implements providers.Pacer.
func (p *Pacer) Wait(ctx context.Context, op string) error {
	group, place := bucketOf(op)
	room := perMinute[group]
	if room == 0 {
		return ctx.Err()
	}
	if providers.IsBackground(ctx) {
		room /= 2
	}
	for {
		wait := p.take(bucket{group, place}, room)
		if wait == 0 {
			return ctx.Err()
		}
		select {
		case <-p.clock.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take takes one of what is left of this minute, or says when the next one begins.
func (p *Pacer) take(b bucket, room int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	m := p.at(b, now)
	if m.used < room {
		m.used++
		return 0
	}
	return now.Truncate(time.Minute).Add(time.Minute).Sub(now)
}

// at is this minute of a group.
func (p *Pacer) at(b bucket, now time.Time) *minute {
	number := now.Unix() / 60
	m := p.minutes[b]
	if m == nil {
		m = &minute{}
		p.minutes[b] = m
	}
	if m.number != number {
		m.number, m.used = number, 0
	}
	return m
}

// Throttled tells that Google refused a request that was let through: others use the
// project too, so nothing is left of this minute.
func (p *Pacer) Throttled(op string) {
	group, place := bucketOf(op)
	if perMinute[group] == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at(bucket{group, place}, p.clock.Now()).used = perMinute[group]
}
