package status

import (
	"fmt"
	"maps"

	"gatehouse.dev/internal/translate"
)

// how a status is written.
type how string

const (
	applied how = "Applied" // server-side, as far as it is ours
	patched how = "Patched" // entry by entry, because its lists are atomic
)

// kind is what the writer knows about the status of one kind of objects.
type kind struct {
	how how
	shape
}

// shape describes the lists in a status, or in an entry of one, whose entries
// have authors of their own. Every other field is one value.
type shape map[string]list

// list is such a list.
type list struct {
	keys   []string                  // the fields that tell entries apart
	most   int                       // entries that the API allows
	ours   func(map[string]any) bool // whether an entry can be ours; nil is always
	inside shape                     // of an entry; nil where an entry is one value
}

// kindOf is a table. The limits and list types are those of the markers in the
// Gateway API's Go types, in ours and in core/v1.
func kindOf(name string) (kind, error) {
	conditions := shape{"conditions": {keys: []string{"type"}, most: 8, ours: ownCondition}}
	listeners := func() shape {
		out := maps.Clone(conditions)
		out["listeners"] = list{keys: []string{"name"}, most: 64, inside: conditions}
		return out
	}
	switch name {
	case translate.KindGatewayClass:
		out := maps.Clone(conditions)
		out["supportedFeatures"] = list{keys: []string{"name"}, most: 64}
		return kind{applied, out}, nil
	case translate.KindGateway, translate.KindListenerSet:
		return kind{applied, listeners()}, nil
	case translate.KindService:
		return kind{applied, shape{"conditions": {keys: []string{"type"}, most: 64, ours: ownCondition}}}, nil
	case translate.KindHTTPRoute, translate.KindGRPCRoute, translate.KindTLSRoute, translate.KindTCPRoute, translate.KindUDPRoute:
		return kind{patched, shape{"parents": {keys: []string{"controllerName", "parentRef"}, most: 32, inside: conditions}}}, nil
	case translate.KindBackendTLSPolicy:
		return kind{patched, shape{"ancestors": {keys: []string{"controllerName", "ancestorRef"}, most: 16, inside: conditions}}}, nil
	case translate.KindXBackend:
		return kind{patched, shape{"ancestors": {keys: []string{"controllerName", "ancestorRef"}, most: 32, inside: conditions}}}, nil
	case translate.KindMeshBinding:
		out := maps.Clone(conditions)
		out["roots"] = list{keys: []string{"sha256"}, most: 32}
		out["blocked"] = list{keys: []string{"service", "port"}, most: 16}
		return kind{applied, out}, nil
	default:
		return kind{}, fmt.Errorf("kind %s has no status that this writer knows; add it to the table of kinds", name)
	}
}

func ownCondition(condition map[string]any) bool {
	name, _ := condition["type"].(string)
	return translate.OwnCondition(name)
}

// own is the part of a status that we apply: lists that are maps hold only
// entries that can be ours.
func (s shape) own(status map[string]any) map[string]any {
	out := maps.Clone(status)
	for field, l := range s {
		var entries []any
		for _, e := range entriesOf(status[field]) {
			switch {
			case l.ours != nil && !l.ours(e):
			case l.inside != nil:
				entries = append(entries, l.inside.own(e))
			default:
				entries = append(entries, e)
			}
		}
		delete(out, field)
		if len(entries) > 0 {
			out[field] = entries
		}
	}
	return out
}
