package linkerd

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// FuzzPorts writes any text where lists of ports are read. Nothing panics, and a
// list that cannot be read never leaves the port open for TLS.
func FuzzPorts(f *testing.F) {
	for _, seed := range []string{"", "8080", "8000-9000", "9000-8000", "80,,", "-", "8080-", "web", "web-8080", "99999", "0", " 80 , 443", "٨٠", "-1", "1-65535", "+8080"} {
		f.Add(seed, seed)
	}
	w := cluster(f, nil)
	mesh, port := Dialect{}.Mesh(w), w.Port("shop", "cart")
	f.Fuzz(func(t *testing.T, opaque, skip string) {
		p := w.Pod("shop", "cart-1")
		p.Annotations[annotationOpaque] = opaque
		p.Spec.InitContainers[0].Args = []string{"--inbound-ports-to-ignore=" + skip}
		in := Dialect{}.Inbound(w, mesh, port, p)

		_, badSkip := workload.ParsePorts(skip, nil)
		_, badOpaque := workload.ParsePorts(opaque, func(name string) []int32 { return workload.PortsNamed(p, name) })
		if (badSkip != nil || badOpaque != nil) && (in.Blocked == "" || len(in.Chains) > 0) {
			t.Errorf("opaque %q (%v), skip %q (%v): open for TLS: %+v", opaque, badOpaque, skip, badSkip, in)
		}
		if in.Membership != meshsync.Meshed || (in.Blocked == "") != (len(in.Chains) > 0) {
			t.Errorf("a member is blocked or has a chain: %+v", in)
		}
	})
}

// FuzzServer reads any Server and any mesh configuration without a panic.
func FuzzServer(f *testing.F) {
	f.Add("HTTP/1", "deny", "8080", "proxy: {opaquePorts: '1'}")
	f.Add("", "", "web", "[")
	f.Fuzz(func(t *testing.T, protocol, access, port, values string) {
		w := cluster(t, nil)
		w.Apply(srv("cart", "HTTP/1", "deny"))
		spec, _ := w.Objects(serverKind, "shop")[0].Object["spec"].(map[string]any)
		spec["proxyProtocol"], spec["accessPolicy"], spec["port"] = protocol, access, port
		w.Objects(schema.GroupKind{Kind: "ConfigMap"}, "linkerd")[0].Object["data"] = map[string]any{"values": values}
		in := w.Accepts(Dialect{}, "shop", "cart", "cart-1")
		if in.AnyClient && in.Otherwise != meshsync.Passes {
			t.Errorf("any client is let in and refused: %+v", in)
		}
	})
}
