package cases

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// ourClass is what makes a Service ours.
const ourClass = ", loadBalancerClass: gatehouse.dev/fake"

// balancerYAML is a Service of type LoadBalancer in apps with port 80, that leads
// to backend's endpoint; spec is more of it, in flow style.
func balancerYAML(name, spec string, backend *backend) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: apps}
spec: {type: LoadBalancer, ports: [{name: web, port: 80, targetPort: 8080}]%s}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %s-1, namespace: apps, labels: {kubernetes.io/service-name: %s}}
addressType: IPv4
ports: [{name: web, port: 8080}]
endpoints: [{addresses: [%s]}]
`, name, spec, name, name, backend.host())
}

// reserve changes the spec of a Service in place.
func (h *harness) reserve(name string, change func(spec fields)) {
	h.Helper()
	id := named("Service", name)
	change(h.objects[id]["spec"].(fields))
	h.write(id)
}

// dismiss asks for a Service to be deleted, as kubectl does of one with our
// finalizer.
func (h *harness) dismiss(name string) {
	h.Helper()
	id := named("Service", name)
	meta := h.objects[id]["metadata"].(fields)
	meta["deletionTimestamp"], meta["finalizers"] = "2026-01-02T03:04:05Z", []string{"gatehouse.dev/cloud-resources"}
	h.write(id)
}

// TestC51 has four Services: without a class, with ours, with somebody else's, and
// one that is no load balancer any more. Whose each is decides, in life and death.
func TestC51(t *testing.T) {
	for _, byDefault := range []string{"", "fake"} {
		t.Run("default "+byDefault, func(t *testing.T) {
			h := begin(t)
			h.serviceDefault = byDefault
			h.put(balancerYAML("unset", "", h.a), balancerYAML("ours", ourClass, h.a), balancerYAML("theirs", ", loadBalancerClass: other.test/lb", h.a), `
