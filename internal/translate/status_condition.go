package translate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/lbmodel"
)

// The most of anything that a status may hold.
const (
	maxConditions = 8
	maxAddresses  = 16
	maxMessage    = 4096 // bytes; the API allows 32 KiB, a person reads less
)

// conditionList merges our conditions into a list that others write to as well:
// foreign conditions keep their place and their bytes.
type conditionList struct {
	list       []metav1.Condition
	generation int64 // of the object, as we saw it
	now        metav1.Time
}

func newConditions(have []metav1.Condition, generation int64, now metav1.Time) *conditionList {
	return &conditionList{slices.Clone(have), generation, now}
}

// verdict is one condition's content.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func yes(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
func no(reason, message string) verdict  { return verdict{metav1.ConditionFalse, reason, message} }

// set writes a condition. The time of its last transition moves only when its
// status does. One that was written for a later generation stays: our copy of
// the object is old then.
func (c *conditionList) set(kind string, v verdict) {
	next := metav1.Condition{
		Type: kind, Status: v.status, ObservedGeneration: c.generation, LastTransitionTime: c.now,
		Reason: v.reason, Message: truncate(v.message),
	}
	i := c.index(kind)
	switch {
	case i < 0 && len(c.list) < maxConditions:
		c.list = append(c.list, next)
	case i < 0, c.list[i].ObservedGeneration > c.generation:
		return
	default:
		if c.list[i].Status == v.status {
			next.LastTransitionTime = c.list[i].LastTransitionTime
		}
		c.list[i] = next
	}
}

// remove takes a condition of ours away: those of negative polarity exist only
// while they are true.
func (c *conditionList) remove(kind string) {
	if i := c.index(kind); i >= 0 && c.list[i].ObservedGeneration <= c.generation {
		c.list = slices.Delete(c.list, i, i+1)
	}
}

// put sets a condition that exists only while there is something to say; the
// zero verdict takes it away.
func (c *conditionList) put(kind string, v verdict) {
	if v == (verdict{}) {
		c.remove(kind)
	} else {
		c.set(kind, v)
	}
}

// get is what a condition says now.
func (c *conditionList) get(kind string) verdict {
	i := c.index(kind)
	if i < 0 {
		return verdict{}
	}
	return verdict{c.list[i].Status, c.list[i].Reason, c.list[i].Message}
}

// fresh is what a condition says of the generation that we see.
func (c *conditionList) fresh(kind string) verdict {
	if i := c.index(kind); i >= 0 && c.list[i].ObservedGeneration == c.generation {
		return c.get(kind)
	}
	return verdict{}
}

func (c *conditionList) index(kind string) int {
	return slices.IndexFunc(c.list, func(have metav1.Condition) bool { return have.Type == kind })
}

// truncate makes a message one that the API keeps as it is: what is no UTF-8 it
// would change, and every pass would set it right again.
func truncate(s string) string {
	if s = strings.ToValidUTF8(s, "?"); len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage-len("…")], "") + "…"
}

// maxNamed is how many things of a kind one message names.
const maxNamed = 8

// several joins messages, and counts those that are too many.
func several(messages []string) string {
	if more := len(messages) - maxNamed; more > 0 {
		messages = append(slices.Clone(messages[:maxNamed]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(messages, "; ")
}

// firstOf is the first finding for a condition, with the messages of all that
// share its reason.
func firstOf(findings []lbmodel.Finding, condition string) (v verdict, ok bool) {
	var messages []string
	for _, f := range findings {
		if f.Condition != condition {
			continue
		}
		if !ok {
			v, ok = no(f.Reason, ""), true
		}
		messages = append(messages, detailOf(f))
	}
	slices.Sort(messages)
	v.message = strings.Join(slices.Compact(messages), "; ")
	return v, ok
}

// detailOf puts the place in a route in front of the detail. Listeners have a
// status of their own, which says the place already.
func detailOf(f lbmodel.Finding) string {
	if f.About.Section == "" || !strings.HasSuffix(f.About.Kind, "Route") {
		return f.Detail
	}
	return f.About.Section + ": " + f.Detail
}

// failureReason is the reason of Programmed=False for an error code; "" where
// the condition stays as it is for now.
func failureReason(c lbmodel.Code) string {
	switch c {
	case lbmodel.CodeInvalid, lbmodel.CodeUnsupported:
		return reasonInvalid
	case lbmodel.CodeQuota:
		return "NoResources"
	case lbmodel.CodeConflict:
		return "Conflict"
	case lbmodel.CodeDenied:
		return "Denied"
	case lbmodel.CodeThrottled, lbmodel.CodeUnavailable:
		return ""
	default:
		return reasonPending
	}
}
