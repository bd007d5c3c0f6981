package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// named is a provider whose addresses clients know for a while.
type named struct{ *cloud.Provider }

func (named) Lingers() time.Duration { return time.Hour }

// TestReplacedAddressLingers: where clients may still know it, an address that was
// replaced is published beside the new one until somebody agrees that it goes, and serves
// on after that, until its time is over. One of a gateway that goes, goes.
func TestReplacedAddressLingers(t *testing.T) {
	in := func(location, pool string) string {
		return strings.Replace(base, "fake: {}", "fake: {location: "+location+", addressPool: ["+pool+"]}", 1)
	}
	here, there := in("here", "127.71.9.0/29"), in("there", "127.71.9.8/29")
	now := time.Now()
	w := newWorldOf(t, here, func(p *cloud.Provider) providers.Config {
		return providers.Config{Provider: named{p}, Clock: providers.Clock{Now: func() time.Time { return now }}}
	})
	published := func() string {
		g, _ := w.loop.Gateway(translate.Key{Kind: translate.KindGateway, Namespace: "default", Name: "a"})
		var out []string
		for _, a := range w.loop.Addresses(g) {
			out = append(out, a.Value)
		}
		return strings.Join(out, " ")
	}
	w.pass(w.all())
	before := published()
	keys := w.loop.Change(w.change(there, reconcile.Removed).Change)

	careful, err := w.loop.Plan(t.Context(), keys, lbmodel.HoldDisruptive)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(careful.Plan().Later); !strings.Contains(text, "needs agreement") {
		t.Errorf("nobody is asked whether the address may go: %s", text)
	}
	w.loop.Apply(t.Context(), careful, nil)
	both := published()
	if words := strings.Fields(both); len(words) != 2 || !slices.Contains(words, before) {
		t.Errorf("before anybody has agreed %q is published, want %q and another", both, before)
	}
	for _, step := range []struct {
		name   string
		after  time.Duration
		serves bool
	}{{"agreed", 0, true}, {"59 minutes later", 59 * time.Minute, true}, {"after the time", 2 * time.Minute, false}} {
		now = now.Add(step.after)
		done := w.pass(keys)
		serves := false
		for _, r := range w.account.Observed(lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "default", Name: "a"}) {
			serves = serves || r.ID.Kind == cloud.KindListener && r.ID.Location == "here"
		}
		if words := strings.Fields(published()); len(words) != 1 || words[0] == before || serves != step.serves || !done.Settled() {
			t.Errorf("%s: %q is published, the old one serves: %t, want %t; all is done: %t", step.name, published(), serves, step.serves, done.Settled())
		}
	}
	keys = w.loop.Change(w.change(strings.Replace(there, "metadata: {name: a}\nspec: {gatewayClassName", "metadata: {name: z}\nspec: {gatewayClassName", 1), reconcile.Removed).Change)
	w.pass(keys)
	if got := published(); got != "" {
		t.Errorf("of a gateway that is gone %q is left", got)
	}
}
