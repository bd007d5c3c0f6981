package readiness

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

var now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

const gate = corev1.PodConditionType(translate.GatePrefix + "shop")

// pod is one with a gate for Service shop and these conditions.
func pod(conditions ...corev1.PodCondition) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "p", UID: "p1"},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "other.test/gate"}, {ConditionType: gate}}},
		Status:     corev1.PodStatus{PodIP: "10.0.0.1", Conditions: conditions},
	}
}

// endpoint is that of the pod, or of another one.
func endpoint(address, of string, edits ...func(*lbmodel.Endpoint)) lbmodel.Endpoint {
	e := lbmodel.Endpoint{Address: address, Port: 8080, Ready: true, Serving: true, Pod: lbmodel.Source{Kind: "Pod", Namespace: "apps", Name: of}}
	for _, edit := range edits {
		edit(&e)
	}
	return e
}

// use is a gateway that sends to the pod, and what was said of it a minute from now.
func use(gateway string, health lbmodel.Health, edits ...func(*Use)) Use {
	endpoints := []lbmodel.Endpoint{endpoint("10.0.0.1", "p"), endpoint("10.0.0.9", "old")}
	u := Use{
		Gateway: translate.Key{Kind: "Gateway", Namespace: "edge", Name: gateway}, Wanted: endpoints, Taken: endpoints,
		Health: providers.PoolHealth{Observed: true, There: true, At: now.Add(time.Minute), Targets: map[lbmodel.Target]lbmodel.Health{"10.0.0.1:8080": health}},
	}
	for _, edit := range edits {
		edit(&u)
	}
	return u
}

func waitingSince(at time.Time, uid string) corev1.PodCondition {
	return corev1.PodCondition{Type: gate, Status: corev1.ConditionFalse, Reason: ReasonWaiting, Message: "x (Service UID " + uid + ")", LastTransitionTime: metav1.NewTime(at)}
}

func healthy(uid string) corev1.PodCondition {
	return corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue, Reason: ReasonHealthy, Message: "x (Service UID " + uid + ")", LastTransitionTime: metav1.NewTime(now)}
}

const (
	good = lbmodel.HealthHealthy
	bad  = lbmodel.HealthUnhealthy
)

