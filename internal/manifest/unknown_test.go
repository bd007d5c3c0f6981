package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestMisspeltKind. Why this table: what is misspelt is there. It used to be
// passed over as somebody else's, and its object to be deleted for being absent.
func TestMisspeltKind(t *testing.T) {
	tests := []struct {
		name, apiVersion, kind string
		meant                  string // "" is passed over
	}{
		{"a letter short", "gateway.networking.k8s.io/v1", "HTTPRout", "HTTPRoute"},
		{"two letters swapped", "gateway.networking.k8s.io/v1", "Gatweay", "Gateway"},
		{"small letters", "gateway.networking.k8s.io/v1", "httproute", "HTTPRoute"},
		{"nothing like it in a group that we know whole", "gateway.networking.k8s.io/v1", "Zebra", "?"},
		{"our own group", "gatehouse.dev/v1alpha1", "GatewayParameter", "GatewayParameters"},
		{"an experimental one", "gateway.networking.x-k8s.io/v1alpha1", "XBackends", "XBackend"},
		{"core", "v1", "Servic", "Service"},
		{"core, plural", "v1", "Secrets", "Secret"},
		{"discovery", "discovery.k8s.io/v1", "EndpointSlices", "EndpointSlice"},
		{"a core kind that is not ours", "v1", "ServiceAccount", ""},
		{"a core kind that looks alike", "v1", "PodTemplate", ""},
		{"another experimental kind", "gateway.networking.x-k8s.io/v1alpha1", "XMesh", ""},
		{"another's group", "apps/v1", "Deploymant", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := loadText(t, "apiVersion: "+tt.apiVersion+"\nkind: "+tt.kind+"\nmetadata: {name: one}\n")
			switch {
			case tt.meant == "":
				if l.Incomplete || len(l.Skipped) != 1 {
					t.Errorf("Incomplete %v, problems %v, skipped %v: want it passed over", l.Incomplete, l.Problems, l.Skipped)
				}
			case !l.Incomplete || len(l.Problems) != 1:
				t.Errorf("Incomplete %v, problems %v: want one", l.Incomplete, l.Problems)
			case tt.meant == "?":
				if strings.Contains(l.Problems[0].Message, "mean") {
					t.Errorf("a guess out of nothing: %s", l.Problems[0])
				}
			case !strings.Contains(l.Problems[0].Message, "did you mean "+tt.meant+"?") || len(l.Bad) != 1 || l.Bad[0].Kind != tt.meant || l.Bad[0].Name != "one":
				t.Errorf("problem %q, bad %v: want %s one", l.Problems[0], l.Bad, tt.meant)
			}
		})
	}
}

// TestEmptyFile. Why this table: an editor that was interrupted leaves nothing,
// and a person who wants nothing says so.
func TestEmptyFile(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		bad  bool
	}{
		"no byte":    {"", true},
		"blanks":     {" \n\t\n", true},
		"a comment":  {"# moved elsewhere\n", false},
		"a document": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if l := loadText(t, tt.text); l.Incomplete != tt.bad || len(l.Problems) > 0 != tt.bad {
				t.Errorf("Incomplete is %v, problems %v", l.Incomplete, l.Problems)
			}
		})
	}
}

// TestRemains: of a bad object there is still to be known to what it belongs; of
// a bad Secret, its name.
func TestRemains(t *testing.T) {
	l := loadText(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: g, port: "eighty"}]
  hostnames: 7
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {tls.key: [private]}
`)
	if len(l.Remains) != 2 {
		t.Fatalf("remains are %v, want a route and a Secret", l.Remains)
	}
	route, ok := l.Remains[0].(*gwv1.HTTPRoute)
	if !ok || route.Name != "r" || route.Namespace != "default" || len(route.Spec.ParentRefs) != 1 || route.Spec.ParentRefs[0].Name != "g" {
		t.Errorf("the route's remains are %+v", l.Remains[0])
	}
}

func loadText(t *testing.T, text string) *Loaded {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Load(t.Context(), Options{Paths: []string{path}, Cluster: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
