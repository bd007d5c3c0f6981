package issue

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/linkerd"
)

// propagated is the gate of a mesh whose proxies take a new root within ten minutes.
func (w *world) propagated() *Published {
	p := &Published{}
	w.start(p.Trusted(func(string) time.Duration { return 10 * time.Minute }))
	p.See(mesh, w.roots(), w.clock())
	return p
}

// TestRotationByTime is a change of Istio's CA, A to A and B to B: the live
// certificate stays until proxies have B, at the cost of one certificate.
func TestRotationByTime(t *testing.T) {
	w := newWorld(t)
	published := w.propagated()
	id := identity("g")
	first := w.get(id)
	w.use(id, first)

	w.do(w.ca.Resign("a")) // the same key: no rotation
	second := w.get(id)
	w.use(id, second)

	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	published.See(mesh, w.roots(), w.clock())
	e := w.refused(id, lbmodel.CodePending)
	if e.RetryAfter != maxWait || !strings.Contains(e.Error(), `CN=b`) || !strings.Contains(e.Error(), "first seen published at 2026-03-01T12:00:00Z") {
		t.Errorf("%v after %s", e, e.RetryAfter)
	}
	w.pass(9 * time.Minute)
	if e := w.refused(id, lbmodel.CodePending); e.RetryAfter != time.Minute {
		t.Errorf("the gate opens in a minute, and not in %s", e.RetryAfter)
	}
	w.pass(time.Minute)
	third := w.get(id)
	if w.calls() != 3 {
		t.Errorf("%d certificates, want one for each change", w.calls())
	}
	w.use(id, third)
	w.do(w.ca.Drop("a"))
	published.See(mesh, w.roots(), w.clock())
	w.get(id) // of the live authority
}

// TestRestart: the time begins anew, which holds up only a change of authority.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	published := w.propagated()
	same, moving := identity("same"), identity("moving")
	w.do(w.ca.Add(ca.Root{Name: "b"}))
	w.use(moving, w.get(moving))
	w.do(w.ca.SignBy("b"))
	w.use(same, w.get(same)) // has nothing live: given at once
	published.See(mesh, w.roots(), w.clock())
	w.pass(11 * time.Minute)

	w.propagated()
	w.get(same)
	if e := w.refused(moving, lbmodel.CodePending); !strings.Contains(e.Error(), "12:11:00Z") {
		t.Error(e)
	}
	w.pass(10 * time.Minute)
	w.get(moving)
}

// TestLastMoment: when the live certificate is about to end, the newest one is given
// to a mesh that does not trust it yet.
func TestLastMoment(t *testing.T) {
	w := newWorld(t)
	id := identity("g")
	w.use(id, w.get(id))
	w.start(Anchored(func(string, lbmodel.Root) ([]string, error) { return []string{"apps/old"}, nil }))
	var told []Decision
	w.ring.config.Watch = func(_ lbmodel.Identity, d Decision) { told = append(told, d) }
	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	w.pass(16 * time.Hour)
	w.refused(id, lbmodel.CodePending)
	w.pass(7 * time.Hour)
	w.refused(id, lbmodel.CodePending)
	w.pass(46 * time.Minute)
	w.get(id)
	if w.calls() != 2 {
		t.Errorf("%d certificates", w.calls())
	}
	if len(told) != 3 || told[1].Switch || !told[2].Forced || !strings.Contains(told[2].Why, "apps/old") {
		t.Errorf("told was %+v", told)
	}
}

// TestNothingToWin: a certificate that ends before the live one is not switched to,
// and nobody knows when to look again.
func TestNothingToWin(t *testing.T) {
	w := newWorld(t)
	id := identity("g")
	w.use(id, w.get(id))
	w.start(Anchored(func(string, lbmodel.Root) ([]string, error) { return nil, errors.New("not read yet") }))
	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	w.life = time.Hour
	if e := w.refused(id, lbmodel.CodePending); e.RetryAfter != maxWait {
		t.Errorf("come again in %s", e.RetryAfter)
	}
}

// TestCandidateAges: while the gate is shut for long, a held certificate is replaced
// when half of its life is over.
func TestCandidateAges(t *testing.T) {
	w := newWorld(t)
	id := identity("g")
	w.life = 100 * time.Hour
	w.use(id, w.get(id))
	w.start(Anchored(func(string, lbmodel.Root) ([]string, error) { return []string{"apps/old"}, nil }))
	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	for range 25 {
		w.refused(id, lbmodel.CodePending)
		w.pass(2 * time.Hour)
	}
	if w.calls() != 2 {
		t.Fatalf("%d certificates in 50 hours of waiting", w.calls())
	}
	w.refused(id, lbmodel.CodePending)
	if w.calls() != 3 {
		t.Error("a certificate was held past half of its life")
	}
}

// pod is one whose Linkerd proxy was injected with these roots.
func pod(name string, pem []byte) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "linkerd-proxy", Env: []corev1.EnvVar{{Name: "LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS", Value: string(pem)}},
		}}},
	}
}

// TestRotationByRestart is a change of Linkerd's trust anchor: the live certificate
// stays until the last pod was restarted, and the pod is named.
func TestRotationByRestart(t *testing.T) {
	w := newWorld(t)
	pods := []*corev1.Pod{pod("a", w.ca.Bundle()), pod("b", w.ca.Bundle())}
	w.start(Anchored(func(_ string, root lbmodel.Root) ([]string, error) { return linkerd.Lacking(pods, root), nil }))
	id := identity("g")
	w.use(id, w.get(id))
	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	if e := w.refused(id, lbmodel.CodePending); !strings.Contains(e.Error(), "2 pods do not trust it until they are restarted: apps/a, apps/b") {
		t.Error(e)
	}
	pods[0] = pod("a", w.ca.Bundle())
	if e := w.refused(id, lbmodel.CodePending); !strings.Contains(e.Error(), "1 pods do not trust it until they are restarted: apps/b") {
		t.Error(e)
	}
	pods[1] = pod("b", w.ca.Bundle())
	w.get(id)
	if w.calls() != 2 {
		t.Errorf("%d certificates", w.calls())
	}
}
