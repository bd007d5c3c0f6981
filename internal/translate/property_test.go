package translate

import (
	"embed"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"

	"gatehouse.dev/lbmodel"
)

//go:embed testdata/ca1.pem
var testFiles embed.FS

// testRoots is a good bundle for generated ConfigMaps.
var testRoots = func() string {
	text, err := testFiles.ReadFile("testdata/ca1.pem")
	if err != nil {
		panic(err)
	}
	return string(text)
}()

const propertyRounds = 150

// eachWorld runs a property on many random clusters. The seed in the failure's
// name repeats it.
func eachWorld(t *testing.T, property func(*testing.T, *dice, *rand.Rand)) {
	t.Helper()
	for seed := range uint64(propertyRounds) {
		rng := rand.New(rand.NewPCG(seed, 7))
		data := make([]byte, 1<<14)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		property(t, &dice{data}, rng)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func translated(x *Index) map[Key]Result {
	out := map[Key]Result{}
	for _, key := range x.Gateways() {
		out[key] = x.Gateway(key)
	}
	return out
}

// models are the public parts of results, comparable.
func models(results map[Key]Result) map[Key]any {
	out := map[Key]any{}
	for key, r := range results {
		out[key] = []any{r.Provider, r.Gateway, r.Findings, r.Skip, r.Parameters}
	}
	return out
}

// TestOrderMeansNothing: a snapshot's lists in any order give the same models,
// findings and patches.
func TestOrderMeansNothing(t *testing.T) {
	eachWorld(t, func(t *testing.T, d *dice, rng *rand.Rand) {
		objects := d.objects(40)
		a := New(snapshotOf(objects...), meshOptions())
		shuffled := slices.Clone(objects)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		b := New(snapshotOf(shuffled...), meshOptions())
		ra, rb := translated(a), translated(b)
		if diff := cmp.Diff(models(ra), models(rb)); diff != "" {
			t.Errorf("models differ:\n%s", diff)
		}
		if diff := cmp.Diff(Status(a, ra, nil, now()), Status(b, rb, nil, now())); diff != "" {
			t.Errorf("patches differ:\n%s", diff)
		}
	})
}

// TestModelsAreValid: whatever the objects say, the model is one that providers
// need not check.
func TestModelsAreValid(t *testing.T) {
	eachWorld(t, func(t *testing.T, d *dice, _ *rand.Rand) {
		for key, r := range translated(New(snapshotOf(d.objects(60)...), meshOptions())) {
			if err := lbmodel.Validate(r.Gateway); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	})
}

// TestWithEqualsNew: an index changed step by step equals one made from the
// final objects, the gateways that With leaves out translate as before, and the
// old index still answers as it did.
func TestWithEqualsNew(t *testing.T) {
	eachWorld(t, func(t *testing.T, d *dice, _ *rand.Rand) {
		objects := d.objects(30)
		x := New(snapshotOf(objects...), meshOptions())
		world := map[Key]any{}
		for _, obj := range objects {
			key, _ := KeyOf(obj)
			world[key] = obj
		}
		for range 12 {
			before := translated(x)
			c := d.change(world)
			next, concerned := x.With(c)
			want := New(snapshotOf(slices.Collect(maps.Values(world))...), meshOptions())
			if diff := cmp.Diff(models(translated(want)), models(translated(next))); diff != "" {
				t.Fatalf("after %+v (-new +with):\n%s", c, diff)
			}
			for key, r := range before {
				if !slices.Contains(concerned, key) && !reflect.DeepEqual(models(map[Key]Result{key: r}), models(map[Key]Result{key: next.Gateway(key)})) {
					t.Fatalf("%s changed with %+v, and With did not say so", key, c)
				}
				if !reflect.DeepEqual(r.Gateway, x.Gateway(key).Gateway) {
					t.Fatalf("%s changed in the old index", key)
				}
			}
			x = next
		}
	})
}

// change puts one random object into the world or takes one out.
func (d *dice) change(world map[Key]any) Change {
	if d.n(3) > 0 {
		obj := d.object()
		key, _ := KeyOf(obj)
		world[key] = obj
		return Change{Put: []any{obj}}
	}
	keys := slices.SortedFunc(maps.Keys(world), compareKeys)
	key := keys[d.n(len(keys))]
	delete(world, key)
	return Change{Delete: []Key{key}}
}

// TestFastPath: after a change of slices, PoolsOf gives exactly what a full
// translation would have in these pools, and no other pool differs, unless it says
// that endpoints are not all that changed.
func TestFastPath(t *testing.T) {
	found, turned := 0, 0
	eachWorld(t, func(t *testing.T, d *dice, _ *rand.Rand) {
		x := New(snapshotOf(d.objects(60)...), meshOptions())
		slice := d.slice()
		next, keys := x.With(Change{Put: []any{slice}})
		old, _ := lookup[*discoveryv1.EndpointSlice](x, KindEndpointSlice, slice.Namespace, slice.Name)
		touched := []Key{ServiceKey(slice)}
		if old != nil {
			touched = append(touched, ServiceKey(old))
		}
		for _, key := range keys {
			before, after := x.Gateway(key), next.Gateway(key)
			whole := false
			for _, service := range touched {
				pools, _, again := next.PoolsOf(service, before)
				whole = whole || again
				found += len(pools)
				before.Gateway.Pools = replaced(before.Gateway.Pools, pools)
			}
			if whole {
				turned++
				continue
			}
			if diff := cmp.Diff(after.Gateway, before.Gateway); diff != "" {
				t.Errorf("%s (-full +fast):\n%s", key, diff)
			}
		}
	})
	if found == 0 || turned == 0 {
		t.Error("no world had a pool to change; the test shows nothing")
	}
}

func replaced(pools, by []lbmodel.Pool) []lbmodel.Pool {
	out := slices.Clone(pools)
	for i := range out {
		if j := slices.IndexFunc(by, func(p lbmodel.Pool) bool { return p.Name == out[i].Name }); j >= 0 {
			out[i] = by[j]
		}
	}
	return out
}

// TestStatusSettles: writing the patches and asking again gives none.
func TestStatusSettles(t *testing.T) {
	eachWorld(t, func(t *testing.T, d *dice, _ *rand.Rand) {
		x := New(snapshotOf(d.objects(40)...), meshOptions())
		results := translated(x)
		patches := Status(x, results, appliedOutcomes(results), now())
		next, concerned := x.With(written(t, x, patches))
		if len(concerned) > 0 {
			t.Errorf("writing statuses concerns %v", concerned)
		}
		results = translated(next)
		if again := Status(next, results, appliedOutcomes(results), now()); len(again) > 0 {
			t.Errorf("a second pass writes %d patches, first %s", len(again), again[0].Key)
		}
	})
}

// FuzzTranslate builds small clusters from bytes: no panic, a valid model, and
// the same twice.
func FuzzTranslate(f *testing.F) {
	f.Add([]byte("a gateway, a route and a service walk into a cluster"))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data}
		x := New(snapshotOf(d.objects(len(data)/8)...), meshOptions())
		results := translated(x)
		for key, r := range results {
			if err := lbmodel.Validate(r.Gateway); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
		Status(x, results, nil, now())
		for _, key := range x.Gateways() {
			if !reflect.DeepEqual(results[key].Gateway, x.Gateway(key).Gateway) {
				t.Errorf("%s differs the second time", key)
			}
		}
	})
}
