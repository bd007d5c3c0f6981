package readiness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// The reasons of a gate's condition.
const (
	ReasonNothingToWaitFor = "NothingToWaitFor" // True: no load balancer sends to the Service
	ReasonNotRegistered    = "NotRegistered"    // False: the pod is no target yet
	ReasonWaiting          = "Waiting"          // False: it is one, and not healthy by a look since then
	ReasonHealthy          = "Healthy"          // True
)

// Decision is what a gate's condition should be.
type Decision struct {
	Condition corev1.PodCondition
	// Poll are the gateways whose clouds are to be looked at again, since the pod
	// waits for what they say.
	Poll []translate.Key
}

// Decide says what the condition of a pod's gate for a Service should be. service
// is nil when there is none of that name. Equal inputs give equal decisions; now is
// used only as the time of a change. ok is false while too little is known to decide
// anything: a cloud was not looked at since start.
func Decide(pod *corev1.Pod, name string, service *Service, now time.Time) (d Decision, ok bool) {
	kind := corev1.PodConditionType(translate.GatePrefix + name)
	c := judge{pod: pod, name: name, now: now, was: conditionOf(pod, kind)}
	if service != nil {
		c.uid = service.UID
	}
	if c.was.Status == corev1.ConditionTrue && c.same() {
		return Decision{Condition: c.was}, true
	}
	var uses []Use
	if service != nil {
		uses = service.Uses
	}
	if slices.ContainsFunc(uses, func(u Use) bool { return !u.Health.Observed }) {
		return Decision{Condition: c.was}, false
	}
	d = c.decide(slices.DeleteFunc(slices.Clone(uses), func(u Use) bool { return !u.counts() }))
	d.Condition.Type = kind
	return d, true
}

// judge decides one gate.
type judge struct {
	pod  *corev1.Pod
	name string
	uid  types.UID
	now  time.Time
	was  corev1.PodCondition // zero when there is none
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

func (j judge) decide(uses []Use) Decision {
	if len(uses) == 0 {
		return Decision{Condition: j.say(corev1.ConditionTrue, ReasonNothingToWaitFor,
			fmt.Sprintf("No load balancer sends to Service %s: nothing to wait for", j.name))}
	}
	known := func(u Use) bool { _, is := target(u.Wanted, j.pod); return is }
	if !slices.ContainsFunc(uses, known) {
		return Decision{Condition: j.say(corev1.ConditionFalse, ReasonNotRegistered,
			fmt.Sprintf("The pod is no ready endpoint of Service %s yet: its containers and other gates come first, and the Service must select it", j.name))}
	}
	targets := map[lbmodel.Target][]Use{}
	for _, u := range uses { // those without the pod are about a port that it does not have
		if t, taken := target(u.Taken, j.pod); taken {
			targets[t] = append(targets[t], u)
		}
	}
	if len(targets) == 0 {
		return Decision{Condition: j.say(corev1.ConditionTrue, ReasonNothingToWaitFor,
			fmt.Sprintf("No load balancer takes this endpoint of Service %s, which has more than they can: nothing to wait for", j.name))}
	}
	return j.health(targets)
}

// health waits for every target to be healthy, by a look since the pod is one.
func (j judge) health(targets map[lbmodel.Target][]Use) Decision {
	since := j.now
	if j.was.Reason == ReasonWaiting && j.same() {
		since = j.was.LastTransitionTime.Time
	}
	var out Decision
	var first string
	for t, uses := range targets {
		for _, u := range uses {
			state := u.Health.Targets[t]
			if state == lbmodel.HealthHealthy && lookedAfter(u.Health.At, since) {
				continue
			}
			out.Poll = append(out.Poll, u.Gateway)
			if said := fmt.Sprintf("%s has not said yet that %s is healthy", u.Gateway, t); first == "" || said < first {
				first = said
			}
		}
	}
	if len(out.Poll) == 0 {
		out.Condition = j.say(corev1.ConditionTrue, ReasonHealthy, fmt.Sprintf("Every load balancer that sends to Service %s says that the pod is healthy", j.name))
		return out
	}
	slices.SortFunc(out.Poll, func(a, b translate.Key) int { return strings.Compare(a.String(), b.String()) })
	out.Poll = slices.Compact(out.Poll)
	out.Condition = j.say(corev1.ConditionFalse, ReasonWaiting, first)
	return out
}

// mark is how a condition says which Service it is about.
func (j judge) mark() string {
	if j.uid == "" {
		return " (there is no such Service)"
	}
	return fmt.Sprintf(" (Service UID %s)", j.uid)
}

// same says whether the condition there is about this very Service.
func (j judge) same() bool { return strings.HasSuffix(j.was.Message, j.mark()) }

// say is a condition. Its time is that of the last change of the status or of the
// reason: the latter is since when a target is waited for.
func (j judge) say(status corev1.ConditionStatus, reason, message string) corev1.PodCondition {
	out := corev1.PodCondition{Type: j.was.Type, Status: status, Reason: reason, Message: message + j.mark(), LastTransitionTime: j.was.LastTransitionTime}
	if j.was.Status != status || j.was.Reason != reason || !j.same() {
		out.LastTransitionTime = metav1.NewTime(j.now).Rfc3339Copy()
	}
	return out
}
