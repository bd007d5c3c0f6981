package translate

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// Outcome is what became of a gateway after translation. A gateway without one
// was translated and not applied yet: what its status says about the cloud stays.
type Outcome struct {
	// Findings are those of Restrict, Compile and Place.
	Findings []lbmodel.Finding
	// Addresses are what the gateway really has.
	Addresses []lbmodel.Address
	// Failed are the steps that failed, by what they were for: a listener, a
	// route's rule, a pool, or the Gateway itself.
	Failed map[lbmodel.Source]error
	// Pending says that steps are accepted and still converging, and Waiting, by what
	// they are for, on what.
	Pending bool
	Waiting map[lbmodel.Source]error
	// Leaves are the certificates that the gateway has in the cloud, of those of its
	// identities that are issued for it, by Identity.Name.
	Leaves map[string]lbmodel.Leaf
	// Roots are what the gateway's trust holds in the cloud, by Trust.Name, as far as
	// somebody tells: those that are on their way out too.
	Roots map[string][]lbmodel.Root
	// Underway says that the cloud has not answered yet, and Unseen why it cannot be
	// looked at: of all else only Findings are known then, and what the status says of
	// the cloud stays, as far as it is about this generation.
	Underway bool
	Unseen   error
	// Unplanned says that this process has never planned the gateway, so that Findings
	// lack what only a plan finds: what is taken, what the account does not have.
	Unplanned bool
	// Sync is gatehouse.dev/InSync; the zero value leaves the condition alone.
	Sync Sync
}

// Sync is how the cloud stands to what is wanted.
type Sync struct {
	Reason SyncReason
	Detail string
}

// SyncReason is a reason of the condition gatehouse.dev/InSync. It is true for
// InSync only.
type SyncReason string

// The reasons.
const (
	InSync           SyncReason = "InSync"
	Drifted          SyncReason = "Drifted"
	Paused           SyncReason = "Paused"
	ApprovalRequired SyncReason = "ApprovalRequired"
	Protected        SyncReason = "Protected"
	NotAccepted      SyncReason = "NotAccepted"
	Unproven         SyncReason = "ProbeFailed" // backends were not seen to take what would change
	Unseen           SyncReason = "Unseen"      // the cloud cannot be looked at: unknown
	Unfinished       SyncReason = "Pending"     // changes failed or are under way; they are tried again
)

// Patch is the complete status that an object should have. It was made from the
// version named, so it is written only over that one.
type Patch struct {
	Key             Key
	UID             string
	ResourceVersion string
	// Base is the status that it was made from, of Status's type. What is equal in
	// both was none of this pass's business. It is shared and must not be changed.
	Base   any
	Status any // *GatewayStatus, *HTTPRouteStatus and so on
}

// Status turns results and outcomes into patches, one for each object whose
// status differs, sorted by key. Entries of other controllers and conditions
// that are not ours come out as they went in. Entries for gateways of ours that
// results leave out stay too; a gateway that is gone is in results with Gone.
func Status(x *Index, results map[Key]Result, outcomes map[Key]Outcome, now metav1.Time) []Patch {
	w := &statusWriter{x: x, results: results, outcomes: outcomes, now: now, patches: map[Key]Patch{}}
	w.keys = slices.SortedFunc(maps.Keys(results), compareKeys)
	w.views = map[Key]*gatewayView{}
	for _, key := range w.keys {
		w.views[key] = w.view(key, results[key])
	}
	w.classes()
	for _, key := range w.keys {
		switch r := results[key]; {
		case r.Gone && key.Kind == KindService:
			w.forgetService(key)
		case r.Gone:
		case key.Kind == KindService:
			w.service(key)
		default:
			w.gateway(key, r)
		}
	}
	w.routes()
	w.policies()
	w.xbackends()
	out := slices.Collect(maps.Values(w.patches))
	slices.SortFunc(out, func(a, b Patch) int { return compareKeys(a.Key, b.Key) })
	return out
}

type statusWriter struct {
	x        *Index
	results  map[Key]Result
	outcomes map[Key]Outcome
	now      metav1.Time
	keys     []Key // of results, sorted
	views    map[Key]*gatewayView
	patches  map[Key]Patch
}

// patch records a status unless it equals what is there.
func (w *statusWriter) patch(key Key, obj metav1.Object, have, want any) {
	if reflect.DeepEqual(have, want) {
		return
	}
	w.patches[key] = Patch{Key: key, UID: string(obj.GetUID()), ResourceVersion: obj.GetResourceVersion(), Base: have, Status: want}
}

// claimants are the objects of some kinds that have, or should have, an entry
// for a gateway in results: those in use by it, those with an old entry for it
// or its ListenerSets, and those with an entry for a parent that is gone.
func (w *statusWriter) claimants(used map[Key]bool, mine func(Key) bool) []Key {
	for _, key := range w.keys {
		w.claimed(key, used, mine)
		for part := range w.x.at(key).parts.all() {
			if part.Kind == KindListenerSet {
				w.claimed(part, used, mine)
			}
		}
	}
	for key := range w.x.orphans.all() {
		if mine(key) {
			used[key] = true
		}
	}
	return slices.SortedFunc(maps.Keys(used), compareKeys)
}

func (w *statusWriter) claimed(parent Key, used map[Key]bool, mine func(Key) bool) {
	for key := range w.x.at(claimPoint(parent)).parts.all() {
		if mine(key) {
			used[key] = true
		}
	}
}

// findings are all findings about an object, of a gateway's result and outcome.
func (w *statusWriter) findings(gateway Key) []lbmodel.Finding {
	return slices.Concat(w.results[gateway].Findings, w.outcomes[gateway].Findings)
}

// gatewayOf is the gateway that a parentRef leads to, over a ListenerSet too.
func (w *statusWriter) gatewayOf(parent Key) Key {
	if parent.Kind != KindListenerSet {
		return parent
	}
	s, ok := lookup[*gwv1.ListenerSet](w.x, parent.Kind, parent.Namespace, parent.Name)
	if !ok {
		return Key{}
	}
	return setParent(s)
}

// keeps says whether an entry of ours for a gateway that is not in results is
// none of this pass's business and stays.
func (w *statusWriter) keeps(gateway Key) bool {
	_, now := w.results[gateway]
	return !now && w.x.isOurs(gateway)
}
