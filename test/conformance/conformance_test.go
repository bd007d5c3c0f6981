package conformance

import (
	"cmp"
	"context"
	"flag"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	suitefiles "sigs.k8s.io/gateway-api/conformance"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"

	"gatehouse.dev/test/cluster"
)

var coreOnly = flag.Bool("core", false, "run the core tests only, whatever the class offers")

// coreFeatures are what the five profiles call core. A run with these alone
// is for a quick look: a report of it would show the rest as unsupported. The two
// TLS modes are named too, because core tests want listeners refused by those who
// do not have them.
var coreFeatures = []features.FeatureName{
	features.SupportGateway, features.SupportReferenceGrant, features.SupportHTTPRoute, features.SupportGRPCRoute,
	features.SupportTLSRoute, features.SupportTCPRoute, features.SupportUDPRoute,
	features.SupportTLSRouteModeTerminate, features.SupportTLSRouteModeMixed,
}

// TestConformance is the suite. The features come from the class's status, as
// the suite reads them itself; the suite's own flags still hold.
func TestConformance(t *testing.T) {
	c := begin(t, images(t))
	options := optionsFor(t, c)
	if *coreOnly {
		options.SupportedFeatures = coreFeatures
	}
	awaitFeatures(t, options)
	suitefiles.RunConformanceWithOptions(t, options)
}

// begin starts a cluster that has these images built of packages, with the
// definitions, the manager and the class.
func begin(t *testing.T, packages map[string]string) *cluster.Cluster {
	t.Helper()
	manager := managerProgram(t)
	c := cluster.Start(t, cluster.Config{Images: build(t, packages)})
	c.InstallCRDs(t, cluster.Standard)
	manage(t, c, manager)
	c.Apply(t, classManifest)
	return c
}

func optionsFor(t *testing.T, c *cluster.Cluster) suite.ConformanceOptions {
	t.Helper()
	t.Setenv("KUBECONFIG", c.Kubeconfig())
	o := suitefiles.DefaultOptions(t)
	// The suite's clients as the suite makes them, but without a limit of their own.
	o.RestConfig = c.REST()
	var err error
	if o.Client, err = client.New(o.RestConfig, o.ClientOptions); err != nil {
		t.Fatal(err)
	}
	if o.Clientset, err = kubernetes.NewForConfig(o.RestConfig); err != nil {
		t.Fatal(err)
	}
	o.GatewayClassName = className
	o.ConformanceProfiles = []suite.ConformanceProfileName{
		suite.GatewayHTTPConformanceProfileName, suite.GatewayGRPCConformanceProfileName, suite.GatewayTLSConformanceProfileName,
		suite.GatewayTCPConformanceProfileName, suite.GatewayUDPConformanceProfileName,
	}
	ip := gwv1.IPAddressType
	o.UsableNetworkAddresses = []gwv1.GatewaySpecAddress{{Type: &ip, Value: usableAddress}}
	o.UnusableNetworkAddresses = []gwv1.GatewaySpecAddress{{Type: &ip, Value: unusableAddress}}
	o.Implementation = confv1.Implementation{
		Organization: "gatehouse", Project: "gatehouse", URL: "https://gatehouse.dev", Contact: []string{"https://gatehouse.dev"},
		Version: cmp.Or(o.Implementation.Version, "v0.0.0-dev"), // of the flag -version
	}
	return o
}

// awaitFeatures waits until the class says what it offers: the suite reads that
// once, before anything else.
func awaitFeatures(t *testing.T, o suite.ConformanceOptions) {
	t.Helper()
	class := &gwv1.GatewayClass{}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := o.Client.Get(ctx, types.NamespacedName{Name: o.GatewayClassName}, class)
		return len(class.Status.SupportedFeatures) > 0, err
	})
	if err != nil {
		t.Fatalf("GatewayClass %s never said what it offers: %v; its status is %+v", o.GatewayClassName, err, class.Status)
	}
}
