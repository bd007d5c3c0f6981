package houserules

import (
	"slices"
	"strings"
	"testing"
)

const meshes = "gatehouse.dev/meshsync/"

// shared are the packages below meshsync that are no mesh and do no I/O.
var shared = []string{"workload", "meshtest"}

// edges are those below meshsync that call meshes and clusters.
var edges = []string{"issue", "roots", "probe"}

// TestMeshesStandBelow keeps providers, translation and controllers out of all that
// is about meshes: they are handed what they need.
func TestMeshesStandBelow(t *testing.T) {
	above := []string{"gatehouse.dev/internal", "gatehouse.dev/providers", "gatehouse.dev/fake", "gatehouse.dev/ccm", "gatehouse.dev/cmd"}
	leaves := []string{"gatehouse.dev/fake/settings", "gatehouse.dev/providers/aws/settings", "gatehouse.dev/providers/gcp/settings", "gatehouse.dev/internal/turns"} // they know nothing
	for path, p := range list(t) {
		for _, dep := range p.Deps {
			if strings.HasPrefix(path, meshes) && has(above, dep) && !has(leaves, dep) {
				t.Errorf("%s depends on %s: a mesh knows abilities and objects, not who uses it", path, dep)
			}
		}
	}
}

// TestDialectsDescribe keeps dialects pure and apart from each other.
func TestDialectsDescribe(t *testing.T) {
	impure := []string{"net/http", "os", "log", "log/slog", "math/rand", "math/rand/v2"}
	found := 0
	for path, p := range list(t) {
		dialect, ok := strings.CutPrefix(path, meshes)
		if name, _, _ := strings.Cut(dialect, "/"); !ok || slices.Contains(edges, name) || slices.Contains(shared, name) {
			continue
		}
		found++
		for _, imp := range p.Imports {
			if slices.Contains(impure, imp) {
				t.Errorf("%s imports %s: a dialect describes what it is shown", path, imp)
			}
		}
		for _, dep := range p.Deps {
			if has([]string{"k8s.io/client-go", "google.golang.org/grpc"}, dep) {
				t.Errorf("%s depends on %s: who calls a mesh or a cluster is in issue or roots", path, dep)
			}
			if other, ok := strings.CutPrefix(dep, meshes); ok && other != "workload" && !strings.HasPrefix(dep, path+"/") {
				t.Errorf("%s depends on %s: what two meshes share is in workload", path, dep)
			}
		}
	}
	if found == 0 {
		t.Error("there are no dialects: this rule must go or move")
	}
}

// TestDoublesAreIndependent keeps our own understanding of meshes out of what it is
// tried on.
func TestDoublesAreIndependent(t *testing.T) {
	may := []string{"gatehouse.dev/lbmodel", "gatehouse.dev/fake/mesh"}
	for path, p := range list(t) {
		for _, dep := range p.Deps {
			if strings.HasPrefix(path, "gatehouse.dev/fake/mesh") && has([]string{"gatehouse.dev/", "k8s.io/client-go"}, dep) && !has(may, dep) {
				t.Errorf("%s depends on %s: a double does what the mesh does, not what we believe of it", path, dep)
			}
		}
	}
}
