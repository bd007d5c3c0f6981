package meshsync_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inputs are twenty issues that people filed against meshes and load balancers, and
// where each is a test: a file of the repository and a text in it, the test's name or
// its row in a table.
var inputs = []struct {
	number int
	issue  string
	want   string
	at     [][2]string
}{
	{1, "istio #48836", "Direct for STRICT only", [][2]string{{"meshsync/istio/cases_test.go", "TestInput01"}, {"internal/translate/mesh_inputs_test.go", "1 istio #48836"}}},
	{2, "istio #14130, #35232", "PERMISSIVE without Istio's ALPN resets", [][2]string{{"meshsync/istio/cases_test.go", "TestInput02"}, {"internal/translate/mesh_inputs_test.go", "2 istio #14130"}}},
	{3, "istio #43056", "no client certificate: refused by name", [][2]string{{"meshsync/istio/cases_test.go", "TestInput03"}, {"internal/translate/mesh_inputs_test.go", "3 istio #43056"}}},
	{4, "istio #32595", "mutual TLS from outside, directly", [][2]string{{"meshsync/istio/cases_test.go", "TestInput04"}}},
	{5, "istio #51482", "ambient: a landing pad", [][2]string{{"meshsync/istio/cases_test.go", "TestInput05"}}},
	{6, "ztunnel #1761, istio #59155", "clear text is refused, in words", [][2]string{{"meshsync/istio/cases_test.go", "TestInput06"}}},
	{7, "istio #30947", "A, A+B, A+B+B, B later; nothing twice", [][2]string{{"internal/translate/mesh_inputs_test.go", "7 istio #30947"}, {"test/mesh/rotate_test.go", "istio #30947"}}},
	{8, "istio #59909", "another order is no change", [][2]string{{"internal/translate/mesh_inputs_test.go", "8 istio #59909"}, {"test/mesh/still_test.go", "istio #59909"}}},
	{9, "istio #14516", "the end of a root is told before", [][2]string{{"internal/translate/mesh_inputs_test.go", "TestInput09"}}},
	{10, "ztunnel #1679", "roots of a week: renewed with its authority", [][2]string{{"internal/translate/mesh_inputs_test.go", "TestInput10"}}},
	{11, "aws-samples/istio-on-eks #112", "a root that is still seen stays", [][2]string{{"lbmodel/rotate_test.go", "istio-on-eks #112"}}},
	{12, "linkerd2 #4287", "no anchor goes that a pod still has alone", [][2]string{{"meshsync/linkerd/anchors_test.go", "TestInput12"}}},
	{13, "linkerd2 #13613", "a certificate waits for every pod's anchors", [][2]string{{"meshsync/linkerd/anchors_test.go", "TestInput13"}}},
	{14, "linkerd2 #3880", "line ends mean nothing", [][2]string{{"meshsync/linkerd/anchors_test.go", "TestInput14"}, {"internal/translate/mesh_inputs_test.go", "14 linkerd2 #3880"}}},
	{15, "consul #8681, #10871", "what does not verify is not uploaded; roots by blocking query", [][2]string{{"meshsync/issue/input_test.go", "TestInput15"}, {"meshsync/roots/consul_test.go", "TestConsulMissesARotation"}}},
	{16, "istio #53666", "both names while a trust domain changes", [][2]string{{"meshsync/istio/cases_test.go", "TestInput16"}, {"internal/translate/mesh_inputs_test.go", "TestInput16"}}},
	{17, "istio #49874", "another template of names is found by a probe", [][2]string{{"meshsync/istio/cases_test.go", "TestInput17"}, {"test/mesh/probe_test.go", "istio #49874"}}},
	{18, "ingress-gce #553, grpc-health-probe #7", "health is not asked at the application's port", [][2]string{{"meshsync/istio/cases_test.go", "TestInput18"}, {"internal/translate/mesh_inputs_test.go", "TestInput18"}}},
	{19, "kube-lego #188, cert-manager #916", "a success that was none is found", [][2]string{{"providers/input_test.go", "TestInput19"}}},
	{20, "AGIC #812, azure-docs #33176", "roots and nothing else, several while they change", [][2]string{{"internal/translate/mesh_inputs_test.go", "20 AGIC #812"}}},
}

// TestInputsAreTested: each of the twenty is a test, and this list says where.
func TestInputsAreTested(t *testing.T) {
	for i, input := range inputs {
		if input.number != i+1 || len(input.at) == 0 {
			t.Errorf("input %d (%s) is in row %d, with %d tests", input.number, input.issue, i+1, len(input.at))
		}
		for _, at := range input.at {
			text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(at[0])))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), at[1]) {
				t.Errorf("input %d (%s): %s has no %q; want: %s", input.number, input.issue, at[0], at[1], input.want)
			}
		}
	}
	if len(inputs) != 20 {
		t.Errorf("%d inputs, want 20", len(inputs))
	}
}
