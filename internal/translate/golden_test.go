package translate

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/lbmodel"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden translates testdata/<case>/in.yaml beside testdata/common.yaml and
// compares the model of every gateway and all statuses. A case's first comment
// line says why it is there.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/in.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, in := range dirs {
		name := filepath.Base(filepath.Dir(in))
		t.Run(name, func(t *testing.T) {
			text := readFile(t, name, "in.yaml")
			if !strings.HasPrefix(text, "# ") {
				t.Error("in.yaml must begin with a comment that says why the case exists")
			}
			x := indexOf(t, text)
			results := translateAll(t, x)
			compareGolden(t, filepath.Join(filepath.Dir(in), "model.yaml"), modelText(t, x, results))
			compareGolden(t, filepath.Join(filepath.Dir(in), "status.yaml"), statusText(Status(x, results, appliedOutcomes(results), now())))
		})
	}
}

func translateAll(t testing.TB, x *Index) map[Key]Result {
	t.Helper()
	results := map[Key]Result{}
	for _, key := range x.Gateways() {
		results[key] = x.Gateway(key)
		if err := lbmodel.Validate(results[key].Gateway); err != nil {
			t.Errorf("%s: the model is not valid: %v", key, err)
		}
	}
	return results
}

// appliedOutcomes are those of gateways that were applied without trouble.
func appliedOutcomes(results map[Key]Result) map[Key]Outcome {
	out := map[Key]Outcome{}
	for key := range results {
		out[key] = Outcome{
			Addresses: []lbmodel.Address{{Type: lbmodel.AddressIP, Value: "192.0.2.1"}},
			Sync:      Sync{Reason: InSync},
		}
	}
	return out
}

func now() metav1.Time { return metav1.Unix(1800000000, 0) }

// modelText is the gateways as YAML, short enough to read: a source is written
// as its text, an endpoint as its address, a root as its subject.
func modelText(t *testing.T, x *Index, results map[Key]Result) string {
	t.Helper()
	var out strings.Builder
	for _, key := range x.Gateways() {
		text, err := json.Marshal(results[key].Gateway)
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		text, err = yaml.Marshal(shorten(tree))
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.String()
}

func shorten(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = shorten(v[i])
		}
	case map[string]any:
		if text, ok := shortForm(v); ok {
			return text
		}
		for k := range v {
			v[k] = shorten(v[k])
		}
	}
	return v
}

func shortForm(m map[string]any) (string, bool) {
	has := func(key string) string { text, _ := m[key].(string); return text }
	switch {
	case has("pem") != "":
		return has("subject"), true
	case m["port"] != nil && (has("address") != "" || has("fqdn") != ""):
		return endpointText(m), true
	case has("kind") != "" && has("name") != "" && m["cluster"] == nil && m["value"] == nil:
		return lbmodel.Source{Kind: has("kind"), Namespace: has("namespace"), Name: has("name"), Section: has("section")}.String(), true
	default:
		return "", false
	}
}

func endpointText(m map[string]any) string {
	text := fmt.Sprintf("%v%v:%v", orEmpty(m["address"]), orEmpty(m["fqdn"]), m["port"])
	for _, state := range []string{"ready", "serving", "terminating"} {
		if m[state] == true {
			text += " " + state
		}
	}
	for _, place := range []string{"zone", "node", "instance"} {
		if m[place] != nil {
			text += fmt.Sprintf(" %s=%v", place, m[place])
		}
	}
	return text
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

func statusText(patches []Patch) string {
	var out strings.Builder
	for _, p := range patches {
		if c, is := p.Status.(*gwv1.GatewayClassStatus); is && c.Conditions[0].Status == metav1.ConditionTrue {
			continue
		}
		fmt.Fprintf(&out, "%s:\n", p.Key)
		switch s := p.Status.(type) {
		case *gwv1.GatewayClassStatus:
			writeConditions(&out, "", s.Conditions) // their features have a test of their own
		case *gwv1.GatewayStatus:
			writeGateway(&out, s)
		case *gwv1.ListenerSetStatus:
			writeConditions(&out, "", s.Conditions)
			for _, l := range s.Listeners {
				writeListener(&out, gwv1.ListenerStatus(l))
			}
		case *corev1.ServiceStatus:
			writeConditions(&out, "", s.Conditions)
			writeIngress(&out, s.LoadBalancer.Ingress)
		case *gwv1.PolicyStatus:
			for _, a := range s.Ancestors {
				writeConditions(&out, fmt.Sprintf("ancestor %s/%s of %s", *a.AncestorRef.Namespace, a.AncestorRef.Name, a.ControllerName), a.Conditions)
			}
		case *gwxv1alpha1.BackendStatus:
			for _, a := range s.Ancestors {
				writeConditions(&out, fmt.Sprintf("ancestor %s/%s of %s", *a.AncestorRef.Namespace, a.AncestorRef.Name, a.ControllerName), a.Conditions)
			}
		default:
			for _, parent := range routeParents(p.Status) {
				writeConditions(&out, fmt.Sprintf("parent %s of %s", refSource(parent.ParentRef, p.Key.Namespace), parent.ControllerName), parent.Conditions)
			}
		}
	}
	return out.String()
}

func writeIngress(out *strings.Builder, list []corev1.LoadBalancerIngress) {
	for _, in := range list {
		fmt.Fprintf(out, "  at %s%s %s:", in.IP, in.Hostname, deref(in.IPMode, "no mode"))
		for _, p := range in.Ports {
			fmt.Fprintf(out, " %d/%s %s", p.Port, p.Protocol, deref(p.Error, "ok"))
		}
		out.WriteByte('\n')
	}
}

func routeParents(status any) []gwv1.RouteParentStatus {
	switch s := status.(type) {
	case *gwv1.HTTPRouteStatus:
		return s.Parents
	case *gwv1.GRPCRouteStatus:
		return s.Parents
	case *gwv1.TLSRouteStatus:
		return s.Parents
	case *gwv1.TCPRouteStatus:
		return s.Parents
	case *gwv1.UDPRouteStatus:
		return s.Parents
	default:
		panic(fmt.Sprintf("no route status: %T", status))
	}
}

func writeGateway(out *strings.Builder, s *gwv1.GatewayStatus) {
	if s.AttachedListenerSets != nil {
		fmt.Fprintf(out, "  attachedListenerSets: %d\n", *s.AttachedListenerSets)
	}
	writeConditions(out, "", s.Conditions)
	for _, l := range s.Listeners {
		writeListener(out, l)
	}
}

func writeListener(out *strings.Builder, l gwv1.ListenerStatus) {
	var kinds []string
	for _, k := range l.SupportedKinds {
		kinds = append(kinds, string(k.Kind))
	}
	writeConditions(out, fmt.Sprintf("listener %s, %d routes, kinds %v", l.Name, l.AttachedRoutes, kinds), l.Conditions)
}

func writeConditions(out *strings.Builder, title string, list []metav1.Condition) {
	indent := "  "
	if title != "" {
		fmt.Fprintf(out, "  %s:\n", title)
		indent = "    "
	}
	for _, c := range list {
		fmt.Fprintf(out, "%s%s=%s/%s", indent, c.Type, c.Status, c.Reason)
		if c.ObservedGeneration != 0 {
			fmt.Fprintf(out, " @%d", c.ObservedGeneration)
		}
		if c.Message != "" {
			fmt.Fprintf(out, ": %s", c.Message)
		}
		out.WriteByte('\n')
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s does not exist; run the test with -update and read what it wrote", path)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
	if n := strings.Count(got, "\n"); n > 150 {
		t.Errorf("%s has %d lines; nobody reads more than 150", path, n)
	}
}
