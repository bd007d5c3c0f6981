package workload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"gatehouse.dev/lbmodel"
)

func TestParsePorts(t *testing.T) {
	names := func(name string) []int32 {
		return map[string][]int32{"web": {8080, 9090}}[name]
	}
	for _, c := range []struct {
		name, why string
		text      string
		has, not  []int32
		err       string
	}{
		{"none", "", "", nil, []int32{1, 80}, ""},
		{"numbers and ranges", "", "25, 8000 - 8100 ,443", []int32{25, 443, 8000, 8050, 8100}, []int32{24, 7999, 8101}, ""},
		{"nothing between commas", "is no item", ",80,,", []int32{80}, []int32{0}, ""},
		{"a name", "all ports of it", "web", []int32{8080, 9090}, []int32{80}, ""},
		{"everything", "", "1-65535", []int32{1, 65535}, []int32{0}, ""},
		{"backwards", "is no range", "9000-8000", nil, []int32{8500}, `ports "9000-8000": the first is greater than the last`},
		{"an unknown name", "", "80,http", nil, []int32{80}, `port "http": want a number from 1 to 65535`},
		{"zero", "", "0", nil, nil, `port "0": want a number from 1 to 65535`},
		{"too great", "", "65536", nil, nil, `port "65536": want a number from 1 to 65535`},
		{"open", "", "80-", nil, []int32{80}, `port "": want a number from 1 to 65535`},
		{"three ends", "", "1-2-3", nil, nil, `port "2-3": want a number from 1 to 65535`},
		{"a sign", "", "+80", nil, nil, `port "+80": want a number from 1 to 65535`},
		{"other digits", "", "٨٠", nil, nil, `port "٨٠": want a number from 1 to 65535`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ports, err := ParsePorts(c.text, names)
			if got := text(err); got != c.err {
				t.Fatalf("%s: error %q, want %q", c.why, got, c.err)
			}
			for _, p := range c.has {
				if !ports.Has(p) {
					t.Errorf("%q should have %d", c.text, p)
				}
			}
			for _, p := range c.not {
				if ports.Has(p) {
					t.Errorf("%q should not have %d", c.text, p)
				}
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestEnv(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart-1"}}
	from := func(field string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}
	}
	c := &corev1.Container{Env: []corev1.EnvVar{
		{Name: "ns", ValueFrom: from("metadata.namespace")},
		{Name: "sa", ValueFrom: from("spec.serviceAccountName")},
		{Name: "ip", ValueFrom: from("status.podIP")},
		{Name: "self", Value: "$(self)"},
		{Name: "early", Value: "$(late)"},
		{Name: "both", Value: "$(sa).$(ns)"},
		{Name: "escaped", Value: "$$(ns) costs 5$ $x"},
		{Name: "open", Value: "a$(ns"},
		{Name: "unknown", Value: "x$(ip)"},
		{Name: "late", Value: "1"},
		{Name: "late", Value: "2"},
	}}
	for _, want := range []struct {
		name, value string
		ok          bool
		why         string
	}{
		{"both", "default.shop", true, "an unset account is default"},
		{"self", "$(self)", true, "nothing defines it before itself"},
		{"early", "$(late)", true, "what comes later is not known yet"},
		{"late", "2", true, "the last of a name counts"},
		{"escaped", "$(ns) costs 5$ $x", true, "two dollar signs are one"},
		{"open", "a$(ns", true, "no reference"},
		{"ip", "", false, "the pod's spec does not say it"},
		{"unknown", "", false, "a part of it is not known"},
		{"absent", "", false, ""},
	} {
		if got, ok := Env(pod, c, want.name); got != want.value || ok != want.ok {
			t.Errorf("%s: %q, %v; want %q, %v: %s", want.name, got, ok, want.value, want.ok, want.why)
		}
	}
	if _, ok := Env(pod, nil, "ns"); ok {
		t.Error("a container that is not there has no environment")
	}
}

func TestProbe(t *testing.T) {
	get := func(a corev1.HTTPGetAction) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &a}, PeriodSeconds: 5, TimeoutSeconds: 2, SuccessThreshold: 2, FailureThreshold: 4}
	}
	http := func(path string, port int32) *corev1.Probe {
		return get(corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)})
	}
	app := func(name string, port int32, p *corev1.Probe) corev1.Container {
		return corev1.Container{Name: name, Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: port}}, ReadinessProbe: p}
	}
	check := func(protocol, path string, port int32) *lbmodel.HealthCheck {
		return &lbmodel.HealthCheck{Protocol: protocol, Port: port, Path: path, Healthy: 2, Unhealthy: 4,
			Interval: lbmodel.Duration(5 * time.Second), Timeout: lbmodel.Duration(2 * time.Second)}
	}
	service := "cart.v1"
	for _, c := range []struct {
		name, why  string
		containers []corev1.Container
		want       *lbmodel.HealthCheck
	}{
		{"HTTP", "as it is", []corev1.Container{app("a", 8080, http("/ready", 8081))}, check("HTTP", "/ready", 8081)},
		{"by name", "ports have names", []corev1.Container{app("a", 8080, get(corev1.HTTPGetAction{Port: intstr.FromString("web")}))}, check("HTTP", "/", 8080)},
		{"an unknown name", "", []corev1.Container{app("a", 8080, get(corev1.HTTPGetAction{Port: intstr.FromString("x")}))}, nil},
		{"HTTPS", "", []corev1.Container{app("a", 8080, get(corev1.HTTPGetAction{Path: "x", Port: intstr.FromInt32(1), Scheme: "HTTPS"}))}, check("HTTPS", "/x", 1)},
		{"gRPC", "times are Kubernetes' defaults", []corev1.Container{app("a", 8080, &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9, Service: &service}}})},
			&lbmodel.HealthCheck{Protocol: "GRPC", Port: 9, Service: service, Healthy: 1, Unhealthy: 3, Interval: lbmodel.Duration(10 * time.Second), Timeout: lbmodel.Duration(time.Second)}},
		{"TCP", "a proxy takes every connection, so it says nothing", []corev1.Container{app("a", 8080, &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{}}})}, nil},
		{"exec", "it is inside the pod", []corev1.Container{app("a", 8080, &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}})}, nil},
		{"another host", "it is not the pod that is asked", []corev1.Container{app("a", 8080, get(corev1.HTTPGetAction{Port: intstr.FromInt32(1), Host: "db"}))}, nil},
		{"a header", "load balancers send none", []corev1.Container{app("a", 8080, get(corev1.HTTPGetAction{Port: intstr.FromInt32(1), HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: "x"}}}))}, nil},
		{"the proxy's", "is asked for where it is wanted", []corev1.Container{app("proxy", 8080, http("/proxy", 1))}, nil},
		{"of two", "that of the container with the port", []corev1.Container{app("log", 1, http("/log", 1)), app("a", 8080, http("/ready", 8080))}, check("HTTP", "/ready", 8080)},
		{"of two, no use", "another container's says nothing of this one", []corev1.Container{app("log", 1, http("/log", 1)), app("a", 8080, &corev1.Probe{})}, nil},
		{"undeclared port", "the first there is", []corev1.Container{app("log", 1, http("/log", 1)), app("b", 2, http("/b", 2))}, check("HTTP", "/log", 1)},
		{"none", "", []corev1.Container{app("a", 8080, nil)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: c.containers}}
			if diff := cmp.Diff(c.want, Probe(pod, 8080, "proxy")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
	host := get(corev1.HTTPGetAction{Port: intstr.FromInt32(1), HTTPHeaders: []corev1.HTTPHeader{{Name: "host", Value: "shop"}}})
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{app("a", 8080, host)}}}
	if got := Probe(pod, 8080); got == nil || got.Host != "shop" {
		t.Errorf("a Host header is a host: %+v", got)
	}
}

