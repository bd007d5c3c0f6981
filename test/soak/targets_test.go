//go:build e2e

package soak

import (
	"context"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/test/cluster"
)

// edited is a target with its editor; nil is a target that nobody edits, and whose
// answers never change.
type edited struct {
	*target
	editor editor
}

// build makes everything that is asked, and waits until all answers are right.
func (w *world) build(t *testing.T) []edited {
	t.Helper()
	w.must(w.put(t.Context(), "{apiVersion: v1, kind: Namespace, metadata: {name: soak}}"))
	for _, secret := range []string{"rotated", "steady"} {
		w.must(w.rotate(t.Context(), secret, "v0.example"))
	}
	w.must(w.put(t.Context(), ground))
	for _, text := range []string{
		app(namespace, "a", 3), app(namespace, "b", 3), app(elsewhere, "c", 2),
		service(namespace, "a", "a", "", 80), service(namespace, "b", "b", "", 80), service(namespace, "flip", "a", "", 80), service(namespace, "ported", "a", "", 80),
		service(elsewhere, "c", "c", "", 80), service(elsewhere, "private", "c", "", 80), service(elsewhere, "granted", "c", "", 80),
		service(namespace, "balanced", "a", outside, 80), grant,
		gateway("doors", listener("http", 80, ""), listener("extra", 8081, "")), gateway("names", listener("http", 80, "")),
	} {
		w.must(w.put(t.Context(), text))
	}
	all := w.edited(t)
	for _, each := range all {
		w.await(each.target)
	}
	return all
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// await waits until a target answers as it is to.
func (w *world) await(t *target) {
	w.t.Helper()
	client := t.client()
	defer client.CloseIdleConnections()
	cluster.Eventually(w.t, time.Minute, func(context.Context) error { return t.check(client) })
}

// edited are all targets, with their routes applied.
func (w *world) edited(t *testing.T) []edited {
	t.Helper()
	var out []edited
	at := func(kind schema.GroupVersionResource, name string) (address string) {
		cluster.Eventually(t, time.Minute, func(ctx context.Context) (err error) {
			address, err = w.addressOf(ctx, kind, name)
			return err
		})
		return address
	}
	main, doors, names, balanced := at(gateways, "main"), at(gateways, "doors"), at(gateways, "names"), at(services, "balanced")
	add := func(name, url string, is state, e editor) *target {
		x := &target{name: name, host: name + ".example", url: url, is: is, j: w.journal}
		out = append(out, edited{x, e})
		return x
	}
	route := func(r routing) string {
		w.must(w.put(t.Context(), r.String()))
		return r.name
	}
	a := state{edit: "as at first", status: http.StatusOK, mark: "0", apps: []string{"a"}}
	secure, bare := a, a
	secure.leaf, bare.mark = "v0.example", ""

	add(route(plain("steady", "main", "a")), "http://"+main, a, nil).kept = true
	add("steady", "http://"+main, a, nil).name = "steady, a connection each"
	add(route(plain("private", "main", "a")), "https://"+main+":8443", secure, nil)
	add(route(plain("rotated", "main", "a")), "https://"+main, secure, w.rotated("rotated"))
	for _, name := range []string{"one", "two", "three", "four"} {
		add(route(plain(name, "main", "a")), "http://"+main, a, w.rerouted(name)).kept = name == "one"
	}
	w.addServices(add, route, "http://"+main, a)
	add("balanced", "http://"+balanced, bare, nil)
	shut, opened := state{edit: "port removed", status: refused, meanwhile: closing}, bare
	opened.edit, opened.meanwhile = "port added", map[int]string{cut: endpointsLater}
	add("balanced", "http://"+balanced+":8080", shut, w.switched(opened, shut,
		service(namespace, "balanced", "a", outside, 80, 8080), service(namespace, "balanced", "a", outside, 80))).name = "balanced port"
	http80, extra := listener("http", 80, ""), listener("extra", 8081, "")
	shut.edit = "listener removed"
	opened = a
	opened.edit, opened.meanwhile = "listener added", map[int]string{http.StatusNotFound: rulesLater}
	add(route(plain("extra", "doors", "a")), "http://"+doors+":8081", a, w.switched(shut, opened, gateway("doors", http80), gateway("doors", http80, extra)))
	add("extra", "http://"+doors, a, nil).name = "the listener beside"
	none := state{edit: "hostname changed", status: http.StatusNotFound}
	add(route(plain("named", "names", "a")), "http://"+names, a, w.switched(none, a,
		gateway("names", listener("http", 80, `, hostname: "*.other"`)), gateway("names", http80)))
	return out
}

// Why a port that a Service, or a Gateway, has just got or given up does not answer as
// it will at once.
const (
	endpointsLater = "the port is new, and the cluster tells its endpoints after it"
	endpointsFirst = "the port is gone, and the cluster has told that its endpoints are first: Services and EndpointSlices are watched each on their own"
	rulesLater     = "the listener is new, and its rules come after it"
)

// closing is what a port may answer while it goes: its rules go first, and whoever
// has connected in its last moment is hung up on.
var closing = map[int]string{
	http.StatusNotFound: "the listener goes, and its rules before it",
	cut:                 "the port goes",
}

// addServices adds what is edited by way of Services and grants.
func (w *world) addServices(add func(string, string, state, editor) *target, route func(routing) string, url string, a state) {
	b := a
	b.edit, b.apps = "selector changed", []string{"b"}
	add(route(plain("flip", "main", "flip")), url, a, w.switched(b, a, service(namespace, "flip", "b", "", 80), service(namespace, "flip", "a", "", 80)))
	broken, back := state{edit: "Service's port changed", status: http.StatusInternalServerError, meanwhile: map[int]string{http.StatusServiceUnavailable: endpointsFirst}}, a
	back.edit, back.meanwhile = "Service's port changed back", map[int]string{http.StatusServiceUnavailable: endpointsLater}
	add(route(plain("ported", "main", "ported")), url, a, w.switched(broken, back, service(namespace, "ported", "a", "", 81), service(namespace, "ported", "a", "", 80)))
	granted, c := plain("granted", "main", "granted"), a
	granted.backends, c.apps = backend("granted", ", namespace: elsewhere"), []string{"c"}
	broken = state{edit: "grant removed", status: http.StatusInternalServerError}
	add(route(granted), url, c, toggled(
		edit{broken, func(ctx context.Context) error { return w.remove(ctx, grants, elsewhere, "sometimes") }},
		edit{c, func(ctx context.Context) error { return w.put(ctx, grant) }},
	))
}
