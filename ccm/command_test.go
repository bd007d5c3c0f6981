package ccm

import (
	"bytes"
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/metrics"
	genericcontrollermanager "k8s.io/controller-manager/app"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// completed is the framework's configuration with a cloud provider's name.
func completed(cloud string, controllers ...string) *appconfig.CompletedConfig {
	c := &appconfig.Config{}
	c.ComponentConfig.KubeCloudShared.CloudProvider.Name = cloud
	c.ComponentConfig.Generic.Controllers = controllers
	return c.Complete()
}

// TestRegister holds that a vendor's manager gets our controllers, its own maps and
// nothing else changed: app's maps are package variables of the whole process.
func TestRegister(t *testing.T) {
	before, disabled := maps.Clone(app.DefaultInitFuncConstructors), app.ControllersDisabledByDefault.List()
	constructors, aliases, sets := maps.Clone(app.DefaultInitFuncConstructors), names.CCMControllerAliases(), cliflag.NamedFlagSets{}
	all, _ := plainProviders()
	New(all...).Register(constructors, aliases, &sets)

	if _, ok := constructors[ControllerName]; !ok || len(constructors) != len(before)+1 {
		t.Errorf("constructors %v, want %s beside the stock ones", slices.Sorted(maps.Keys(constructors)), ControllerName)
	}
	if aliases[ControllerAlias] != ControllerName {
		t.Errorf("alias %s is %q", ControllerAlias, aliases[ControllerAlias])
	}
	if diff := cmp.Diff([]string{ControllerName}, sets.Order); diff != "" {
		t.Errorf("flag sets (-want +got):\n%s", diff)
	}
	if got := app.DefaultInitFuncConstructors; len(got) != len(before) || got[ControllerName].Constructor != nil {
		t.Error("app.DefaultInitFuncConstructors was changed")
	}
	if diff := cmp.Diff(disabled, app.ControllersDisabledByDefault.List()); diff != "" {
		t.Errorf("app.ControllersDisabledByDefault was changed:\n%s", diff)
	}
}

// TestOffByDefault holds that a vendor who imports this package changes nothing for
// users who don't ask for it.
func TestOffByDefault(t *testing.T) {
	for _, c := range []struct {
		name        string
		controllers []string
	}{{"all", []string{"*"}}, {"others", []string{"cloud-node-controller"}}, {"not", []string{"*", "-" + ControllerName}}} {
		t.Run(c.name, func(t *testing.T) {
			constructors, sets := map[string]app.ControllerInitFuncConstructor{}, cliflag.NamedFlagSets{}
			New().Register(constructors, map[string]string{}, &sets)
			of := constructors[ControllerName]
			start := of.Constructor(of.InitContext, completed("vendor", c.controllers...), nil)
			running, enabled, err := start(t.Context(), genericcontrollermanager.ControllerContext{})
			if running != nil || enabled || err != nil {
				t.Errorf("%v, %v, %v; want not started", running, enabled, err)
			}
		})
	}
}

// helpOf is what the manager prints with --help.
func helpOf(t *testing.T, config Config) string {
	t.Helper()
	cmd, err := Command(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestHelp holds that our flags stand under our name and the framework's under
// theirs, and that a manager of our own has nothing of webhooks.
func TestHelp(t *testing.T) {
	all, _ := plainProviders()
	help := helpOf(t, Config{Providers: all})
	_, ours, found := strings.Cut(help, "Offcluster-gateway-controller flags:")
	if !found {
		t.Fatalf("no section of our own in:\n%s", help)
	}
	for _, flag := range []string{
		"--gatehouse-config string", "--concurrent-gateway-syncs int", "--gatehouse-drift-interval duration", "--gatehouse-drain-timeout duration",
		"--gatehouse-audit-log string", "--gatehouse-audit-log-max-size int", "--gatehouse-audit-log-keep int",
		"--gatehouse-service-default-provider string", "--alpha-region string",
	} {
		if !strings.Contains(ours, flag) {
			t.Errorf("%s is not in our section", flag)
		}
	}
	for _, flag := range []string{"--kubeconfig", "--master", "--cluster-name", "--leader-elect-lease-duration", "--logging-format"} {
		if !strings.Contains(help, flag) || strings.Contains(ours, flag) {
			t.Errorf("%s is not among the framework's", flag)
		}
	}
	if strings.Contains(help, "webhook-secure-port") {
		t.Error("there are flags of webhooks, which there are none of")
	}
	if !strings.Contains(help, "All controllers: "+ControllerName+"\n") {
		t.Error("a manager without clouds has controllers beside ours")
	}
}

// TestHelpOfAllInOne holds that a manager that can be a cloud's has the stock
// controllers too.
func TestHelpOfAllInOne(t *testing.T) {
	all, _ := plainProviders()
	help := helpOf(t, Config{Providers: all, Clouds: []Cloud{{Name: "alpha", Provider: "alpha"}}})
	if want := "All controllers: cloud-node-controller, cloud-node-lifecycle-controller, node-route-controller, offcluster-gateway-controller, service-lb-controller\n"; !strings.Contains(help, want) {
		t.Errorf("not in the help: %s", want)
	}
}

// TestStockControllers holds that they run where this process is the manager of a
// cloud, and nowhere else: beside the real one they would fight it.
func TestStockControllers(t *testing.T) {
	for _, c := range []struct {
		name, cloud string
		want        bool
	}{{"beside another", noCloud, false}, {"as the cloud's", "alpha", true}} {
		t.Run(c.name, func(t *testing.T) {
			asked := false
			m := &manager{Extension: New(), clouds: []Cloud{{Name: "alpha", Provider: "alpha"}}}
			stock := m.ownedByCloud(map[string]app.ControllerInitFuncConstructor{"stock": {
				Constructor: func(app.ControllerInitContext, *appconfig.CompletedConfig, cloudprovider.Interface) app.InitFunc {
					asked = true
					return nil
				},
			}})
			start := stock["stock"].Constructor(app.ControllerInitContext{}, completed(c.cloud), nil)
			if asked != c.want {
				t.Errorf("constructed: %v, want %v", asked, c.want)
			}
			if !c.want {
				if got, enabled, err := start(t.Context(), genericcontrollermanager.ControllerContext{}); got != nil || enabled || err != nil {
					t.Errorf("%v, %v, %v; want not started", got, enabled, err)
				}
			}
		})
	}
}

// TestCloudWithoutAny holds that the framework, which panics over nil, gets a cloud
// that has nothing.
func TestCloudWithoutAny(t *testing.T) {
	m := &manager{Extension: New()}
	c := m.cloud(completed(noCloud))
	_, balances := c.LoadBalancer()
	_, routes := c.Routes()
	_, instances := c.InstancesV2()
	if balances || routes || instances || !c.HasClusterID() || c.ProviderName() != noCloud {
		t.Errorf("cloud %+v has something", c)
	}
}

// TestInstances holds what the node controllers are told of a node's machine.
func TestInstances(t *testing.T) {
	list := map[string]Machine{
		"a": {Name: "a", Type: "small", Zone: "z1", Region: "r", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}},
		"b": {Name: "b", Off: true},
	}
	of := instances{Cloud{Name: "fake", Machine: func(node, _ string) (Machine, bool) { m, ok := list[node]; return m, ok }}}
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.9"}}}}
	}
	for _, c := range []struct {
		name, why   string
		exists, off bool
		want        *cloudprovider.InstanceMetadata
	}{
		{name: "a", exists: true, why: "the cloud knows best", want: &cloudprovider.InstanceMetadata{
			ProviderID: "fake://a", InstanceType: "small", Zone: "z1", Region: "r",
			NodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
		}},
		{name: "b", exists: true, off: true, why: "without addresses the node's own stay", want: &cloudprovider.InstanceMetadata{
			ProviderID: "fake://b", NodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.9"}},
		}},
		{name: "c", why: "a machine that is gone takes its node along"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exists, err := of.InstanceExists(t.Context(), node(c.name))
			if exists != c.exists || err != nil {
				t.Errorf("exists: %v, %v; want %v: %s", exists, err, c.exists, c.why)
			}
			off, _ := of.InstanceShutdown(t.Context(), node(c.name))
			got, _ := of.InstanceMetadata(t.Context(), node(c.name))
			if diff := cmp.Diff(c.want, got); diff != "" || off != c.off {
				t.Errorf("%s: off %v (-want +got):\n%s", c.why, off, diff)
			}
		})
	}
}

// TestMetrics holds the names that dashboards are made of.
func TestMetrics(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m, err := newMeasures(registrar{registry.Register, registry.CustomRegister}, func() int { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	m.call("fake", providers.Call{Op: "CreateRule", Code: lbmodel.CodeDenied})
	m.event(providers.Event{What: providers.Retrying, Err: context.DeadlineExceeded})
	m.event(providers.Event{What: providers.Done, Step: lbmodel.Step{Verb: lbmodel.Create}})
	h := m.hooks()
	h.Pass("Gateway", 0, lbmodel.CodeOK)
	h.StatusWrites("HTTPRoute")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetHelp(), "[ALPHA] ") {
			t.Errorf("%s has no stability level in its help", f.GetName())
		}
		got = append(got, f.GetName())
	}
	want := []string{
		"gatehouse_build_info", "gatehouse_cloud_request_duration_seconds", "gatehouse_cloud_requests_total", "gatehouse_cloud_retries_total",
		"gatehouse_paused", "gatehouse_plan_changes", "gatehouse_reconcile_duration_seconds", "gatehouse_reconciles_total", "gatehouse_status_writes_total",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
