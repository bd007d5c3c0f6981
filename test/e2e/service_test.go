//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/test/cluster"
)

const serviceParameters = `
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: services, namespace: shop}
spec: {serviceTargets: Nodes, fake: {addressPool: [198.18.0.0/16, "fd00:198:18::/64"]}}
`

// balancer is a Service of type LoadBalancer for the shop's pods; spec is the rest
// of it, in flow style.
func balancer(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: shop}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}, {name: echo, port: 80, protocol: UDP, targetPort: udp}]
  %s
`, name, strings.ReplaceAll(spec, ", ", "\n  "))
}

const classOurs = "loadBalancerClass: gatehouse.dev/fake"

// TestServices serves core Services through the controller, over real node ports
// and pods. Each part leaves nothing behind.
func TestServices(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	c.InstallCRDs(t, cluster.Standard)
	c.Apply(t, shop)
	c.Apply(t, serviceParameters)
	readyPods(t, c, "app=web", 2)
	m := newManager(t, c)
	m.services = types.NamespacedName{Namespace: namespace, Name: "services"}
	m.start(t)
	for _, part := range []struct {
		name, why string
		run       func(*testing.T, *cluster.Cluster, *manager)
	}{
		{"by nodes", "externalTrafficPolicy Cluster: any node leads to a pod; an excluded one is not asked", servedByNodes},
		{"by nodes with pods", "externalTrafficPolicy Local: only nodes with a pod take traffic", servedLocally},
		{"by pods", "without node ports; both families, TCP and UDP at one number", servedByPods},
		{"source ranges", "who is outside is refused, and an edit counts at once", servedInside},
		{"affinity", "a client stays on its pod, over other ports of it", servedTogether},
		{"somebody else's", "C51: no call, no finalizer, no status, in life and death", servedByOthers},
		{"type changes", "a ClusterIP has nothing of ours", servedNoMore},
		{"approval", "nothing is made or removed before somebody approves", servedWhenApproved},
		{"closing a port", "it interrupts somebody, so a person must agree under Auto too", closedWhenApproved},
		{"denied", "C52: the Service says which call is refused, and others are served", servedWhileDenied},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Log(part.why)
			part.run(t, c, m)
		})
	}
	m.stop(t)
	if left := m.local.Cloud.Dump(); len(left) > 0 {
		t.Errorf("%d objects are left in the cloud, the first is %s %s", len(left), left[0].Kind, left[0].Name)
	}
}

// balanced applies a Service and waits until it has so many addresses.
func balanced(t *testing.T, c *cluster.Cluster, name, spec string, addresses int) (hosts []string) {
	t.Helper()
	c.Apply(t, balancer(name, spec))
	eventually(t, func(ctx context.Context) error {
		s, err := c.Client().CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := condition(s.Status.Conditions, "fake.gatehouse.dev/Programmed", metav1.ConditionTrue, s.Generation); err != nil {
			return fmt.Errorf("service %s: %w", name, err)
		}
		hosts = nil
		for _, in := range s.Status.LoadBalancer.Ingress {
			if in.IPMode == nil || *in.IPMode != corev1.LoadBalancerIPModeProxy || len(in.Ports) != 2 || in.Ports[0].Error != nil {
				return fmt.Errorf("service %s: ingress is %+v", name, in)
			}
			hosts = append(hosts, in.IP)
		}
		if len(hosts) != addresses || !slices.Contains(s.Finalizers, translate.Finalizer) {
			return fmt.Errorf("service %s: addresses %v, finalizers %v; want %d and ours", name, hosts, s.Finalizers, addresses)
		}
		return nil
	})
	return hosts
}

// vanishes deletes a Service, and waits until it and all that it had are gone.
func vanishes(t *testing.T, c *cluster.Cluster, m *manager, name string) {
	t.Helper()
	if err := c.Client().CoreV1().Services(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := c.Client().CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(fmt.Errorf("service %s is still there", name), err)
		}
		return m.nothingOf(name)
	})
}

// asked sends requests over TCP and UDP until all of some pods have answered both.
func asked(t *testing.T, host string, pods ...string) {
	t.Helper()
	slices.Sort(pods)
	eventually(t, func(ctx context.Context) error {
		var tcp, udp []string
		for range 20 {
			a, _, err := get(ctx, "http://"+net.JoinHostPort(host, "80"))
			if err != nil {
				return err
			}
			b, err := datagram(net.JoinHostPort(host, "80"), "x")
			if err != nil {
				return fmt.Errorf("UDP: %w", err)
			}
			tcp, udp = append(tcp, a.Pod), append(udp, b.Pod)
		}
		for _, got := range [][]string{tcp, udp} {
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, pods) {
				return fmt.Errorf("answered by %v, want %v", got, pods)
			}
		}
		return nil
	})
}

func names(pods []corev1.Pod) (out []string) {
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

// targets are how many endpoints each group of a Service has in the cloud.
func (m *manager) targets(service string) (out []int) {
	for _, o := range m.local.Cloud.Dump() {
		if o.Kind == cloud.KindEndpointGroup && strings.Contains(string(o.Body), `"group":"shop/`+service+`:`) {
			out = append(out, strings.Count(string(o.Body), `"address"`))
		}
	}
	return out
}

