package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"

	"gatehouse.dev/test/cluster"
)

var updateAWS = flag.Bool("update-aws", false, "write the page of what AWS's load balancers cannot do, instead of comparing it")

// awsRefusedPage is what statuses say, test by test.
const awsRefusedPage = "../../docs/conformance/aws-refused.md"

// awsSilent are tests whose objects ask for nothing that is refused by name: policies,
// addresses and listeners with a mistake that is told instead, what no field asks for (421,
// both TLS modes on one port), and certificates that ACM refuses when they are imported.
var awsSilent = []string{
	"BackendTLSPolicyInvalidCACertificateRef", "BackendTLSPolicyInvalidKind", "GatewayInvalidTLSBackendConfiguration", "GatewayOptionalAddressValue",
	"HTTPRouteHTTPSListenerDetectMisdirectedRequests", "TLSRouteMixedTerminationSameNamespace", "TLSRouteTerminateSimpleSameNamespace",
	"GatewaySecretReferenceGrantAllInNamespace", "GatewaySecretReferenceGrantSpecific", "ListenerSetReferenceGrant",
}

// TestRefusedByAWS: what a test of the suite asks for and AWS's load balancers cannot
// do is refused in a status, by name. The page lists all of it. The class only plans: no
// call changes the account.
func TestRefusedByAWS(t *testing.T) {
	c, made := onAWS(t, strings.Replace(awsClass, "spec:\n  foreignEndpoints", "spec:\n  apply: PlanOnly\n  foreignEndpoints", 1), nil)
	options := optionsFor(t, c)
	awaitFeatures(t, options)
	base := t.TempDir()
	writeBase(t, base)
	for _, name := range filesIn(t, base) {
		if filepath.Base(name) != "class.yaml" {
			applyFile(t, c, name)
		}
	}
	lacking := lackingOf(t, c)
	asked := map[string][]objectName{}
	for _, test := range tests.ConformanceTests {
		if lacking[test.ShortName] != nil {
			asked[test.ShortName] = applyTest(t, c, test)
		}
	}
	said := awaitRefusals(t, c, asked)
	for test := range lacking {
		if silent := slices.Contains(awsSilent, test); silent != (len(said[test]) == 0) {
			t.Errorf("%s lacks %v, and statuses say %q; that nothing is said is known: %t", test, lacking[test], said[test], silent)
		}
	}
	page := refusalPage(lacking, said)
	for _, call := range made.Calls() {
		if call.Writes && call.Service != "s3" {
			t.Errorf("%s was called", call.Action)
		}
	}
	comparePage(t, page)
}

// lackingOf are the tests that the suite does not run for the class, with the features
// that it does not claim; those of core that are left out lack a feature of core.
func lackingOf(t *testing.T, c *cluster.Cluster) map[string][]string {
	t.Helper()
	claimed := coreOfProfiles()
	class, err := c.Dynamic().Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gatewayclasses"}).Get(t.Context(), className, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, _, _ := unstructured.NestedSlice(class.Object, "status", "supportedFeatures")
	for _, one := range list {
		name, _, _ := unstructured.NestedString(one.(map[string]any), "name")
		claimed[features.FeatureName(name)] = true
	}
	out := map[string][]string{}
	for _, test := range tests.ConformanceTests {
		if len(test.Manifests) == 0 || strings.HasPrefix(test.Manifests[0], "tests/mesh") {
			continue
		}
		var lacks []string
		for _, f := range test.Features {
			if !claimed[f] {
				lacks = append(lacks, string(f))
			}
		}
		if lacks == nil && slices.Contains(slices.Concat(awsRefused, awsByHeaders), test.ShortName) {
			for _, f := range test.Features {
				if f != features.SupportGateway {
					lacks = append(lacks, "a part of "+string(f))
				}
			}
		}
		if lacks != nil {
			out[test.ShortName] = lacks
		}
	}
	return out
}

