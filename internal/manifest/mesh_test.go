package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestMeshKinds: what meshes are configured by is taken as it stands when somebody
// asks for it, and passed over otherwise, as any kind that means nothing here.
func TestMeshKinds(t *testing.T) {
	const text = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: apps}
spec: {mtls: {mode: STRICT}, portLevelMtls: {8080: {mode: DISABLE}}, anyField: [1, 2.5]}
---
apiVersion: security.istio.io/v1beta1
kind: PeerAuthentication
metadata: {name: here}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: Bad_Name, namespace: apps}
---
apiVersion: kuma.io/v1alpha1
kind: Mesh
metadata: {name: default}
---
apiVersion: telemetry.istio.io/v1
kind: Telemetry
metadata: {name: t, namespace: apps}
`
	path := filepath.Join(t.TempDir(), "mesh.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	cases := []struct {
		name, why           string
		kinds               []schema.GroupVersionKind
		taken               string
		skipped, incomplete int
	}{
		{"asked for", "two versions are one kind; a name that no server takes is a problem", []schema.GroupVersionKind{
			{Group: "security.istio.io", Version: "v1", Kind: "PeerAuthentication"},
			{Group: "security.istio.io", Version: "v1beta1", Kind: "PeerAuthentication"},
			{Group: "kuma.io", Version: "v1alpha1", Kind: "Mesh"},
		}, "/default apps/default default/here", 1, 1},
		{"not asked for", "they are somebody else's", nil, "", 4, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			loaded, err := Load(t.Context(), Options{Paths: []string{path}, MeshKinds: c.kinds})
			must(t, err)
			var names []string
			for _, o := range loaded.Snapshot.MeshObjects {
				names = append(names, o.GetNamespace()+"/"+o.GetName())
			}
			if got := strings.Join(names, " "); got != c.taken || len(loaded.Skipped) != c.skipped || len(loaded.Problems) != c.incomplete {
				t.Errorf("%s: took %q, skipped %v, problems %v", c.why, got, loaded.Skipped, loaded.Problems)
			}
		})
	}
}