func servedByNodes(t *testing.T, c *cluster.Cluster, m *manager) {
	pods := names(readyPods(t, c, "app=web", 2))
	host := balanced(t, c, "anywhere", classOurs, 1)[0]
	asked(t, host, pods...)
	label := func(value string) {
		patch := []byte(`{"metadata":{"labels":{"node.kubernetes.io/exclude-from-external-load-balancers":` + value + `}}}`)
		if _, err := c.Client().CoreV1().Nodes().Patch(t.Context(), "node-2", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		label string
		nodes int
	}{{`"true"`, 1}, {`"false"`, 2}, {`null`, 2}} {
		label(step.label)
		eventually(t, func(context.Context) error {
			if got := m.targets("anywhere"); !slices.Equal(got, []int{step.nodes, step.nodes}) {
				return fmt.Errorf("label %s: targets are %v, want %d nodes for each port", step.label, got, step.nodes)
			}
			return nil
		})
		asked(t, host, pods...)
	}
	vanishes(t, c, m, "anywhere")
}

// servedLocally has pods on one of two nodes only.
func servedLocally(t *testing.T, c *cluster.Cluster, m *manager) {
	const single = `
apiVersion: v1
kind: Pod
metadata: {name: alone, namespace: shop, labels: {app: alone}}
spec:
  nodeName: node-2
  terminationGracePeriodSeconds: 1
  containers: [{name: echo, image: gatehouse.test/echo, ports: [{name: http, containerPort: 8080}, {name: udp, containerPort: 9000, protocol: UDP}]}]
`
	c.Apply(t, single)
	pod(t, c, "alone", isReady)
	c.Apply(t, strings.Replace(balancer("here", classOurs+", externalTrafficPolicy: Local"), "app: web", "app: alone", 1))
	host := ""
	eventually(t, func(ctx context.Context) error {
		s, err := c.Client().CoreV1().Services(namespace).Get(ctx, "here", metav1.GetOptions{})
		if err != nil || len(s.Status.LoadBalancer.Ingress) == 0 {
			return errors.Join(err, errors.New("no address yet"))
		}
		host = s.Status.LoadBalancer.Ingress[0].IP
		return nil
	})
	asked(t, host, "alone")
	if got := m.targets("here"); !slices.Equal(got, []int{2, 2}) {
		t.Errorf("targets are %v, want both nodes: the health check tells them apart", got)
	}
	for n := range 20 { // none goes to the node without a pod
		began := time.Now()
		if a, _, err := get(t.Context(), "http://"+host); err != nil || a.Pod != "alone" || time.Since(began) > time.Second {
			t.Errorf("request %d: %+v, %v after %s", n, a, err, time.Since(began))
		}
	}
	vanishes(t, c, m, "here")
	c.Delete(t, single)
}

func servedByPods(t *testing.T, c *cluster.Cluster, m *manager) {
	pods := readyPods(t, c, "app=web", 2)
	policy, families := "SingleStack", 1
	if cluster.DualStack() {
		policy, families = "RequireDualStack", 2
	}
	hosts := balanced(t, c, "direct", classOurs+", allocateLoadBalancerNodePorts: false, ipFamilyPolicy: "+policy, families)
	for _, host := range hosts {
		asked(t, host, names(pods)...)
	}
	if net.ParseIP(hosts[0]).To4() == nil || families == 2 && net.ParseIP(hosts[1]).To4() != nil {
		t.Errorf("addresses are %v, want the first family first", hosts)
	}
	if err := post(t.Context(), "http://"+net.JoinHostPort(pods[0].Status.PodIP, "8080")+"/unready"); err != nil {
		t.Fatal(err)
	}
	for _, host := range hosts {
		asked(t, host, pods[1].Name)
	}
	if err := post(t.Context(), "http://"+net.JoinHostPort(pods[0].Status.PodIP, "8080")+"/ready"); err != nil {
		t.Fatal(err)
	}
	asked(t, hosts[0], names(pods)...)
	vanishes(t, c, m, "direct")
}

// askedFrom sends a request from an address of this machine.
func askedFrom(ctx context.Context, source, host string) error {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func servedInside(t *testing.T, c *cluster.Cluster, m *manager) {
	const inside, outside = "198.18.200.1", "198.18.200.2"
	host := balanced(t, c, "limited", classOurs+", loadBalancerSourceRanges: ["+inside+"/32]", 1)[0]
	check := func(source string, served bool) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			if err := askedFrom(ctx, source, host); (err == nil) != served {
				return errors.Join(fmt.Errorf("%s: want it served: %v", source, served), err)
			}
			return nil
		})
	}
	check(inside, true)
	check(outside, false)
	c.Apply(t, balancer("limited", classOurs+", loadBalancerSourceRanges: ["+outside+"/32]"))
	check(outside, true)
	check(inside, false)
	vanishes(t, c, m, "limited")
}