// coreOfProfiles are the features that the profiles of the run imply.
func coreOfProfiles() map[features.FeatureName]bool {
	out := map[features.FeatureName]bool{}
	for _, p := range []suite.ConformanceProfile{suite.GatewayHTTPConformanceProfile, suite.GatewayGRPCConformanceProfile,
		suite.GatewayTLSConformanceProfile, suite.GatewayTCPConformanceProfile, suite.GatewayUDPConformanceProfile} {
		for f := range p.CoreFeatures {
			out[f] = true
		}
	}
	return out
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// applyFile applies what the API server takes of a file.
func applyFile(t *testing.T, c *cluster.Cluster, name string) []objectName {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := cluster.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []objectName
	for _, o := range objects {
		if err := c.ApplyObjects(t.Context(), o); err != nil {
			t.Logf("%s: %v", filepath.Base(name), err) // some tests want that
			continue
		}
		out = append(out, objectName{o.GetKind(), o.GetNamespace(), o.GetName()})
	}
	return out
}

type objectName struct{ kind, namespace, name string }

func applyTest(t *testing.T, c *cluster.Cluster, test suite.ConformanceTest) []objectName {
	t.Helper()
	dir := t.TempDir()
	var out []objectName
	for i, name := range test.Manifests {
		path := filepath.Join(dir, fmt.Sprintf("%02d.yaml", i))
		writeManifest(t, name, path)
		out = append(out, applyFile(t, c, path)...)
	}
	return out
}

// awaitRefusals reads the statuses until they say no more than the time before.
func awaitRefusals(t *testing.T, c *cluster.Cluster, asked map[string][]objectName) map[string][]string {
	t.Helper()
	var before map[string][]string
	for range 30 {
		select {
		case <-time.After(5 * time.Second):
		case <-t.Context().Done():
		}
		now := refusalsIn(t, c, asked)
		if before != nil && maps.EqualFunc(before, now, slices.Equal) {
			return now
		}
		before = now
	}
	t.Fatal("the statuses never rest")
	return nil
}

func refusalsIn(t *testing.T, c *cluster.Cluster, asked map[string][]objectName) map[string][]string {
	t.Helper()
	said := map[objectName][]string{}
	for _, resource := range []string{"gateways", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes", "backendtlspolicies", "listenersets"} {
		maps.Copy(said, refusalsOf(t.Context(), c, resource))
	}
	out := map[string][]string{}
	for test, objects := range asked {
		for _, o := range objects {
			out[test] = append(out[test], said[o]...)
		}
		slices.Sort(out[test])
		out[test] = slices.Compact(out[test])
	}
	return out
}

// refusalsOf are the conditions of all objects of a kind that say that something is not
// supported.
func refusalsOf(ctx context.Context, c *cluster.Cluster, resource string) map[objectName][]string {
	out := map[objectName][]string{}
	list, err := c.Dynamic().Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: resource}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return out // the next look is soon
	}
	for _, o := range list.Items {
		name := objectName{o.GetKind(), o.GetNamespace(), o.GetName()}
		for _, condition := range conditionsIn(o.Object["status"]) {
			if strings.Contains(condition.Reason, "Unsupported") || condition.Type == "PartiallyInvalid" {
				out[name] = append(out[name], condition.Type+" "+string(condition.Status)+", "+condition.Reason+": "+condition.Message)
			}
		}
	}
	return out
}

// conditionsIn are all conditions in a status, at any depth.
func conditionsIn(status any) []metav1.Condition {
	var out []metav1.Condition
	switch v := status.(type) {
	case []any:
		for _, one := range v {
			out = append(out, conditionsIn(one)...)
		}
	case map[string]any:
		for key, one := range v {
			if key != "conditions" {
				out = append(out, conditionsIn(one)...)
				continue
			}
			var some []metav1.Condition
			if text, err := json.Marshal(one); err == nil && json.Unmarshal(text, &some) == nil {
				out = append(out, some...)
			}
		}
	}
	return out
}

// place is where in a route something is, and advice what is said of everything.
var (
	place  = regexp.MustCompile(`^(Dropped Rule )?(rules\[\d+\](\.\w+\[\d+\])*( \([\w-]+\))?: )`)
	advice = regexp.MustCompile(`, which this provider does not offer with these settings; remove it or use a class that offers it| \(what is dropped answers 500\)`)
)

// inShort is what conditions say, each thing once, whichever rule it is about.
func inShort(conditions []string) string {
	var out []string
	for _, one := range conditions {
		head, message, _ := strings.Cut(one, ": ")
		for part := range strings.SplitSeq(advice.ReplaceAllString(message, ""), "; ") {
			text := head + ": " + place.ReplaceAllString(part, "")
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return strings.ReplaceAll(strings.Join(out, "<br>"), "|", `\|`)
}

// refusalPage is a table of tests, what they lack, and what statuses say.
func refusalPage(lacking, said map[string][]string) string {
	var out strings.Builder
	out.WriteString("# What is refused on AWS, and what status says\n\n" +
		"Written by `make conformance-aws`: each test of the suite that is not run for the class, the\n" +
		"feature that the class does not claim, and what the statuses of the test's objects say,\n" +
		"each thing once. Nothing is said of what no object asks for.\n\n| test | not claimed | status |\n|---|---|---|\n")
	for _, test := range slices.Sorted(maps.Keys(lacking)) {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", test, strings.Join(lacking[test], ", "), cmp.Or(inShort(said[test]), "–"))
	}
	return out.String()
}

func comparePage(t *testing.T, page string) {
	t.Helper()
	if *updateAWS {
		if err := os.WriteFile(awsRefusedPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(awsRefusedPage)
	if err != nil || string(text) != page {
		t.Errorf("%s is not what statuses say (run with -update-aws): %v\n%s", awsRefusedPage, err, page)
	}
}
