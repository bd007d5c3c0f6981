//go:build e2e

package e2e

import (
	"context"
	"maps"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	cloudfake "k8s.io/cloud-provider/fake"
	ccmnames "k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/version"

	"gatehouse.dev/ccm"
	fakelocal "gatehouse.dev/fake/local"
	"gatehouse.dev/test/cluster"
)

// TestEmbedded runs a vendor's cloud controller manager that imports ours, as
// docs/howto/embed-in-your-ccm.md tells, in this process.
func TestEmbedded(t *testing.T) {
	c := cluster.Start(t, cluster.Config{})
	c.InstallCRDs(t, cluster.Standard)
	c.Apply(t, shop)
	c.Apply(t, edge)
	c.Apply(t, storefront)
	gatehouse := ccm.New(ccm.Provider{Name: "fake", Open: func(ctx context.Context, o ccm.Options) (ccm.Backend, error) {
		l, err := fakelocal.Open(fakelocal.Config{Keyring: o.Keyring, Log: o.Log})
		if err != nil {
			return ccm.Backend{}, err
		}
		end := func(ctx context.Context) error { return l.Shutdown(ctx) }
		return ccm.Backend{Provider: l.Provider, Patience: l.Patience(), Close: end}, l.Serve(ctx)
	}})
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- vendor(c, gatehouse, stop)
	}()
	serves(t, "http://"+programmed(t, c, "front"))

	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := gatehouse.Drain(ctx); err != nil {
		t.Error(err)
	}
}

// vendor is the main of a vendor's manager.
func vendor(c *cluster.Cluster, gatehouse *ccm.Extension, stop <-chan struct{}) error {
	// The framework's log begins with its own version, a placeholder unless somebody sets it.
	if err := version.SetDynamicVersion("v0.0.0-vendor"); err != nil {
		return err
	}
	o, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return err
	}
	constructors, aliases, sets := maps.Clone(app.DefaultInitFuncConstructors), ccmnames.CCMControllerAliases(), cliflag.NamedFlagSets{}
	gatehouse.Register(constructors, aliases, &sets)
	cloud := func(*appconfig.CompletedConfig) cloudprovider.Interface { return &cloudfake.Cloud{} }
	cmd := app.NewCloudControllerManagerCommand(o, cloud, constructors, aliases, sets, stop)
	cmd.SetArgs([]string{
		"--kubeconfig", c.Kubeconfig(), "--cloud-provider=vendor", "--secure-port=0", "--leader-elect=false", "--controllers=service-lb-controller," + ccm.ControllerAlias,
	})
	return cmd.Execute()
}
