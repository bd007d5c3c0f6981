package mesh

import (
	"fmt"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/inbound"
)

// strictByLabel is a PeerAuthentication for the pods with a label: what makes a
// change of the mode pod by pod.
const strictByLabel = `apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: strict, namespace: apps}
spec:
  selector: {matchLabels: {mtls: strict}}
  portLevelMtls: {"8080": {mode: STRICT}}
`

// TestOnboarding takes a running Service into the mesh and out of it again, pod by
// pod and under load. Its gateway may speak clear text to pods that take it
// (minimumTLS: None), and never does to those that don't.
func TestOnboarding(t *testing.T) {
	for _, c := range []struct {
		name, why string
		without   string
		mode      func(*world, *pod, inbound.Mode)
	}{
		{name: "a provider that can say which ALPN to offer", mode: inPlace,
			why: "it reaches a sidecar by mutual TLS in either mode, so the mode may change while the pod runs"},
		{name: "a provider without ALPN control", without: "BackendTLSALPN", mode: rollout,
			why: "no connection that it can make works in both modes, so the pods are rolled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mesh := istioMesh()
			mesh.objects, mesh.member = strictByLabel, plain()
			w := withPods(t, mesh, options{without: c.without, binding: "  minimumTLS: None\n"})
			w.settle()
			w.writes.take()
			load := startLoad(w.url())
			into := func(name string, do func(*world, *pod)) {
				t.Helper()
				slowly(do)(w)
				if _, failed := load.counts(); len(failed) > 0 {
					t.Errorf("%s: requests failed: %v", name, failed)
				}
				w.direct(name)
			}
			into("sidecars come", func(w *world, p *pod) { replace(w, p, sidecar(inbound.Permissive)) })
			if c.without == "" {
				w.mutual("PERMISSIVE")
			}
			into("STRICT", func(w *world, p *pod) { c.mode(w, p, inbound.Strict) })
			w.mutual("STRICT")
			into("PERMISSIVE", func(w *world, p *pod) { c.mode(w, p, inbound.Permissive) })
			into("sidecars go", func(w *world, p *pod) { replace(w, p, plain()) })
			cost := w.writes.take()
			requests, failed := load.stop()
			s := w.seen.copy()
			bad := s.outcomes[inbound.Refused] + s.outcomes[inbound.WasReset]
			if total(failed) > 0 || bad > 0 || requests == 0 {
				t.Errorf("%d of %d requests failed (%v); pods refused or reset %d connections: %v", total(failed), requests, failed, bad, s.why)
			}
			figures.add(headMoves, "plain, PERMISSIVE, STRICT and back: "+c.name, requests, total(failed), bad, total(cost))
		})
	}
}

// unheard is long enough for every pod to be connected to anew.
const unheard = 500 * time.Millisecond

// inPlace changes the mode of a pod that runs, which may know before the gateway
// does: what the gateway offers works in both modes.
func inPlace(w *world, p *pod, mode inbound.Mode) {
	setMode(p, mode)
	p.become(sidecar(mode))
	time.Sleep(max(*breath, unheard)) // connections begin before the gateway has heard of it
	w.settle()
}

// rollout puts a pod of the other mode in the place of one.
func rollout(w *world, p *pod, mode inbound.Mode) {
	old := *p
	setMode(&old, mode)
	replaceBy(w, p, sidecar(mode), old.labels)
}

func setMode(p *pod, mode inbound.Mode) {
	labels := map[string]string{}
	if mode == inbound.Strict {
		labels["mtls"] = "strict"
	}
	p.labels = labels
}

// direct wants every pod to be reached.
func (w *world) direct(when string) {
	w.Helper()
	for _, g := range w.stack.Loop.Gateways() {
		for _, m := range g.Result.Meshes {
			for _, group := range m.Groups {
				if group.Verdict.Path != "Direct" {
					w.Errorf("%s: pods %v are %s: %s", when, group.Group.Pods, group.Verdict.Path, group.Verdict.Detail)
				}
			}
		}
	}
}

// mutual wants every pool to have mutual TLS.
func (w *world) mutual(when string) {
	w.Helper()
	for _, p := range w.served().Pools {
		if p.TLS == nil || fmt.Sprint(p.TLS.Level()) != "ClientAndServer" {
			w.Errorf("%s: pool %s is spoken to by %+v", when, p.Name, p.TLS)
		}
	}
}
