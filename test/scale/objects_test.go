//go:build e2e

package scale

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/test/cluster"
)

const namespace = "scale"

// Gateways have their addresses in one half of the range that is there for them,
// and the endpoints theirs in the other: both are this machine's own.
const pool = "198.18.0.0/17"

var firstEndpoint = netip.MustParseAddr("198.18.128.1")

const endpointPort = 8080

var (
	gateways   = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
	httpRoutes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
)

// ground is what all gateways stand on.
const ground = `
apiVersion: v1
kind: Namespace
metadata: {name: scale}
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: edge, namespace: scale}
spec: {foreignEndpoints: Allow, fake: {addressPool: [` + pool + `]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: edge}
spec:
  controllerName: gatehouse.dev/fake
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: edge, namespace: scale}
`

// shape is how much belongs to one gateway.
type shape struct{ routes, services, endpoints int } // endpoints of each service

func (s shape) endpoint(gateway, service, n int) netip.Addr {
	a := firstEndpoint.As4()
	i := (gateway*s.services+service)*s.endpoints + n
	at := int(a[2])<<8 + int(a[3]) + i
	return netip.AddrFrom4([4]byte{a[0], a[1], byte(at >> 8), byte(at)})
}

// The names of the objects of gateway n.
func gatewayName(n int) string          { return fmt.Sprintf("gw-%03d", n) }
func routeName(n, route int) string     { return fmt.Sprintf("gw-%03d-r%d", n, route) }
func serviceName(n, service int) string { return fmt.Sprintf("gw-%03d-s%d", n, service) }
func hostname(n, route int) string      { return routeName(n, route) + ".example" }

// objects are all of gateway n: what is referred to comes first.
func (s shape) objects(n int) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for i := range s.services {
		out = append(out, service(serviceName(n, i)), s.slice(n, i, 0, s.endpoints))
	}
	out = append(out, object("gateway.networking.k8s.io/v1", "Gateway", gatewayName(n), map[string]any{
		"spec": map[string]any{
			"gatewayClassName": "edge",
			"listeners":        []any{map[string]any{"name": "http", "protocol": "HTTP", "port": int64(80)}},
		},
	}))
	for i := range s.routes {
		out = append(out, route(n, i, serviceName(n, i%s.services)))
	}
	return out
}

func object(version, kind, name string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: fields}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// service has no selector: its endpoints are written by hand.
func service(name string) *unstructured.Unstructured {
	return object("v1", "Service", name, map[string]any{
		"spec": map[string]any{"ports": []any{map[string]any{"name": "http", "port": int64(80), "targetPort": int64(endpointPort)}}},
	})
}

// slice has some of the endpoints of a service.
func (s shape) slice(n, service, from, to int) *unstructured.Unstructured {
	var list []any
	for i := from; i < to; i++ {
		list = append(list, map[string]any{"addresses": []any{s.endpoint(n, service, i).String()}, "conditions": map[string]any{"ready": true}})
	}
	o := object("discovery.k8s.io/v1", "EndpointSlice", serviceName(n, service)+"-0", map[string]any{
		"addressType": "IPv4", "endpoints": list,
		"ports": []any{map[string]any{"name": "http", "port": int64(endpointPort), "protocol": "TCP"}},
	})
	o.SetLabels(map[string]string{"kubernetes.io/service-name": serviceName(n, service), "endpointslice.kubernetes.io/managed-by": "scale.test"})
	return o
}

// route marks its answers with the number of its last edit.
func route(n, i int, service string) *unstructured.Unstructured {
	return object("gateway.networking.k8s.io/v1", "HTTPRoute", routeName(n, i), map[string]any{
		"spec": map[string]any{
			"parentRefs": []any{map[string]any{"name": gatewayName(n)}},
			"hostnames":  []any{hostname(n, i)},
			"rules": []any{map[string]any{
				"filters": []any{map[string]any{
					"type":                   "ResponseHeaderModifier",
					"responseHeaderModifier": map[string]any{"set": []any{map[string]any{"name": "X-Edit", "value": "0"}}},
				}},
				"backendRefs": []any{map[string]any{"name": service, "port": int64(80)}},
			}},
		},
	})
}

// apply applies what belongs to some gateways, several at a time, as a pipeline
// with many teams' changes would.
func apply(t *testing.T, c *cluster.Cluster, s shape, from, to int) {
	t.Helper()
	const appliers = 8
	next := make(chan int)
	errs := make(chan error, appliers)
	var all sync.WaitGroup
	for range appliers {
		all.Go(func() {
			for n := range next {
				if err := c.ApplyObjects(t.Context(), s.objects(n)...); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for n := from; n < to; n++ {
		select {
		case next <- n:
		case err := <-errs:
			t.Fatal(err)
		}
	}
	close(next)
	all.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
}

// serveEndpoints answers at every endpoint's address, and says which it is.
func serveEndpoints(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", endpointPort))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Endpoint", r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
	})}
	go func() { _ = s.Serve(l) }() // until it is closed
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
}
