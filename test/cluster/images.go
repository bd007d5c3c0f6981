package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// EchoImage is the image of test/cluster/echo, which every cluster knows.
const EchoImage = "gatehouse.test/echo"

// buildImages builds the packages' programs and completes the table of images.
// The programs stay beside the servers: a second start finds them up to date.
func (c *Cluster) buildImages(ctx context.Context) error {
	packages := map[string]string{EchoImage: "gatehouse.dev/test/cluster/echo"}
	maps.Copy(packages, c.config.Packages)
	images := maps.Clone(c.config.Images)
	if images == nil {
		images = map[string]string{}
	}
	for _, image := range slices.Sorted(maps.Keys(packages)) {
		path := filepath.Join(c.config.Binaries, "images", strings.NewReplacer("/", "_", ":", "_", "@", "_").Replace(image))
		if err := Build(ctx, packages[image], path); err != nil {
			return fmt.Errorf("image %s: %w", image, err)
		}
		images[image] = path
	}
	c.config.Images = images
	return nil
}

// Build builds the static program of a Go package, as seen from the current
// folder's module, at a path. It costs little when the program is up to date. The error quotes the compiler.
func Build(ctx context.Context, pkg, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
