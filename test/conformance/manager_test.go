package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

// The ServiceAccount of deploy/, with whose rights the manager runs.
const (
	managerNamespace = "gatehouse-system"
	managerAccount   = "gatehouse-controller-manager"
)

// root is the main module's folder.
var root = filepath.Join("..", "..")

// manage runs the manager beside the cluster, with the rights that are shipped
// and the fake cloud and its data plane inside, until the test ends. Flags are further
// ones. It must end when it is asked to.
func manage(t *testing.T, c *cluster.Cluster, program string, flags ...string) {
	t.Helper()
	for _, name := range []string{"namespace.yaml", "rbac.yaml"} {
		c.ApplyFile(t, filepath.Join(root, "deploy", name))
	}
	who, err := c.AsServiceAccount(t.Context(), managerNamespace, managerAccount)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(c.Dir(), "manager.kubeconfig")
	if err := c.WriteKubeconfig(kubeconfig, who); err != nil {
		t.Fatal(err)
	}
	r := programs.Run(t, "manager", program, append([]string{"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect-resource-namespace=" + managerNamespace, "--authentication-skip-lookup=true",
		"--bind-address=127.0.0.1", "--cluster-name=conformance"}, flags...)...)
	t.Cleanup(func() {
		select {
		case <-r.Ended():
			t.Errorf("the manager ended before the test did: %v", r.Err())
		default:
			r.Signal(t, unix.SIGTERM)
		}
	})
}

// managerProgram builds the manager as it is shipped: in the main module, with
// that module's versions and not with the suite's.
func managerProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(os.TempDir(), "gatehouse-conformance", "manager")
	cmd := exec.Command("go", "build", "-C", root, "-ldflags=-s -w", "-o", path, "./cmd/gatehouse-controller-manager")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, out)
	}
	return path
}
