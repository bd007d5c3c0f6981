package cli

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/roots"
)

const outsideFile = `apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: mesh}
spec:
  controllerName: istio.io/istio
  gateways: {namespaceSelector: {}}
  trustBundles: [{kind: SPIFFEBundle, name: cluster.local, url: %q, serverRoots: %q}]
`

// TestRootsOutside: a command reads roots that are in no file from where they are, once;
// when nobody answers there, those that a command before wrote down hold; and without
// any it says why.
func TestRootsOutside(t *testing.T) {
	mesh, web := newCA(t), newCA(t)
	published, err := lbmodel.ParseRoots(mesh.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := spiffe.StartEndpoint(spiffe.EndpointConfig{CA: mesh, Web: web, TrustDomain: "cluster.local"})
	if err != nil {
		t.Fatal(err)
	}
	dir, states := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "mesh.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, outsideFile, endpoint.URL(), web.Bundle()), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func() checkedMesh {
		t.Helper()
		var out, errs bytes.Buffer
		env := Env{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(name string) string { return map[string]string{"GATEHOUSE_STATE": states}[name] }}
		config := Config{Meshes: func(map[string]string) map[string]meshsync.Dialect {
			return map[string]meshsync.Dialect{istio.Controller: istio.Dialect{}}
		}}
		if code := Main(t.Context(), config, env, []string{"mesh", "check", "-f", dir, "-o", "json"}); code == exitError {
			t.Fatalf("it failed: %s", &errs)
		}
		var c checked
		if err := json.Unmarshal(out.Bytes(), &c); err != nil || len(c.Meshes) != 1 {
			t.Fatalf("%v in %s", err, &out)
		}
		return c.Meshes[0]
	}
	if got := check(); len(got.Roots) != 1 || len(got.Problems) > 0 {
		t.Errorf("roots %+v, problems %q, want the one that is published", got.Roots, got.Problems)
	}
	if err := endpoint.Close(); err != nil {
		t.Fatal(err)
	}
	if got := check(); len(got.Roots) > 0 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "there are no roots yet: localhost:") {
		t.Errorf("roots %+v, problems %q, want that nobody answers", got.Roots, got.Problems)
	}
	cluster := state{filepath.Join(states, "default")}
	if entries, err := os.ReadDir(states); err != nil || len(entries) > 0 {
		t.Errorf("a command that only looks wrote %v, %v", entries, err)
	}
	unlock, err := cluster.lock("test")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	at := meshsync.RootsAt{Kind: meshsync.RootsSPIFFE, Name: "cluster.local", URL: endpoint.URL(), ServerRoots: string(web.Bundle())}
	last := map[string][]roots.Bundle{translate.BundleKey(at).String(): {{Name: "cluster.local", Roots: published}}}
	if err := cluster.keepRoots("default", last); err != nil {
		t.Fatal(err)
	}
	if got := check(); len(got.Roots) != 1 || len(got.Problems) > 0 {
		t.Errorf("roots %+v, problems %q, want the one that was written down", got.Roots, got.Problems)
	}
	if err := os.WriteFile(filepath.Join(cluster.dir, rootsFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := check(); len(got.Roots) > 0 {
		t.Errorf("roots %+v of a broken record", got.Roots)
	}
}

func newCA(t *testing.T) *ca.CA {
	t.Helper()
	m, err := ca.New(ca.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