func TestSelects(t *testing.T) {
	labels := map[string]string{"app": "cart", "tier": "web"}
	expr := func(key, operator string, values ...any) map[string]any {
		return map[string]any{"matchExpressions": []any{map[string]any{"key": key, "operator": operator, "values": values}}}
	}
	for _, c := range []struct {
		name     string
		selector map[string]any
		want     bool
		bad      bool
	}{
		{"none", nil, false, false},
		{"all", map[string]any{}, true, false},
		{"labels", map[string]any{"matchLabels": map[string]any{"app": "cart"}}, true, false},
		{"other labels", map[string]any{"matchLabels": map[string]any{"app": "cart", "tier": "db"}}, false, false},
		{"In", expr("app", "In", "x", "cart"), true, false},
		{"In, not", expr("app", "In", "x"), false, false},
		{"NotIn", expr("app", "NotIn", "cart"), false, false},
		{"NotIn, absent", expr("zone", "NotIn", "a"), true, false},
		{"Exists", expr("app", "Exists"), true, false},
		{"DoesNotExist", expr("app", "DoesNotExist"), false, false},
		{"In nothing", expr("app", "In"), false, true},
		{"an unknown operator", expr("app", "Gt", "1"), false, true},
		{"no key", expr("", "Exists"), false, true},
		{"a number", map[string]any{"matchLabels": map[string]any{"app": 1}}, false, true},
		{"a list of labels", map[string]any{"matchLabels": []any{}}, false, true},
		{"expressions as a map", map[string]any{"matchExpressions": map[string]any{}}, false, true},
		{"an expression as text", map[string]any{"matchExpressions": []any{"app"}}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Selects(c.selector, labels)
			if got != c.want || (err != nil) != c.bad {
				t.Errorf("selects as metav1.LabelSelector does, and an unreadable one is an error: got %v, %v; want %v, error %v", got, err, c.want, c.bad)
			}
		})
	}
}

