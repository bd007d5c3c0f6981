package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	suitefiles "sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"

	"gatehouse.dev/fake/awsapi/live"
	"gatehouse.dev/test/cluster"
)

const awsController = "gatehouse.dev/aws"

// awsClass is the class under test: the settings that AWS's side asks for, and no
// assumption about what AWS leaves open.
var awsClass = fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: gatehouse-system}
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: conformance, namespace: gatehouse-system}
spec:
  foreignEndpoints: Allow
  aws: {region: %s, scheme: internet-facing, vpc: %s, subnets: [%s, %s], trust: {bucket: %s}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: %s}
spec:
  controllerName: %s
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: conformance, namespace: gatehouse-system}
`, awsRegion, awsVPC, awsSubnet(0), awsSubnet(1), awsBucket, className, awsController)

// awsRefused are the tests that the profiles or the class's features imply and that
// cannot pass on AWS's load balancers with the meaning kept: some rule in each needs edited
// headers, a redirect from https to http, gRPC without TLS, backends by server name, or a certificate that ACM does not
// take (for the name *, or without its chain). The suite leaves them out;
// TestRefusedByAWS has what statuses say of them.
var awsRefused = []string{
	"GRPCExactMethodMatching", "GRPCRouteHeaderMatching", "GRPCRouteListenerHostnameMatching", "GRPCRouteMultipleGateways",
	"GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection", "GRPCRouteNamedRule", "GRPCRouteWeight",
	"HTTPRouteRedirectPortAndScheme", "HTTPRouteRequestHeaderModifier", "HTTPRouteRewriteHost", "HTTPRouteRewritePath", "TLSRouteHostnameIntersection",
	"TLSRouteTerminateSimpleSameNamespace", "GatewaySecretReferenceGrantAllInNamespace", "GatewaySecretReferenceGrantSpecific", "ListenerSetReferenceGrant",
}

// awsByHeaders are those in which some rule needs matches on headers: they pass where
// the operator vouches for how AWS compares those.
var awsByHeaders = []string{
	"HTTPRouteHeaderMatching", "HTTPRouteMatching", "HTTPRouteMatchingAcrossRoutes", "HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection",
	"HTTPRouteMethodMatching", "HTTPRouteRuleOrder",
}

// TestConformanceAWS is the suite against the manager with the provider aws, over an
// emulated account whose load balancers serve.
func TestConformanceAWS(t *testing.T) {
	c, _ := onAWS(t, awsClass, images(t))
	options := optionsFor(t, c)
	options.SkipTests = slices.Concat(awsRefused, awsByHeaders)
	awaitFeatures(t, options)
	suitefiles.RunConformanceWithOptions(t, options)
}

// TestAssumedOnAWS are the tests that a class passes whose operator vouches for what
// AWS leaves open, in an account in which it is so. It makes no report.
func TestAssumedOnAWS(t *testing.T) {
	class := strings.Replace(awsClass, "aws: {", "aws: {assume: [HeaderRegexCaseSensitive, PathRegexCaseSensitive, RedirectSeesRewrite], ", 1)
	c, _ := onAWS(t, class, images(t))
	options := optionsFor(t, c)
	options.ReportOutputPath = ""
	for _, test := range tests.ConformanceTests {
		if !slices.Contains(awsByHeaders, test.ShortName) {
			options.SkipTests = append(options.SkipTests, test.ShortName)
		}
	}
	awaitFeatures(t, options)
	suitefiles.RunConformanceWithOptions(t, options)
}

// onAWS starts a cluster and an account, with the manager between them and a class.
func onAWS(t *testing.T, class string, packages map[string]string) (*cluster.Cluster, *live.Live) {
	t.Helper()
	manager := managerProgram(t)
	programs := build(t, packages)
	made := account(t)
	c := cluster.Start(t, cluster.Config{Images: programs})
	c.InstallCRDs(t, cluster.Standard)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	manage(t, c, manager, "--aws-region="+awsRegion, "--aws-endpoint=http://"+awsEndpoint)
	c.Apply(t, class)
	return c, made
}