func servedTogether(t *testing.T, c *cluster.Cluster, m *manager) {
	host := balanced(t, c, "sticky", classOurs+", allocateLoadBalancerNodePorts: false, sessionAffinity: ClientIP", 1)[0]
	serves(t, "http://"+host)
	tcp, _, err := get(t.Context(), "http://"+host)
	if err != nil {
		t.Fatal(err)
	}
	udp, err := datagram(net.JoinHostPort(host, "80"), "x")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		a, _, err := get(t.Context(), "http://"+host)
		if err != nil || a.Pod != tcp.Pod {
			t.Errorf("TCP: %q, %v; want %q again", a.Pod, err, tcp.Pod)
		}
		b, err := datagram(net.JoinHostPort(host, "80"), "x")
		if err != nil || b.Pod != udp.Pod {
			t.Errorf("UDP: %q, %v; want %q again", b.Pod, err, udp.Pod)
		}
	}
	vanishes(t, c, m, "sticky")
}

func servedByOthers(t *testing.T, c *cluster.Cluster, m *manager) {
	m.quiet(t)
	before := m.mutations()
	c.Apply(t, balancer("theirs", "loadBalancerClass: other.test/lb"))
	c.Apply(t, balancer("nobodys", "externalTrafficPolicy: Cluster"))
	m.quiet(t)
	for _, name := range []string{"theirs", "nobodys"} {
		s := service(t, c, name)
		if len(s.Finalizers) > 0 || len(s.Status.Conditions) > 0 || len(s.Status.LoadBalancer.Ingress) > 0 {
			t.Errorf("%s has finalizers %v and status %+v", name, s.Finalizers, s.Status)
		}
		vanishes(t, c, m, name)
	}
	m.quiet(t)
	if after := m.mutations(); after != before {
		t.Errorf("%d calls were made", after-before)
	}
	host := balanced(t, c, "theirs", classOurs, 1)[0]
	serves(t, "http://"+host)
	vanishes(t, c, m, "theirs")
}

func servedNoMore(t *testing.T, c *cluster.Cluster, m *manager) {
	balanced(t, c, "shy", classOurs, 1)
	patch := []byte(`{"spec":{"type":"ClusterIP"}}`)
	if _, err := c.Client().CoreV1().Services(namespace).Patch(t.Context(), "shy", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		s, err := c.Client().CoreV1().Services(namespace).Get(ctx, "shy", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(s.Finalizers) > 0 || len(s.Status.Conditions) > 0 || len(s.Status.LoadBalancer.Ingress) > 0 {
			return fmt.Errorf("finalizers %v and status %+v are left", s.Finalizers, s.Status)
		}
		return m.nothingOf("shy")
	})
	vanishes(t, c, m, "shy")
}

func servedWhileDenied(t *testing.T, c *cluster.Cluster, m *manager) {
	balanced(t, c, "stuck", classOurs, 1)
	m.denied.Store(new("stuck"))
	if err := c.Client().CoreV1().Services(namespace).Delete(t.Context(), "stuck", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		s, err := c.Client().CoreV1().Services(namespace).Get(ctx, "stuck", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := condition(s.Status.Conditions, "fake.gatehouse.dev/Programmed", metav1.ConditionFalse, s.Generation); err != nil {
			return err
		}
		for _, cond := range s.Status.Conditions {
			if strings.HasSuffix(cond.Type, "/Programmed") && (cond.Reason != "Denied" || !strings.Contains(cond.Message, "Delete")) {
				return fmt.Errorf("the condition is %s: %s", cond.Reason, cond.Message)
			}
		}
		return nil
	})
	serves(t, "http://"+balanced(t, c, "next", classOurs, 1)[0])
	vanishes(t, c, m, "next")
	m.denied.Store(nil)
	if _, err := c.Client().CoreV1().Services(namespace).Patch(t.Context(), "stuck", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"gatehouse.dev/reconcile-at":"now"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if _, err := c.Client().CoreV1().Services(namespace).Get(ctx, "stuck", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		return m.nothingOf("stuck")
	})
}
