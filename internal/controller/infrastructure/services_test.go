package infrastructure

import (
	"errors"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/controller/fakeapi"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

type world struct {
	t        *testing.T
	server   *fakeapi.Server
	services *Services
	cache    map[translate.Key]any
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server, err := fakeapi.New()
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(server)
	t.Cleanup(front.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: front.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, server: server, cache: map[translate.Key]any{}}
	w.services = New(Config{Client: client, Current: func(key translate.Key) (any, bool) { obj, ok := w.cache[key]; return obj, ok }})
	return w
}

func edge() *gwv1.Gateway {
	return &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "apps", UID: "u1"}}
}

func ip(values ...string) (out []lbmodel.Address) {
	for _, v := range values {
		out = append(out, lbmodel.Address{Type: lbmodel.AddressIP, Value: v})
	}
	return out
}

func listen(ports ...int32) (m lbmodel.Gateway) {
	for _, p := range ports {
		m.Listeners = append(m.Listeners, lbmodel.Listener{Port: p, Protocol: lbmodel.ProtocolHTTP})
	}
	return m
}

func (w *world) sync(g *gwv1.Gateway, m lbmodel.Gateway, addresses []lbmodel.Address) {
	w.t.Helper()
	w.server.Calls()
	if err := w.services.Sync(w.t.Context(), g, m, addresses); err != nil {
		w.t.Fatal(err)
	}
}

