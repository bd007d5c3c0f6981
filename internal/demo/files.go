package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"gatehouse.dev/examples/shop"
)

// The example's addresses: the gateway's prefix, and the backends'. Any address of
// 127.0.0.0/8 works on Linux; they are moved when somebody else has them.
const (
	gatewayNet = "127.71."
	backendNet = "127.72."
	probeAddr  = "127.%d.1.1:18081" // a backend that every copy of the example has
)

const certificatesFile = "certificates.yaml"

// files is the example in a folder of its own, as the demo changes it.
type files struct{ dir string }

// The team that is in a mesh here, and in the example has a BackendTLSPolicy.
const checkoutFile = "team-checkout.yaml"

//go:embed checkout.yaml
var checkout string

// byHand is where the example's gateway names a certificate that somebody made. The
// demo's asks the mesh for one.
const byHand = "\n  tls:\n    backend:\n"

var errExample = errors.New("examples/shop/gateway.yaml is not as the demo knows it: spec.tls.backend is not its last field")

// writeFiles copies the example to a new folder, moved to addresses that are free
// on this machine. certificates.yaml is left out: the demo makes its own. So is what
// the demo has of a mesh in its place.
func writeFiles(ctx context.Context) (files, error) {
	nets, err := freeNets(ctx)
	if err != nil {
		return files{}, err
	}
	dir, err := os.MkdirTemp("", "gatehouse-demo-")
	if err != nil {
		return files{}, fmt.Errorf("the demo's folder: %w", err)
	}
	f := files{dir}
	names, err := fs.Glob(shop.Manifests, "*.yaml")
	if err != nil {
		return f, err
	}
	for _, name := range names {
		if name == certificatesFile {
			continue
		}
		text, err := shop.Manifests.ReadFile(name)
		if err != nil {
			return f, err
		}
		changed, err := inMesh(name, string(text))
		if err != nil {
			return f, err
		}
		if err := f.write(name, []byte(nets.Replace(changed))); err != nil {
			return f, err
		}
	}
	return f, nil
}

// inMesh is a file of the example as the demo has it.
func inMesh(name, text string) (string, error) {
	switch name {
	case checkoutFile:
		return checkout, nil
	case "gateway.yaml":
		before, after, found := strings.Cut(text, byHand)
		if !found || strings.Contains(after, "---") {
			return "", errExample
		}
		return before + "\n", nil
	}
	return text, nil
}

// freeNets finds addresses that nobody listens on, so that two demos can run.
func freeNets(ctx context.Context) (*strings.Replacer, error) {
	var last error
	for n := 71; n < 111; n += 2 {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf(probeAddr, n+1))
		if err != nil {
			last = err
			continue
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		return strings.NewReplacer(gatewayNet, fmt.Sprintf("127.%d.", n), backendNet, fmt.Sprintf("127.%d.", n+1)), nil
	}
	return nil, fmt.Errorf("no free loopback addresses for the demo's backends (it needs 127.72.1.1 and others, which Linux has by itself): %w", last)
}

// write replaces one file at once, so that no reader sees half of it.
func (f files) write(name string, text []byte) error {
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return fmt.Errorf("the demo's files: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("the demo's files: %w", err)
	}
	return nil
}

func (f files) remove() error { return os.RemoveAll(f.dir) }