apiVersion: v1
kind: Service
metadata: {name: old, namespace: apps}
spec: {type: ClusterIP, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}
`)
			h.apply()
			for name, served := range map[string]bool{"ours": true, "unset": byDefault == "fake", "theirs": false, "old": false} {
				if got := len(h.owned(name)) > 0; got != served {
					t.Errorf("%s has resources: %v, want %v", name, got, served)
				}
				if !served {
					h.unserved(name, 80)
					continue
				}
				h.expect("Service", name, whole, "fake.gatehouse.dev/Programmed", "True/Programmed")
				if got := h.ask(name, "http://x.test/"); got.String() != "a" {
					t.Errorf("%s answers %s, want a", name, got)
				}
			}
			if s := h.objects[named("Service", "theirs")]["status"]; s != nil {
				t.Errorf("a status was written for somebody else's: %v", s)
			}
			if s := h.objects[named("Service", "old")]["status"]; !strings.Contains(fmt.Sprint(s), "192.0.2.1") {
				t.Errorf("the status of a Service that was never ours became %v", s)
			}
			h.dismiss("theirs")
			h.nothingToDo("it is somebody else's, also while it goes")
			h.remove("Service", "theirs")
			h.nothingToDo("it is gone")
			h.put(balancerYAML("theirs", ourClass, h.b))
			h.apply()
			if got := h.ask("theirs", "http://x.test/"); got.String() != "b" {
				t.Errorf("re-created with our class it answers %s, want b", got)
			}
		})
	}
}

// TestC52Service deletes a Service while the cloud misbehaves, as TestC52… do with
// a Gateway: the same engine, another object.
func TestC52Service(t *testing.T) {
	h := two(t)
	h.put(balancerYAML("web", ourClass, h.a), balancerYAML("next", ourClass, h.b))
	h.apply()

	h.stack.Local.Cloud.Intercept(downFor("DeleteBalancer", 3))
	h.dismiss("next")
	h.apply()
	h.gone("next", "other")

	h.refuse("DeleteBalancer", "", cloud.AccessDenied)
	h.dismiss("web")
	for range 2 {
		h.mark()
		h.apply()
		if tried := slices.DeleteFunc(h.writes(), func(name string) bool { return name != "DeleteBalancer" }); len(tried) != 1 {
			t.Errorf("a pass makes calls %v, want DeleteBalancer once", h.writes())
		}
		h.expect("Service", "web", whole, "fake.gatehouse.dev/Programmed", "False/Denied", "DeleteBalancer", "by the case")
	}
	h.put(balancerYAML("late", ourClass, h.c))
	h.apply()
	if got := h.ask("late", "http://x.test/"); got.String() != "c" {
		t.Errorf("a new Service answers %s while another cannot go, want c", got)
	}

	h.heal()
	for left := h.owned("web"); len(left) > 0; left = h.owned("web") { // somebody else deletes it
		for _, o := range left {
			_ = h.stack.Local.Cloud.Delete(t.Context(), o.Handle)
		}
	}
	h.apply()
	h.gone("web", "other")
	delete(h.objects[named("Service", "web")]["metadata"].(fields), "finalizers") // ours was removed
	h.write(named("Service", "web"))
	h.put("apiVersion: v1\nkind: Node\nmetadata: {name: n9}\nstatus: {addresses: [{type: InternalIP, address: 192.0.2.9}]}")
	h.nothingToDo("a node comes while the object is on its way out")
}

// downFor refuses the first calls of a name: the service is down.
func downFor(name string, times int64) spoil {
	calls := new(atomic.Int64)
	return func(c cloud.Call) cloud.Fault {
		if c.Name == name && calls.Add(1) <= times {
			return cloud.Fault{Kind: cloud.Refuse, Error: &cloud.CallError{Code: cloud.ServiceDown, Message: "500"}}
		}
		return cloud.Fault{}
	}
}

// TestServiceTypeChanges: a Service that becomes a ClusterIP loses its load
// balancer, whether or not a finalizer holds it.
func TestServiceTypeChanges(t *testing.T) {
	for name, finalizers := range map[string][]string{"free": nil, "held": {"gatehouse.dev/cloud-resources"}} {
		t.Run(name, func(t *testing.T) {
			h := begin(t)
			h.put(balancerYAML("web", ourClass, h.a))
			h.apply()
			h.objects[named("Service", "web")]["metadata"].(fields)["finalizers"] = finalizers
			h.reserve("web", func(spec fields) { spec["type"] = "ClusterIP"; delete(spec, "loadBalancerClass") })
			h.apply()
			if left := h.owned("web"); len(left) > 0 {
				t.Errorf("%d objects are left", len(left))
			}
			h.nothingToDo("it is a ClusterIP")
		})
	}
}

// askFrom sends a request from an address of this machine to a port of a gateway.
func (h *harness) askFrom(source, gateway string) (string, error) {
	h.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: 5 * time.Second}
	conn, err := d.DialContext(h.Context(), "tcp", h.address(gateway, 80).String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		h.Fatal(err)
	}
	if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x.test\r\nConnection: close\r\n\r\n"); err != nil {
		return "", err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	return res.Status, nil
}

// TestC54 enforces source ranges: a client inside is served and one outside is
// not, whatever the other entries are.
func TestC54(t *testing.T) {
	h := begin(t)
	inside, outside := h.site.address(60), h.site.address(61)
	own := inside + "/32"
	many := func(n int) []any {
		out := []any{own}
		for i := range n {
			out = append(out, fmt.Sprintf("10.%d.%d.0/24", i/250, i%250))
		}
		return out
	}
	h.put(balancerYAML("web", ourClass, h.a))
	cases := []struct {
		name, why         string
		ranges            []any
		annotation        string
		in, out           bool
		condition, reason string
		plan              bool // what is served changes
	}{
		{name: "unset", why: "open is the documented default", in: true, out: true, plan: true},
		{name: "blanks", why: "they are trimmed", ranges: []any{"10.0.0.0/8", " " + own}, in: true, plan: true},
		{name: "order and repetition", why: "no plan noise", ranges: []any{own, "10.0.0.0/8", own, "10.1.0.0/16"}, in: true},
		{name: "annotation", why: "counts without the field", annotation: "172.16.0.0/12, " + own, in: true, plan: true},
		{name: "both", why: "the field counts", ranges: []any{"10.0.0.0/8", own}, annotation: outside + "/32", in: true, plan: true},
		{name: "one is bad", why: "the others keep working, it lets nobody in", ranges: []any{own, "10.0.0.0/8", "everybody"}, in: true, condition: "PartiallyInvalid", reason: "True/InvalidSourceRange"},
		{name: "host bits", why: "masked", ranges: []any{inside + "/31"}, in: true, out: true, plan: true},
		{name: "everybody and some", why: "everybody", ranges: []any{"0.0.0.0/0", "10.0.0.0/8"}, in: true, out: true, plan: true},
		{name: "all are bad", why: "nobody, and never everybody", ranges: []any{"10.0.0.1"}, condition: "Accepted", reason: "False/PortsNotValid", plan: true},
		{name: "another family", why: "IPv6 on IPv4", ranges: []any{"2001:db8::/32"}, condition: "Programmed", reason: "True/Programmed", plan: true},
		{name: "too many", why: "an explicit error, not some of them", ranges: many(300), condition: "Accepted", reason: "False/PortsNotValid", plan: true},
		{name: "empty", why: "as unset", ranges: []any{}, in: true, out: true, plan: true},
	}
	for _, c := range cases {
		h.reserve("web", func(spec fields) {
			delete(spec, "loadBalancerSourceRanges")
			if c.ranges != nil {
				spec["loadBalancerSourceRanges"] = c.ranges
			}
		})
		id := named("Service", "web")
		meta := h.objects[id]["metadata"].(fields)
		delete(meta, "annotations")
		if c.annotation != "" {
			meta["annotations"] = fields{"service.beta.kubernetes.io/load-balancer-source-ranges": c.annotation}
		}
		h.write(id)
		if plan := h.apply(); plan.Empty() == c.plan {
			t.Errorf("%s (%s): the plan is\n%s", c.name, c.why, planText(plan))
		}
		if !c.in && !c.out && c.reason != "True/Programmed" {
			h.unserved("web", 80)
		} else {
			for source, served := range map[string]bool{inside: c.in, outside: c.out} {
				if got, err := h.askFrom(source, "web"); (err == nil) != served {
					t.Errorf("%s (%s): %s gets %q, %v; want it served: %v", c.name, c.why, source, got, err, served)
				}
			}
		}
		if c.condition != "" {
			h.expect("Service", "web", whole, "fake.gatehouse.dev/"+c.condition, c.reason)
		}
		h.nothingToDo(c.name)
	}
}

// TestServiceTraffic serves TCP and UDP at one port number, keeps a client on its
// pod, and follows pods; SCTP beside them costs them nothing.
func TestServiceTraffic(t *testing.T) {
	h := begin(t)
	x, y := h.udp("x"), h.udp("y")
	h.put(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: game, namespace: apps}
spec:
  type: LoadBalancer
  loadBalancerClass: gatehouse.dev/fake
  sessionAffinity: ClientIP
  ports:
  - {name: web, port: 80, targetPort: 8080}
  - {name: play, port: 80, protocol: UDP, targetPort: 8081}
  - {name: sig, port: 132, protocol: SCTP}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: game-1, namespace: apps, labels: {kubernetes.io/service-name: game}}
addressType: IPv4
ports: [{name: web, port: 8080}, {name: play, port: 8081, protocol: UDP}]
endpoints: [{addresses: [%s]}, {addresses: [%s]}]
`, h.b.host(), h.c.host()))
	x.listen(h, h.b.host())
	y.listen(h, h.c.host())
	h.apply()
	h.expect("Service", "game", whole, "fake.gatehouse.dev/Accepted", "True/PortsNotValid", "SCTP")
	h.expect("Service", "game", whole, "fake.gatehouse.dev/Programmed", "True/Programmed")
	first, web := h.datagram("game"), h.ask("game", "http://x.test/").String()
	for range 8 {
		if got := h.datagram("game"); got != first {
			t.Errorf("a client of %s is answered by %s", first, got)
		}
		if got := h.ask("game", "http://x.test/").String(); got != web {
			t.Errorf("a client of %s is answered by %s", web, got)
		}
	}
	h.put(sliceOf("game", map[string]string{"x": h.c.host(), "y": h.b.host()}[first], "{name: web, port: 8080}, {name: play, port: 8081, protocol: UDP}"))
	h.apply()
	if got := h.datagram("game"); got == first {
		t.Errorf("%s still answers after its pod left", got)
	}
}