func TestProtocolOf(t *testing.T) {
	for text, want := range map[string]Protocol{
		"": Unsaid, "http": HTTP, "HTTPS": HTTP, "kubernetes.io/ws": HTTP, "kubernetes.io/h2c": HTTP2, "grpc": HTTP2, "GRPC": HTTP2, "tcp": Bytes, "mysql": Bytes,
	} {
		if got := ProtocolOf(corev1.ServicePort{AppProtocol: &text}); got != want {
			t.Errorf("appProtocol %q is %q, want %q", text, got, want)
		}
	}
	if got := ProtocolOf(corev1.ServicePort{Protocol: corev1.ProtocolUDP}); got != UDP {
		t.Errorf("UDP is %q", got)
	}
	if got := ProtocolOf(corev1.ServicePort{}); got != Unsaid {
		t.Errorf("no appProtocol is %q", got)
	}
}

func TestRender(t *testing.T) {
	fields := map[string]string{".Namespace": "shop", ".Empty": "", ".Sly": "{{ .Namespace }}"}
	labels := map[string]string{"app": "cart"}
	for _, c := range []struct {
		template, want string
		ok             bool
		why            string
	}{
		{"/ns/{{ .Namespace }}/x", "/ns/shop/x", true, "a field"},
		{"{{.Namespace}}-{{- .Namespace -}}", "shop-shop", true, "blanks do not matter"},
		{`{{ label "app" }}/{{ index .PodMeta.Labels "app" }}`, "cart/cart", true, "both forms of labels"},
		{"plain", "plain", true, "nothing to fill in"},
		{`{{ label "zone" }}`, "", false, "no such label"},
		{"{{ .Empty }}", "", false, "no value"},
		{"{{ .Other }}", "", false, "no such field"},
		{"{{ .Namespace | upper }}", "", false, "functions are not read"},
		{"{{ if .Namespace }}x{{ end }}", "", false, "nor are conditions"},
		{`{{ index .Other.Labels "app" }}`, "", false, "labels of something else"},
		{"{{ .Sly }}", "", false, "a value is no template"},
		{"{", "", false, "a brace is in no name"},
	} {
		got, ok := Render(c.template, fields, labels)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %q, %v; want %q, %v: %s", c.template, got, ok, c.want, c.ok, c.why)
		}
	}
}
