package watch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/translate"
)

func route(name string) *gwv1.HTTPRoute {
	return &gwv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
}

func routeKey(name string) translate.Key {
	return translate.Key{Kind: translate.KindHTTPRoute, Namespace: "a", Name: name}
}

// TestBatches notes events and takes them. The first batch waits for everything;
// later ones have of each object its last version, and come together when they
// arrive together.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPending()
		p.note(routeKey("x"), route("x"))
		early, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.next(early); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("there is a batch before everything was read: %v", err)
		}
		p.learn(Facts{NoTrustBundles: true})
		p.complete()
		first, err := p.next(t.Context())
		if err != nil || !first.First || len(first.Put) != 1 || !first.Facts.NoTrustBundles {
			t.Fatalf("first batch is %+v, %v", first, err)
		}
		newer := route("x")
		newer.Generation = 2
		p.note(routeKey("x"), route("x"))
		p.note(routeKey("gone"), route("gone"))
		p.note(routeKey("x"), newer)
		p.note(routeKey("gone"), nil)
		plan := &v1alpha1.GatewayPlan{}
		p.note(translate.Key{Kind: kube.KindPlan, Namespace: "a", Name: "p"}, plan)
		p.note(translate.Key{Kind: kube.KindPlan, Namespace: "a", Name: "q"}, nil)
		got, err := p.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := Batch{
			Change: translate.Change{Put: []any{newer}, Delete: []translate.Key{routeKey("gone")}},
			Plans:  map[types.NamespacedName]*v1alpha1.GatewayPlan{{Namespace: "a", Name: "p"}: plan, {Namespace: "a", Name: "q"}: nil},
			Facts:  Facts{NoTrustBundles: true}, Since: got.Since,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("batch (-want +got):\n%s", d)
		}
		if got.Since.IsZero() || p.ready() {
			t.Errorf("since %v, and more to come %v; want the first event's time, and nothing", got.Since, p.ready())
		}
	})
}

// TestEmptyCluster: a cluster without any object is known too.
func TestEmptyCluster(t *testing.T) {
	p := newPending()
	p.complete()
	b, err := p.next(t.Context())
	if err != nil || !b.First || len(b.Put) != 0 {
		t.Errorf("batch is %+v, %v", b, err)
	}
}