func TestDecide(t *testing.T) {
	waits := waitingSince(now, "s1")
	notReady := func(e *lbmodel.Endpoint) { e.Ready = false }
	without := func(u *Use) { u.Wanted, u.Taken = u.Wanted[1:], u.Taken[1:] }
	full := func(u *Use) { u.Taken = u.Taken[1:] }
	absent := func(u *Use) { u.Health.There = false }
	unseen := func(u *Use) { u.Health.Observed, u.Health.There = false, false }
	stale := func(u *Use) { u.Health.At = now.Add(999 * time.Millisecond) }
	reused := func(u *Use) {
		u.Wanted = []lbmodel.Endpoint{endpoint("10.0.0.1", "before")}
		u.Taken = u.Wanted
	}
	unready := func(u *Use) {
		u.Wanted = []lbmodel.Endpoint{endpoint("10.0.0.1", "p", notReady)}
		u.Taken = u.Wanted
	}
	cases := []struct {
		name, why string
		was       []corev1.PodCondition
		uses      []Use
		want      string // status, reason and who is polled
	}{
		{"nobody uses the Service", "", nil, nil, "True NothingToWaitFor"},
		{"the load balancer is not there", "it sends nobody a request, and may never come to be", nil, []Use{use("a", good, absent)}, "True NothingToWaitFor"},
		{"no cloud was looked at", "a new process knows nothing", nil, []Use{use("a", good, unseen)}, "unknown"},
		{"one was not looked at", "", []corev1.PodCondition{waits}, []Use{use("a", good), use("b", good, unseen)}, "unknown"},
		{"no endpoint", "", nil, []Use{use("a", good, without)}, "False NotRegistered"},
		{"an endpoint that is not ready", "its containers come first", nil, []Use{use("a", good, unready)}, "False NotRegistered"},
		{"the address of a pod before it", "its health is not ours", []corev1.PodCondition{waits}, []Use{use("a", good, reused)}, "False NotRegistered"},
		{"a target now", "whatever was said of the address was about another pod", nil, []Use{use("a", good, func(u *Use) { u.Health.At = now })}, "False Waiting a"},
		{"healthy, by a look before", "", []corev1.PodCondition{waits}, []Use{use("a", good, stale)}, "False Waiting a"},
		{"healthy", "", []corev1.PodCondition{waits}, []Use{use("a", good)}, "True Healthy"},
		{"healthy in one of two", "every one must say so", []corev1.PodCondition{waits}, []Use{use("a", good), use("b", lbmodel.HealthInitial)}, "False Waiting b"},
		{"unhealthy in both", "both are asked again", []corev1.PodCondition{waits}, []Use{use("b", bad), use("a", bad), use("a", bad)}, "False Waiting a b"},
		{"not known to the cloud", "", []corev1.PodCondition{waits}, []Use{use("a", "")}, "False Waiting a"},
		{"a port that the pod does not have", "another pool has the pod: the slices know it", []corev1.PodCondition{waits}, []Use{use("a", good), use("a", "", without)}, "True Healthy"},
		{"more endpoints than the provider takes", "it gets no request, so nothing is lost", nil, []Use{use("a", good, full)}, "True NothingToWaitFor"},
		{"unhealthy later", "a load balancer's trouble must not take the pod out of the cluster", []corev1.PodCondition{healthy("s1")}, []Use{use("a", bad)}, "True Healthy"},
		{"a gateway comes later", "", []corev1.PodCondition{healthy("s1")}, []Use{use("a", good), use("b", bad)}, "True Healthy"},
		{"the Service was made again", "nothing is known of this one", []corev1.PodCondition{healthy("s0")}, []Use{use("a", good, func(u *Use) { u.Health.At = now })}, "False Waiting a"},
		{"waiting for a Service that was made again", "the time starts anew", []corev1.PodCondition{waitingSince(now.Add(-time.Hour), "s0")}, []Use{use("a", good, func(u *Use) { u.Health.At = now })}, "False Waiting a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, ok := Decide(pod(c.was...), "shop", &Service{UID: "s1", Uses: c.uses}, now)
			got := "unknown"
			if ok {
				got = string(d.Condition.Status) + " " + d.Condition.Reason
				for _, key := range d.Poll {
					got += " " + key.Name
				}
				if d.Condition.Type != gate || !strings.HasSuffix(d.Condition.Message, "(Service UID s1)") {
					t.Errorf("condition %+v", d.Condition)
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s: %s\n%s", got, c.want, c.why, d.Condition.Message)
			}
		})
	}
}

// TestNoService: a gate for nothing holds nobody up, until there is something.
func TestNoService(t *testing.T) {
	d, ok := Decide(pod(), "shop", nil, now)
	if !ok || d.Condition.Status != corev1.ConditionTrue || !strings.HasSuffix(d.Condition.Message, "(there is no such Service)") {
		t.Errorf("%+v", d.Condition)
	}
	d, _ = Decide(pod(d.Condition), "shop", &Service{UID: "s1", Uses: []Use{use("a", bad)}}, now)
	if d.Condition.Status != corev1.ConditionFalse {
		t.Errorf("with a Service and a load balancer: %+v", d.Condition)
	}
}

// TestTimes: the time is that of the last change of status or reason, and equal
// decisions are equal: nothing is written again and again.
func TestTimes(t *testing.T) {
	waits := waitingSince(now, "s1")
	service := &Service{UID: "s1", Uses: []Use{use("a", lbmodel.HealthInitial)}}
	d, _ := Decide(pod(waits), "shop", service, now.Add(time.Hour))
	if !d.Condition.LastTransitionTime.Time.Equal(now) {
		t.Errorf("it still waits, since %s", d.Condition.LastTransitionTime)
	}
	again, _ := Decide(pod(d.Condition), "shop", service, now.Add(2*time.Hour))
	if !says(again.Condition, d.Condition) {
		t.Errorf("%+v, then %+v", d.Condition, again.Condition)
	}
	service.Uses[0].Health.Targets["10.0.0.1:8080"] = good
	done, _ := Decide(pod(d.Condition), "shop", service, now.Add(3*time.Hour))
	if !done.Condition.LastTransitionTime.Time.Equal(now.Add(3 * time.Hour)) {
		t.Errorf("it is healthy since %s", done.Condition.LastTransitionTime)
	}
}
