package istio

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync"
)

func TestProtocol(t *testing.T) {
	app := func(p string) *string { return &p }
	for _, c := range []struct {
		name, why string
		port      corev1.ServicePort
		want      protocol
	}{
		{"nothing", "", corev1.ServicePort{Port: 80}, isAuto},
		{"name", "", corev1.ServicePort{Port: 80, Name: "http"}, isHTTP},
		{"prefix", "up to the hyphen", corev1.ServicePort{Port: 80, Name: "http-web"}, isHTTP},
		{"no prefix", "there is no hyphen", corev1.ServicePort{Port: 80, Name: "httpweb"}, isAuto},
		{"case", "Kubernetes has no such names, appProtocol has", corev1.ServicePort{Port: 80, AppProtocol: app("HTTP2")}, isHTTP},
		{"http2", "", corev1.ServicePort{Name: "http2-x"}, isHTTP},
		{"grpc", "", corev1.ServicePort{Name: "grpc"}, isHTTP},
		{"grpc-web", "its own hyphen", corev1.ServicePort{Name: "grpc-web-x"}, isHTTP},
		{"https", "the application's own TLS", corev1.ServicePort{Name: "https"}, isTCP},
		{"tls", "", corev1.ServicePort{Name: "tls-x"}, isTCP},
		{"tcp", "", corev1.ServicePort{Name: "tcp"}, isTCP},
		{"mongo", "", corev1.ServicePort{Name: "mongo"}, isTCP},
		{"mysql", "", corev1.ServicePort{Name: "mysql"}, isTCP},
		{"redis", "", corev1.ServicePort{Name: "redis-x"}, isTCP},
		{"appProtocol over name", "", corev1.ServicePort{Name: "http", AppProtocol: app("tcp")}, isTCP},
		{"unknown appProtocol hides the name", "Istio does not look at the name then", corev1.ServicePort{Name: "http", AppProtocol: app("example.com/x")}, isAuto},
		{"empty appProtocol hides it too", "", corev1.ServicePort{Name: "http", AppProtocol: app("")}, isAuto},
		{"h2c", "", corev1.ServicePort{AppProtocol: app("kubernetes.io/h2c")}, isHTTP},
		{"ws", "", corev1.ServicePort{AppProtocol: app("kubernetes.io/ws")}, isHTTP},
		{"wss", "", corev1.ServicePort{AppProtocol: app("kubernetes.io/wss")}, isTCP},
		{"well known", "servers speak first there", corev1.ServicePort{Port: 3306}, isTCP},
		{"well known by the Service's port", "", corev1.ServicePort{Port: 27017, Name: "x"}, isTCP},
		{"declared on a well known port", "", corev1.ServicePort{Port: 25, Name: "http"}, isHTTP},
		{"udp", "", corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP, Name: "http"}, isUDP},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := protocolOf(c.port); got != c.want {
				t.Errorf("got %s, want %s: %s", got, c.want, c.why)
			}
		})
	}
}

// A Sidecar's listeners stand in for what Services declare.
func TestSidecarListeners(t *testing.T) {
	object := func(name, age, spec string) string {
		return `{apiVersion: networking.istio.io/v1, kind: Sidecar, metadata: {name: ` + name + `, namespace: apps, creationTimestamp: "2026-01-0` + age + `T00:00:00Z"}, spec: ` + spec + `}`
	}
	tcp := `ingress: [{port: {number: 8080, protocol: TCP, name: x}, defaultEndpoint: "127.0.0.1:8080"}]`
	for _, c := range []struct {
		name, why string
		objects   []string
		want      []meshsync.Chain
	}{
		{"none", "", nil, strictChains(isHTTP)},
		{"without listeners", "it is about egress", []string{object("a", "1", `{egress: [{hosts: ["./*"]}]}`)}, strictChains(isHTTP)},
		{"of the namespace", "", []string{object("a", "1", `{`+tcp+`}`)}, strictChains(isTCP)},
		{"of other pods", "", []string{object("a", "1", `{workloadSelector: {labels: {app: x}}, `+tcp+`}`)}, strictChains(isHTTP)},
		{"of the pod, before the namespace's", "", []string{object("a", "1", `{`+tcp+`}`), object("b", "2", `{workloadSelector: {labels: {app: shop}}, ingress: [{port: {number: 8080, protocol: HTTP}}]}`)}, strictChains(isHTTP)},
		{"the port left out", "it is declared by nobody", []string{object("a", "1", `{ingress: [{port: {number: 1, protocol: HTTP}}]}`)}, strictChains(isAuto)},
		{"garbage", "", []string{object("a", "1", `{ingress: [{port: {number: x}}]}`)}, nil},
		{"garbage of other pods", "", []string{object("a", "1", `{workloadSelector: {labels: {app: x}}, ingress: 1}`)}, strictChains(isHTTP)},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := shop(t, append([]string{shopService, shopPod, wide("STRICT")}, c.objects...)...)
			diff(t, in.Chains, c.want, c.why)
			if c.want == nil && !strings.Contains(in.Detail, "cannot be read") {
				t.Errorf("detail %q does not say what cannot be read", in.Detail)
			}
		})
	}
}
