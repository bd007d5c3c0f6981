package ccm

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestAlerts reads the rules as Prometheus does, and holds the metrics that they
// name against those that there are. Why: an alert about a metric that has another
// name never comes.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "deploy", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	there := map[string]map[string]bool{}
	for _, f := range metricFamilies(t) {
		there[f.GetName()] = map[string]bool{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			there[f.GetName()][l.GetName()] = true
		}
	}
	metric, label := regexp.MustCompile(`gatehouse_[a-z_]+`), regexp.MustCompile(`\$labels\.([a-z_0-9]+)`)
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || seen[r.Alert] || r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("rule %+v of %s lacks something, or comes twice", r, g.Name)
			}
			seen[r.Alert] = true
			names := metric.FindAllString(r.Expr, -1)
			if len(names) == 0 || strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") {
				t.Errorf("%s: expression %q", r.Alert, r.Expr)
			}
			for _, name := range names {
				if there[name] == nil {
					t.Errorf("%s: there is no metric %s", r.Alert, name)
				}
			}
			for _, said := range r.Annotations {
				for _, l := range label.FindAllStringSubmatch(said, -1) {
					if !there[names[0]][l[1]] {
						t.Errorf("%s: %s has no label %s", r.Alert, names[0], l[1])
					}
				}
			}
		}
	}
	if len(seen) < 4 {
		t.Errorf("%d alerts, want those about identities, roots, sources and issuance", len(seen))
	}
}
