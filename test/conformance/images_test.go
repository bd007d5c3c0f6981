package conformance

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"testing"

	suitefiles "sigs.k8s.io/gateway-api/conformance"

	"gatehouse.dev/test/cluster"
)

// echoPackage is the suite's own backend.
const echoPackage = "sigs.k8s.io/gateway-api-conformance-images/echo-basic"

// echoImage finds the images of that backend in the suite's manifests, whatever
// versions they name: one program serves them all.
var echoImage = regexp.MustCompile(`(?m)^\s*image:\s*(\S+/echo-basic:\S+)\s*$`)

// images is the table of images that the suite's pods run, with the package that
// each is built of.
func images(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"base/*.yaml", "tests/*.yaml"} {
		names, err := fs.Glob(suitefiles.Manifests, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			maps.Copy(found, imagesIn(t, name))
		}
	}
	return found
}

func imagesIn(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := fs.ReadFile(suitefiles.Manifests, name)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, match := range echoImage.FindAllSubmatch(text, -1) {
		found[string(match[1])] = echoPackage
	}
	return found
}

// build builds the programs of images before any cluster waits for them: from a
// cold cache that takes minutes.
func build(t *testing.T, packages map[string]string) map[string]string {
	t.Helper()
	programs := map[string]string{}
	for image, pkg := range packages {
		programs[image] = filepath.Join(os.TempDir(), "gatehouse-conformance", path.Base(pkg))
		if err := cluster.Build(t.Context(), pkg, programs[image]); err != nil {
			t.Fatal(err)
		}
	}
	return programs
}