// sliceOf is an EndpointSlice of one address.
func sliceOf(service, address, ports string) string {
	return fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %s-1, namespace: apps, labels: {kubernetes.io/service-name: %s}}
addressType: IPv4
ports: [%s]
endpoints: [{addresses: [%s]}]
`, service, service, ports, address)
}

// udpBackend answers each datagram with its name.
type udpBackend struct{ name string }

func (h *harness) udp(name string) udpBackend { return udpBackend{name} }

func (b udpBackend) listen(h *harness, host string) {
	h.Helper()
	conn, err := net.ListenPacket("udp", host+":8081")
	if err != nil {
		h.Fatal(err)
	}
	var loop sync.WaitGroup
	loop.Go(func() {
		buffer := make([]byte, 64)
		for {
			_, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			conn.WriteTo([]byte(b.name), from)
		}
	})
	h.Cleanup(func() { conn.Close(); loop.Wait() })
}

// datagram sends one to port 80 and reads the answer.
func (h *harness) datagram(gateway string) string {
	h.Helper()
	at := ""
	for _, b := range h.stack.Local.Bound() {
		if b.Owner.Name == gateway && b.Protocol == lbmodel.ProtocolUDP {
			at = b.Addr.String()
		}
	}
	conn, err := net.Dial("udp", at)
	if err != nil {
		h.Fatal(err)
	}
	defer conn.Close()
	buffer := make([]byte, 64)
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		h.Fatal(err)
	}
	_, _ = conn.Write([]byte("?"))
	n, err := conn.Read(buffer)
	if err != nil {
		h.Errorf("no answer to a datagram at %s: %v", at, err)
	}
	return string(buffer[:n])
}
