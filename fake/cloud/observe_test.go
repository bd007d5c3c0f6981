package cloud

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

// Why: an account is shared by gateways, clusters and people. Everybody sees their
// own, what is shared, what they asked for, and what stands in their way; nothing
// else.
func TestObserveSortsByOwner(t *testing.T) {
	c := newCloud(t, nil)
	small := func(cluster, name string) lbmodel.Gateway {
		return lbmodel.Gateway{
			Owner:     lbmodel.Owner{Cluster: cluster, Kind: "Gateway", Namespace: "apps", Name: name, UID: cluster + name},
			Pools:     []lbmodel.Pool{pool("a", lbmodel.PoolHTTP1, "10.0.0.1")},
			Listeners: []lbmodel.Listener{httpListener(80, prefix("/", "a"))},
		}
	}
	one, two, other := small("c1", "one"), small("c1", "two"), small("c2", "one")
	for _, gw := range []lbmodel.Gateway{one, two, other} {
		newLoop(t, c, nil).apply(gw)
	}
	network := mustCreate(t, c, KindNetwork, "asked-for", &Network{})
	mustCreate(t, c, KindNetwork, "not-asked-for", &Network{})
	var listener Object
	for _, o := range c.Dump() {
		if o.Kind == KindListener && o.Tags.Owner == one.Owner {
			listener = o
		}
	}
	mustCreate(t, c, KindRule, "intruder", &Rule{Listener: ref(listener), Number: 7, Action: lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 418}}})
	tests := []struct {
		name, why string
		owner     lbmodel.Owner
		want      map[string]int // by hold and kind
	}{
		{"one owner", "its own, the shared, the named, and what fills its slots", one.Owner, map[string]int{
			"Own Address": 1, "Own Balancer": 1, "Own Listener": 1, "Own Rule": 1, "Own Pool": 1, "Shared EndpointGroup": 1,
			"Adopted Network": 1, "External Address": 1, "External Rule": 1}},
		{"whole cluster", "all of ours at once", lbmodel.Owner{Cluster: "c1"}, map[string]int{
			"Own Address": 2, "Own Balancer": 2, "Own Listener": 2, "Own Rule": 2, "Own Pool": 2, "Shared EndpointGroup": 1,
			"Adopted Network": 1, "External Address": 1, "External Rule": 1}},
		{"same name in another cluster", "clusters do not touch each other", other.Owner, map[string]int{
			"Own Address": 1, "Own Balancer": 1, "Own Listener": 1, "Own Rule": 1, "Own Pool": 1, "Shared EndpointGroup": 1,
			"Adopted Network": 1, "External Address": 2}},
		{"re-created gateway", "another UID is another owner", lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "one", UID: "new"},
			map[string]int{"Shared EndpointGroup": 1, "Adopted Network": 1, "External Address": 1, "External Rule": 1}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			graph, err := NewProvider(c, nil).Observe(t.Context(), tc.owner, []lbmodel.Handle{network.Handle})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for id, r := range graph {
				got[r.Hold.String()+" "+id.Kind]++
				if r.Hold == lbmodel.Own && tc.owner.Name != "" && r.Owner != tc.owner {
					t.Errorf("%s is owned by %s", id, r.Owner)
				}
				if r.Digest != lbmodel.DigestOf(r.Spec) || r.Handle == "" {
					t.Errorf("%s is observed without its digest or handle", id)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.why, diff)
			}
		})
	}
}

func TestListsHavePages(t *testing.T) {
	c := newCloud(t, func(o *Options) { o.PageSize = 2 })
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		mustCreate(t, c, KindNetwork, name, &Network{})
	}
	all, err := NewProvider(c, nil).list(t.Context(), ListRequest{})
	if err != nil || len(all) != 5 {
		t.Errorf("%d objects, %v, want 5", len(all), err)
	}
	if n := c.Calls()["ListObjects"]; n != 3 {
		t.Errorf("%d calls, want 3 pages", n)
	}
}

func TestStaleReads(t *testing.T) {
	c := newCloud(t, nil)
	for i := range staleWrites {
		mustCreate(t, c, KindNetwork, "old"+strconv.Itoa(i), &Network{})
	}
	fresh := mustCreate(t, c, KindNetwork, "new", &Network{})
	c.Intercept(&spoil{name: "ListObjects", fault: Fault{Kind: Stale}})
	for _, want := range []int{1, staleWrites + 1} { // then the reads catch up
		page, err := c.List(t.Context(), ListRequest{})
		if err != nil || len(page.Objects) != want {
			t.Errorf("%d objects, %v, want %d", len(page.Objects), err, want)
		}
	}
	c.Intercept(&spoil{name: "GetNetwork", fault: Fault{Kind: Stale}})
	_, err := c.Get(t.Context(), fresh.Handle)
	wantFault(t, err, NotFound, "a stale read does not know it yet")
}

func TestMarkIsKeptWithTheObject(t *testing.T) {
	dir := t.TempDir()
	c := kept(t, dir, nil)
	o := mustCreate(t, c, KindNetwork, "n", &Network{})
	r := lbmodel.Resource{ID: lbmodel.ID{Kind: KindNetwork}, Handle: o.Handle}
	facts, err := NewProvider(c, nil).Mark(t.Context(), r, o.Since)
	if err != nil || !facts.DroppedAt.Equal(o.Since) {
		t.Fatalf("%+v, %v", facts, err)
	}
	closeCloud(t, c)
	if got := kept(t, dir, nil).Dump()[0]; !got.Dropped.Equal(o.Since) || !got.Since.Equal(o.Since) {
		t.Errorf("since %s and dropped %s have not survived a restart", got.Since, got.Dropped)
	}
}

// Why: S10 - an address that a plan made before its balancer's move was kept back
// stood in status.addresses beside the one that serves. Only what a balancer
// answers at is a gateway's address.
func TestAddressesAreThoseThatServe(t *testing.T) {
	c := newCloud(t, nil)
	p := NewProvider(c, nil)
	owner := lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge"}
	own, shared, _ := p.Compile(lbmodel.Gateway{Owner: owner, Listeners: []lbmodel.Listener{httpListener(80)}})
	applied := createAll(t, p, owner, own, shared)
	moved, _, _ := p.Compile(lbmodel.Gateway{Owner: owner, Addresses: []lbmodel.AddressRequest{{Type: lbmodel.AddressIP, Value: "127.71.0.9"}}})
	for _, r := range moved {
		if r.ID.Kind == KindAddress {
			mustApply(t, p, owner, lbmodel.Step{Verb: lbmodel.Create, ID: r.ID, Want: r.Spec}, applied)
		}
	}
	observed, err := p.Observe(t.Context(), owner, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, graph := range map[string]lbmodel.Graph{"applied": applied, "observed": observed} {
		got := map[string][]lbmodel.Address{}
		for id, r := range graph {
			if len(r.Facts.Addresses) > 0 {
				got[id.Kind] = append(got[id.Kind], r.Facts.Addresses...)
			}
		}
		want := map[string][]lbmodel.Address{KindBalancer: {{Type: lbmodel.AddressIP, Value: "127.71.0.1"}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: addresses by kind (-want +got):\n%s", name, diff)
		}
	}
}
