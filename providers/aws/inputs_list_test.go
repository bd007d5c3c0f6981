package aws

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inputs are twenty-eight issues that people filed against aws-load-balancer-controller
// and its kin, and the cases of the project's list that concern AWS; and where each is a
// test: a file of the repository and a text in it, the test's name or its row in a table.
var inputs = []struct {
	name, issue, want string
	at                [][2]string
}{
	{"1", "#3790, #4597, #3870", "one bad route costs itself", [][2]string{{"providers/aws/calls_test.go", "TestOneBadRoute"}, {"providers/aws/bench/figures_test.go", "(f) one bad route among 11"}}},
	{"2", "#228, #2065, #4834", "somebody else's load balancer: ours in it is managed, and the rest stays", [][2]string{{"providers/aws/foreign_test.go", "TestHeldByARN"}}},
	{"3", "#1084, #3712, #4494", "a Secret is a certificate, with one ARN for good, and goes after its listener", [][2]string{{"providers/aws/cloud_test.go", "TestRenewalsKeepARNs"}, {"providers/aws/lifecycle_test.go", "TestEveryKindLivesAndGoes"}}},
	{"4", "#4636", "no hop that only looks verified", [][2]string{{"providers/aws/inputs_test.go", "TestInput04"}}},
	{"5", "#3499, #1973", "trust stores are made, rotated and deleted", [][2]string{{"providers/aws/cloud_test.go", "TestRenewalsKeepARNs"}, {"providers/aws/lifecycle_test.go", "TestEveryKindIsKilled"}}},
	{"6", "#3540", "users go first, and a restart writes nothing", [][2]string{{"providers/aws/pace_test.go", "TestLooksGiveWayToEdits"}, {"providers/aws/bench/figures_test.go", "are looked at in the background"}, {"providers/aws/bench/still_test.go", "(c) restart, 10 gateways"}}},
	{"7", "#3171, #3167, #1871", "others' target groups cost no call", [][2]string{{"providers/aws/calls_test.go", "TestCallsOfARestart"}}},
	{"8", "#1048", "endpoints wait for no configuration", [][2]string{{"providers/endpoints_test.go", "TestEndpointsAreNotHeldUp"}, {"providers/aws/pace_test.go", "TestBucketsAreAWS"}}},
	{"9", "#457, #1414", "as fast as AWS's buckets", [][2]string{{"providers/aws/bench/figures_test.go", "(a) fresh"}}},
	{"10", "#1719, #1124, #814", "new targets come before old ones go", [][2]string{{"providers/aws/cloud_test.go", "TestTargetsLeaveWhenOthersAreHealthy"}}},
	{"11", "#1764, #2393", "readiness is a Service's, whatever its target group is", [][2]string{{"internal/controller/readiness/decide_test.go", "TestDecide"}, {"providers/aws/foreign_test.go", "TestHealthOfInstances"}}},
	{"12", "#4343", "a port that comes again has its targets", [][2]string{{"providers/aws/inputs_test.go", "TestInput12"}}},
	{"13", "#4880, #3069", "what is deleted by hand is made anew", [][2]string{{"providers/aws/inputs_test.go", "TestInput13"}, {"providers/aws/calls_test.go", "TestDriftIsRepaired"}}},
	{"14", "#4235", "within the interval of scans", [][2]string{{"providers/aws/bench/still_test.go", "(h) rule deleted"}}},
	{"15", "ACK #2934, #2623", "who is undone does not run in circles", [][2]string{{"providers/aws/inputs_test.go", "TestInput15"}}},
	{"16", "#1879, #2220, #2117", "a security group in use is waited for, by nobody", [][2]string{{"providers/aws/lifecycle_test.go", "as long as AWS takes"}, {"providers/aws/exchange_test.go", "TestWaitingReadsNothingElse"}}},
	{"17", "cloud-provider-aws #566", "gone is what was looked for, and strays are found by their tags", [][2]string{{"providers/aws/cloud_test.go", "TestStraysAreFound"}, {"providers/aws/foreign_test.go", "TestABundleWithoutAStoreIsFound"}, {"providers/aws/calls_test.go", "TestCallsOfADelete"}}},
	{"18", "#2940, #1959", "the new load balancer serves before the old one goes; protection stays", [][2]string{{"providers/aws/inputs_test.go", "TestInput18"}, {"providers/aws/cloud_test.go", "TestWhatIsTurnedByHand"}}},
	{"19", "#4807", "one order of rules, whatever that of the input", [][2]string{{"providers/aws/compile_test.go", "TestCompileIsDeterministic"}}},
	{"20", "#2011, #4884, #2678", "hostnames and methods are packed, quotas known before", [][2]string{{"providers/aws/compile_test.go", "TestCompile"}, {"providers/aws/quota_test.go", "TestQuotas"}, {"providers/aws/quota_test.go", "TestRulesAreWithinLimits"}}},
	{"21", "#4499", "each parent has its own status", [][2]string{{"internal/cases/status_test.go", "TestC69"}}},
	{"22", "#4876", "two ports of a Service are two names", [][2]string{{"providers/aws/name_test.go", "TestNamesTellPartsApart"}}},
	{"23", "#3308, #2719, #3210", "keys of every kind", [][2]string{{"providers/aws/observe_certificate.go", "KeyTypes: acmtypes.KeyAlgorithm(\"\").Values()"}, {"providers/aws/lifecycle_test.go", "elliptic.P256"}}},
	{"24", "#4544, #288", "who drains is not there", [][2]string{{"providers/aws/inputs_test.go", "TestInput24"}, {"providers/aws/exchange_test.go", "TestFullGroupsChangeInWaves"}}},
	{"25", "cloud-provider-aws #1462", "one rule of a node's security group for all load balancers", [][2]string{{"providers/aws/quota_test.go", "rulesPerSecurityGroup"}, {"providers/aws/testdata/target-access/gateway.yaml", "targetSecurityGroups"}}},
	{"26", "cloud-provider-aws #87", "nodes without pods get nothing", [][2]string{{"internal/translate/testdata/services-by-nodes/in.yaml", "externalTrafficPolicy: Local"}}},
	{"27", "Lattice #119, #76, #331", "an empty account in the end", [][2]string{{"providers/aws/lifecycle_test.go", "TestEveryKindLivesAndGoes"}, {"providers/aws/bench/rollout_test.go", "(e) delete, 99 routes"}}},
	{"28", "#4566, #1640, #3982", "a plan tells of each interruption, and who must agree", [][2]string{{"providers/aws/plan_test.go", "TestImpact"}}},
	{"C02", "", "a prefix is a path and what is below it", [][2]string{{"providers/aws/condition_test.go", "prefix by element"}, {"providers/aws/meaning_test.go", "TestMeaningIsKept"}}},
	{"C05", "", "values tell upper from lower case, or are refused", [][2]string{{"providers/aws/inputs_test.go", "TestC05"}}},
	{"C17", "", "the port of a redirect", [][2]string{{"providers/aws/inputs_test.go", "TestC17"}}},
	{"C51", "", "somebody else's Service", [][2]string{{"internal/cases/service_test.go", "TestC51"}}},
	{"C52", "", "deletion while the cloud misbehaves", [][2]string{{"internal/cases/service_test.go", "TestC52Service"}, {"providers/aws/cloud_test.go", "TestEveryCallFails"}}},
	{"C54", "", "ranges of clients", [][2]string{{"internal/cases/service_test.go", "TestC54"}, {"providers/aws/quota_test.go", "SourceRanges"}}},
	{"C59", "", "100,000 names", [][2]string{{"providers/aws/name_test.go", "TestNames"}}},
	{"C67", "", "nothing to do is nothing done", [][2]string{{"providers/aws/calls_test.go", "nothing to do"}, {"providers/aws/laws_test.go", "providertest.Run"}}},
}

// TestInputsAreTested: each of them is a test, and this list says where.
func TestInputsAreTested(t *testing.T) {
	if len(inputs) != 28+8 {
		t.Errorf("%d inputs, want 36", len(inputs))
	}
	for _, input := range inputs {
		for _, at := range input.at {
			text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(at[0])))
			if err != nil {
				t.Error(err)
			}
			if !strings.Contains(string(text), at[1]) {
				t.Errorf("input %s (%s): %s has no %q; want: %s", input.name, input.issue, at[0], at[1], input.want)
			}
		}
		if len(input.at) == 0 {
			t.Errorf("input %s (%s) is no test", input.name, input.issue)
		}
	}
}