// get is an object that is there; nil when it is not.
func get[T any](w *world, key translate.Key) *T {
	w.t.Helper()
	u, err := w.services.resource(key).Get(w.t.Context(), key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	out := new(T)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) service() *corev1.Service { return get[corev1.Service](w, keysOf(edge())[0]) }

func (w *world) slice(family discoveryv1.AddressType) *discoveryv1.EndpointSlice {
	return get[discoveryv1.EndpointSlice](w, sliceKey(edge(), family))
}

func (w *world) same(what string, got, want any) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestService: a Service carries labels, annotations, ports and addresses, belongs
// to the Gateway, and is written once.
func TestService(t *testing.T) {
	w := newWorld(t)
	m := listen(443, 80, 443)
	m.Listeners = append(m.Listeners, lbmodel.Listener{Port: 53, Protocol: lbmodel.ProtocolUDP}, lbmodel.Listener{Port: 53, Protocol: lbmodel.ProtocolTCP})
	m.Labels, m.Annotations = map[string]string{"key2": "value2", gwv1.GatewayNameLabelKey: "forged"}, map[string]string{"key1": "value1"}
	w.sync(edge(), m, ip("198.18.0.1", "2001:db8::1", "127.71.0.1"))
	s := w.service()
	w.same("labels", s.Labels, map[string]string{"key2": "value2", gwv1.GatewayNameLabelKey: "edge"})
	w.same("annotation", s.Annotations["key1"], "value1")
	w.same("owner", metav1.IsControlledBy(s, edge()), true)
	w.same("cluster IP and selector", []any{s.Spec.ClusterIP, len(s.Spec.Selector), string(s.Spec.Type)}, []any{"None", 0, "ClusterIP"})
	var ports []string
	for _, p := range s.Spec.Ports {
		ports = append(ports, p.Name)
	}
	w.same("ports", ports, []string{"tcp-53", "udp-53", "tcp-80", "tcp-443"})
	v4, v6 := w.slice(discoveryv1.AddressTypeIPv4), w.slice(discoveryv1.AddressTypeIPv6)
	w.same("IPv4, without the loopback address that a slice may not hold", v4.Endpoints[0].Addresses, []string{"198.18.0.1"})
	w.same("IPv4 endpoints", len(v4.Endpoints), 1)
	w.same("IPv6", v6.Endpoints[0].Addresses, []string{"2001:db8::1"})
	w.same("the slice's Service", v4.Labels[discoveryv1.LabelServiceName], s.Name)
	w.same("the slice's label", v4.Labels["key2"], "value2")
	w.same("the slice's ports", len(v4.Ports), 4)
	w.same("writes", len(w.server.Writes()), 3)
	w.sync(edge(), m, ip("198.18.0.1", "2001:db8::1", "127.71.0.1"))
	w.same("writes the second time", len(w.server.Writes()), 0)
}

// TestChanges: what is taken away goes, what others added stays, and each change
// costs the writes of what differs.
func TestChanges(t *testing.T) {
	with := func(labels map[string]string, ports ...int32) lbmodel.Gateway {
		m := listen(ports...)
		m.Labels = labels
		return m
	}
	host := []lbmodel.Address{{Type: lbmodel.AddressHostname, Value: "lb.acme.test"}}
	cases := []struct {
		name, why string
		model     lbmodel.Gateway
		addresses []lbmodel.Address
		labels    []string
		ports     int
		slices    string
		external  string
		writes    int
	}{
		{"label and port taken away", "both objects had them", with(map[string]string{"a": "1"}, 80), ip("198.18.0.1"), []string{"a"}, 1, "IPv4", "", 2},
		{"another address", "only the slice has it", with(map[string]string{"a": "1", "b": "2"}, 80, 443), ip("198.18.0.2"), []string{"a", "b"}, 2, "IPv4", "", 1},
		{"another family", "a slice has one family", with(map[string]string{"a": "1", "b": "2"}, 80, 443), ip("2001:db8::1"), []string{"a", "b"}, 2, "IPv6", "", 2},
		{"a name", "addresses come and go behind it", with(map[string]string{"a": "1", "b": "2"}, 80, 443), host, []string{"a", "b"}, 2, "", "lb.acme.test", 2},
		{"no address yet", "the Service stays findable", with(map[string]string{"a": "1", "b": "2"}, 80, 443), nil, []string{"a", "b"}, 2, "", "", 1},
		{"no listener", "a headless Service needs no port", with(map[string]string{"a": "1", "b": "2"}), ip("198.18.0.1"), []string{"a", "b"}, 0, "IPv4", "", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.sync(edge(), with(map[string]string{"a": "1", "b": "2"}, 80, 443), ip("198.18.0.1"))
			w.label("theirs")
			w.sync(edge(), c.model, c.addresses)
			w.same(c.why+": writes", len(w.server.Writes()), c.writes)
			s := w.service()
			w.same("labels", slices.Sorted(maps.Keys(s.Labels)), append(c.labels, gwv1.GatewayNameLabelKey, "theirs"))
			w.same("ports", len(s.Spec.Ports), c.ports)
			w.same("external name", s.Spec.ExternalName, c.external)
			found := ""
			for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
				if w.slice(family) != nil {
					found += string(family)
				}
			}
			w.same("slices", found, c.slices)
		})
	}
}

// label is somebody else's label on our Service.
func (w *world) label(name string) {
	w.t.Helper()
	key := keysOf(edge())[0]
	u, err := w.services.resource(key).Get(w.t.Context(), key.Name, metav1.GetOptions{})
	if err == nil {
		labels := u.GetLabels()
		labels[name] = "x"
		u.SetLabels(labels)
		_, err = w.services.resource(key).Update(w.t.Context(), u, metav1.UpdateOptions{FieldManager: "user"})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestNameTaken: an object that is not the Gateway's stays as it is, be it a
// user's or that of a Gateway which had the name before.
func TestNameTaken(t *testing.T) {
	for _, owner := range []string{"nobody", "an older Gateway of the name"} {
		t.Run(owner, func(t *testing.T) {
			w := newWorld(t)
			key := keysOf(edge())[0]
			if owner == "nobody" {
				u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"clusterIP": "10.96.0.1"}}}
				u.SetName(key.Name)
				if _, err := w.services.resource(key).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			} else {
				old := edge()
				old.UID = "u0"
				w.sync(old, listen(80), nil)
			}
			before := w.service()
			w.server.Calls()
			err := w.services.Sync(t.Context(), edge(), listen(80), nil)
			if !errors.Is(err, ErrNameTaken) || !strings.Contains(err.Error(), "Service/apps/edge-gatehouse") {
				t.Errorf("error %v", err)
			}
			if err := w.services.Remove(t.Context(), edge()); err != nil {
				t.Errorf("removing nothing of ours: %v", err)
			}
			w.same("writes", len(w.server.Writes()), 0)
			w.same("the other's Service", w.service(), before)
		})
	}
}

