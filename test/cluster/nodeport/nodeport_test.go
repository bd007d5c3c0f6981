package nodeport

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func endpoint(address, node string, ready, serving bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{address}, NodeName: &node,
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving},
	}
}

func slice(family discoveryv1.AddressType, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		AddressType: family, Endpoints: endpoints,
		Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
	}
}

func TestTargets(t *testing.T) {
	v4 := slice(discoveryv1.AddressTypeIPv4, endpoint("10.0.0.1", "a", true, true), endpoint("10.0.0.2", "b", true, true), endpoint("10.0.0.3", "c", false, true))
	v6 := slice(discoveryv1.AddressTypeIPv6, endpoint("fd00::1", "a", true, true))
	for _, c := range []struct {
		name, why, port, of, node, want string
	}{
		{"all ready", "unready ones have no part while others are ready", "http", "198.19.1.1", "", "[10.0.0.1:8080 10.0.0.2:8080]"},
		{"local", "the policy Local keeps to a node", "http", "198.19.1.1", "b", "[10.0.0.2:8080]"},
		{"terminating", "a node whose last endpoint ends uses it as long as it serves", "http", "198.19.1.1", "c", "[10.0.0.3:8080]"},
		{"none", "a node without endpoints has no target", "http", "198.19.1.1", "d", "[]"},
		{"other port", "ports go by name", "grpc", "198.19.1.1", "", "[]"},
		{"IPv6", "a node address leads to its own family", "http", "fd00:198:19:1::1", "", "[[fd00::1]:8080]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := targets([]*discoveryv1.EndpointSlice{v4, v6}, c.port, netip.MustParseAddr(c.of), c.node)
			if fmt.Sprint(got) != c.want {
				t.Errorf("targets = %v, want %s: %s", got, c.want, c.why)
			}
		})
	}
	if n := locals([]*discoveryv1.EndpointSlice{v4, v6}, "c"); n != 0 {
		t.Errorf("node c counts %d local endpoints, want none: it has no ready one", n)
	}
}

// TestSticky keeps a client at its target while that is there.
func TestSticky(t *testing.T) {
	all := []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.2:1"), netip.MustParseAddrPort("10.0.0.3:1")}
	d := &door{clung: map[netip.Addr]clung{}}
	d.route.Store(&route{targets: all, sticky: sticky(&corev1.Service{Spec: corev1.ServiceSpec{SessionAffinity: corev1.ServiceAffinityClientIP}})})
	client := netip.MustParseAddr("198.19.0.9")
	first, _ := d.pick(client)
	for range 50 {
		if got, _ := d.pick(client); got != first {
			t.Fatalf("a client moved from %s to %s", first, got)
		}
	}
	var rest []netip.AddrPort
	for _, a := range all {
		if a != first {
			rest = append(rest, a)
		}
	}
	d.route.Store(&route{targets: rest, sticky: time.Hour})
	if got, ok := d.pick(client); !ok || got == first {
		t.Errorf("the client stays at %s, which is gone", first)
	}
}
