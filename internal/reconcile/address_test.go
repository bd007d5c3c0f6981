package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// TestHeldAddressChange: a change of address that nobody agreed to makes nothing,
// and the status says where the gateway answers, and how to agree.
func TestHeldAddressChange(t *testing.T) {
	asking := func(address string) string {
		return strings.Replace(base, "metadata: {name: a}\nspec: {gatewayClassName: local,",
			"metadata: {name: a}\nspec: {gatewayClassName: local, addresses: [{value: "+address+"}],", 1)
	}
	w := newWorld(t, asking("127.71.0.9"))
	w.loop.Approve = func(key translate.Key) string { return "ask for " + key.Name }
	w.pass(w.all())
	keys := w.loop.Change(w.change(asking("127.71.0.8"), reconcile.Removed).Change)
	planned, err := w.loop.Plan(t.Context(), keys, lbmodel.HoldDisruptive)
	if err != nil {
		t.Fatal(err)
	}
	if !planned.Empty() {
		t.Errorf("steps that are good for nothing are done: %v", planned.Plan().Steps)
	}
	done := w.loop.Apply(t.Context(), planned, nil)
	if done.Settled() {
		t.Error("what waits for agreement counts as done")
	}
	got := conditions(t, w.loop.Statuses(planned, done, time.Unix(0, 0)), "a")
	if !strings.Contains(got, "127.71.0.9") || strings.Contains(got, `"value":"127.71.0.8"`) || !strings.Contains(got, "ApprovalRequired") || !strings.Contains(got, "; ask for a\"") {
		t.Errorf("the status does not say what is served, and what waits: %s", got)
	}
}

// TestFailureIsItsOwners: who gets no address fails, and nobody else's status says
// so.
func TestFailureIsItsOwners(t *testing.T) {
	w := newWorld(t, strings.Replace(base, "fake: {}", `fake: {addressPool: [127.71.9.1/32]}`, 1))
	planned, err := w.loop.Plan(t.Context(), w.all())
	if err != nil {
		t.Fatal(err)
	}
	done := w.loop.Apply(t.Context(), planned, nil)
	statuses := w.loop.Statuses(planned, done, time.Unix(0, 0))
	good := 0
	for _, name := range []string{"a", "b"} {
		programmed := strings.Contains(conditions(t, statuses, name), `"Programmed","status":"True"`)
		g, _ := w.loop.Gateway(translate.Key{Kind: translate.KindGateway, Namespace: "default", Name: name})
		if has := len(w.loop.Addresses(g)) > 0; has != programmed {
			t.Errorf("%s has an address: %v, and its status says programmed: %v", name, has, programmed)
		}
		if programmed {
			good++
		}
	}
	if good != 1 || done.Settled() {
		t.Errorf("%d gateways are programmed, and settled is %v: want the one that has the address, and false", good, done.Settled())
	}
}