// TestDrift: what somebody changes or deletes of ours comes back.
func TestDrift(t *testing.T) {
	w := newWorld(t)
	m := listen(80)
	w.sync(edge(), m, ip("198.18.0.1"))
	key := sliceKey(edge(), discoveryv1.AddressTypeIPv4)
	if err := w.services.resource(key).Delete(t.Context(), key.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(edge(), m, ip("198.18.0.1"))
	w.same("writes", len(w.server.Writes()), 1)
	w.same("slice", w.slice(discoveryv1.AddressTypeIPv4).Endpoints[0].Addresses, []string{"198.18.0.1"})
}

// TestStaleInformer: an old version at hand costs one refused write and no damage.
func TestStaleInformer(t *testing.T) {
	w := newWorld(t)
	w.sync(edge(), listen(80), nil)
	w.cache[keysOf(edge())[0]] = w.service()
	w.sync(edge(), listen(81), nil)
	w.same("writes with the version at hand", len(w.server.Writes()), 1)
	w.sync(edge(), listen(81), nil)
	w.same("the Service's port", w.service().Spec.Ports[0].Port, int32(81))
}

// TestGoes: a Gateway that is being deleted, or is no longer ours, has none of it.
func TestGoes(t *testing.T) {
	w := newWorld(t)
	w.sync(edge(), listen(80), ip("198.18.0.1"))
	dying := edge()
	dying.DeletionTimestamp = &metav1.Time{}
	w.sync(dying, listen(80), ip("198.18.0.1"))
	if w.service() != nil || w.slice(discoveryv1.AddressTypeIPv4) != nil {
		t.Error("the Service or its slice is still there")
	}
	w.sync(dying, listen(80), nil)
	w.same("writes once they are gone", len(w.server.Writes()), 0)
}

// TestC59Names: names are legal, stable and each Gateway's own.
func TestC59Names(t *testing.T) {
	long := strings.Repeat("x", 252)
	cases := []struct{ name, why, gateway, want string }{
		{"plain", "it can be guessed", "edge", "edge-gatehouse"},
		{"longest kept", "53 and 10 are 63", strings.Repeat("a", 53), strings.Repeat("a", 53) + "-gatehouse"},
		{"with dots", "a Service's name is one DNS label", "a.b", ""},
		{"with a digit first", "a Service's name starts with a letter", "1a", ""},
		{"253 characters", "the longest Gateway name there is", long + "a", ""},
		{"253 others", "they differ in the last letter", long + "b", ""},
		{"a dash for the dot", "the dot's place cannot be faked", "a-b", "a-b-gatehouse"},
	}
	seen := map[string]string{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name, label := Name(c.gateway), Label(c.gateway)
			if problems := append(validation.IsDNS1035Label(name), validation.IsValidLabelValue(label)...); len(problems) > 0 {
				t.Errorf("%s: %s, %s: %v", c.why, name, label, problems)
			}
			if c.want != "" && name != c.want {
				t.Errorf("%s: %s, want %s", c.why, name, c.want)
			}
			for _, key := range []string{name, "label " + label} {
				if other, taken := seen[key]; taken {
					t.Errorf("%s: %s and %s are both %s", c.why, c.gateway, other, key)
				}
				seen[key] = c.gateway
			}
		})
	}
}
