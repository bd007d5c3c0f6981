package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// gatewayStatus is the status that an outcome (nil for none) leads to for
// apps/edge, of some listeners.
func gatewayStatus(t *testing.T, outcome *Outcome, listeners ...string) *gwv1.GatewayStatus {
	t.Helper()
	x := indexOf(t, `
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 1}
spec: {gatewayClassName: offcluster, listeners: [`+strings.Join(listeners, ", ")+`]}
---
kind: Secret
metadata: {name: swapped, namespace: apps}
problem: tls.key does not belong to tls.crt
---
kind: Secret
metadata: {name: garbage, namespace: apps}
problem: tls.crt is not PEM
`)
	key, outcomes := Key{KindGateway, "apps", "edge"}, map[Key]Outcome{}
	if outcome != nil {
		outcomes[key] = *outcome
	}
	patches := Status(x, translateAll(t, x), outcomes, now())
	return patches[slices.IndexFunc(patches, func(p Patch) bool { return p.Key == key })].Status.(*gwv1.GatewayStatus)
}

func message(list []metav1.Condition, kind string) string {
	for _, c := range list {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

// TestBadCertificate: who reads why a listener is not served learns which Secret it
// is, what is wrong with it, and that the old certificate may be served for as long as
// changes wait.
func TestBadCertificate(t *testing.T) {
	cases := []struct {
		name, why string
		outcome   *Outcome
		still     bool
	}{
		{"not applied", "nobody knows what is in the cloud", nil, false},
		{"taken away", "", &Outcome{Sync: Sync{Reason: InSync}}, false},
		{"no news", "the cloud had a bad moment, which changes no status", &Outcome{}, false},
		{"held", "to take a listener away needs agreement", &Outcome{Sync: Sync{Reason: ApprovalRequired}}, true},
		{"paused", "", &Outcome{Sync: Sync{Reason: Paused}}, true},
		{"only planned", "", &Outcome{Sync: Sync{Reason: Drifted}}, true},
		{"under way", "", &Outcome{Sync: Sync{Reason: Unfinished}}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := gatewayStatus(t, c.outcome, `{name: one, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: swapped}, {name: garbage}]}}`,
				`{name: two, port: 80, protocol: HTTP}`)
			list := s.Listeners[0].Conditions
			want(t, c.why, condition(list, condProgrammed), "False/Invalid")
			got := message(list, condProgrammed)
			for _, part := range []string{"tls.certificateRefs[0]: Secret apps/swapped: tls.key does not belong to tls.crt", "tls.certificateRefs[1]: Secret apps/garbage: tls.crt is not PEM"} {
				if !strings.Contains(got, part) {
					t.Errorf("the message lacks %q: %s", part, got)
				}
			}
			if strings.Contains(got, "it still is, with the certificate that it had") != c.still {
				t.Errorf("%s: want the old certificate told %v: %s", c.why, c.still, got)
			}
		})
	}
}

// TestUnresolvedAreNamed: the Gateway names every listener with references that are
// no good, and why each is, as far as people read.
func TestUnresolvedAreNamed(t *testing.T) {
	var listeners []string
	for i := range maxNamed + 2 {
		listeners = append(listeners, fmt.Sprintf("{name: l%d, port: %d, protocol: HTTPS, tls: {certificateRefs: [{name: absent%d}, {name: garbage}]}}", i, 443+i, i))
	}
	s := gatewayStatus(t, nil, listeners...)
	want(t, "", condition(s.Conditions, condResolvedRefs), "False/ListenersNotResolved")
	got := message(s.Conditions, condResolvedRefs)
	for i := range maxNamed {
		part := fmt.Sprintf("listener l%d: tls.certificateRefs[0]: Secret apps/absent%d does not exist; tls.certificateRefs[1]: Secret apps/garbage: tls.crt is not PEM", i, i)
		if !strings.Contains(got, part) {
			t.Errorf("the message lacks %q: %s", part, got)
		}
	}
	if !strings.HasSuffix(got, "; and 2 more") {
		t.Errorf("the message does not count the rest: %s", got)
	}
}

// TestNotAcceptedIsNotInSync: of what is not accepted nothing is as wanted, whatever
// is there; and a stronger reason stays.
func TestNotAcceptedIsNotInSync(t *testing.T) {
	refused := []lbmodel.Finding{{About: Key{KindGateway, "apps", "edge"}.source("addresses[0]"), Condition: condAccepted, Reason: "UnsupportedAddress"}}
	cases := []struct {
		name, why string
		outcome   *Outcome
		want      string
	}{
		{"all done", "what is there is not what was asked for", &Outcome{Findings: refused, Sync: Sync{Reason: InSync}}, "False/NotAccepted"},
		{"paused", "the pause is to be told first", &Outcome{Findings: refused, Sync: Sync{Reason: Paused}}, "False/Paused"},
		{"a bad moment", "no news", &Outcome{Findings: refused}, ""},
		{"accepted", "", &Outcome{Sync: Sync{Reason: InSync}}, "True/InSync"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := gatewayStatus(t, c.outcome, `{name: one, port: 80, protocol: HTTP}`)
			want(t, c.why, condition(s.Conditions, CondInSync), c.want)
			stays := strings.Contains(message(s.Conditions, condProgrammed), "stays as it is")
			if len(c.outcome.Findings) > 0 && !stays {
				t.Errorf("the message does not say what becomes of what is there: %s", message(s.Conditions, condProgrammed))
			}
		})
	}
}
